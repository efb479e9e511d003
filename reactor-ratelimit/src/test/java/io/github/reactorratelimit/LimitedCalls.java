package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import reactor.test.scheduler.VirtualTimeScheduler;

/** Limiters in virtual time, and what is left of them. */
abstract class LimitedCalls {

    final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    RateLimiter limiter(Limit... limits) {
        return RateLimiter.named("api").limit(limits).scheduler(() -> time).build();
    }

    static long available(RateLimiter limiter) {
        return limiter.snapshot().root().limits().get(0).available();
    }

    static void assertNobodyWaits(RateLimiter limiter) {
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().timers()).isZero();
    }
}
