package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMillis;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.redis.RedisRateLimiter;
import io.github.reactorratelimit.redis.RedisSharing;
import io.lettuce.core.RedisClient;
import reactor.core.publisher.Mono;

/** One quota for many processes, on Redis. */
final class SharedQuota {

    private SharedQuota() {}

    static RateLimiter shared(RedisClient client, RateLimiterSpec spec) {
        RateLimiter shared = RedisRateLimiter.create(client, spec);
        return shared;
    }

    static RateLimiter sharedByFour(RedisClient client, RateLimiterSpec spec) {
        RedisSharing sharing =
                RedisSharing.over(client.connect()).timeout(ofMillis(300)).failOpen(4);
        return RedisRateLimiter.create(sharing, spec);
    }

    static Mono<ScopeState> status(RateLimiter shared) {
        Mono<ScopeState> state = shared.status(Demand.of("user", "anna"));
        return state;
    }

    static Mono<Void> reset(RateLimiter shared) {
        Mono<Void> reset = shared.reset(Demand.of("user", "anna"));
        return reset;
    }
}
