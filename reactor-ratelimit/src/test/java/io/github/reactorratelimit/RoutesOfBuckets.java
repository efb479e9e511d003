package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;

/** Calls to several routes, and the buckets that their answers tell. */
abstract class RoutesOfBuckets {

    static final Demand A = Demand.of("endpoint", "/a");
    static final Demand B = Demand.of("endpoint", "/b");
    static final Demand C = Demand.of("endpoint", "/c");

    final VirtualTime time = new VirtualTime();

    static RateLimitSignal bucket(String name) {
        return RateLimitSignal.of(200).bucket(name).build();
    }

    static RateLimitSignal refused(String bucket, Duration delay) {
        return RateLimitSignal.of(429)
                .throttled(true)
                .hint(delay)
                .delay(delay)
                .bucket(bucket)
                .build();
    }

    RateLimiter byEndpoint(Limit... limits) {
        return time.spec().scope(Scope.by("endpoint").limits(limits)).build();
    }

    static void call(RateLimiter limiter, Demand demand, String bucket) {
        limiter.tryAcquire(demand).permit().complete(bucket(bucket));
    }

    static List<List<String>> keys(RateLimiter limiter) {
        return limiter.snapshot().scopes().stream()
                .map(ScopeState::keys)
                .filter(key -> !key.isEmpty())
                .toList();
    }

    static ScopeState key(RateLimiter limiter, String label) {
        return limiter.snapshot().scopes().stream()
                .filter(scope -> scope.keys().contains(label))
                .findFirst()
                .orElseThrow();
    }
}
