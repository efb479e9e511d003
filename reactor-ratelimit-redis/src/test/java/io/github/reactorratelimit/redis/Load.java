package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Callers that ask again and again, each when it has its permit or was refused, until they are stopped. */
final class Load {

    private static final Demand WAITS_A_WHILE = Demand.one().maxWait(Duration.ofSeconds(1));
    private static final Duration LONGEST = Duration.ofSeconds(30);

    private final LongAdder granted = new LongAdder();
    private final Mono<Void> ended;
    private volatile boolean over;

    Load(List<RateLimiter> limiters, int callersEach) {
        ended = Flux.fromIterable(limiters)
                .flatMap(
                        limiter -> Flux.range(0, callersEach).flatMap(i -> caller(limiter), callersEach),
                        limiters.size())
                .then()
                .cache();
        ended.subscribe();
    }

    private Mono<Void> caller(RateLimiter limiter) {
        return limiter.acquire(WAITS_A_WHILE)
                .doOnNext(Permit::release)
                .doOnNext(permit -> granted.increment())
                .onErrorResume(error -> Mono.delay(Duration.ofMillis(5)).then(Mono.empty()))
                .repeat(() -> !over)
                .then();
    }

    long granted() {
        return granted.sum();
    }

    /** Until the last of them has ended: none hangs. */
    void stop() {
        over = true;
        ended.block(LONGEST);
    }
}
