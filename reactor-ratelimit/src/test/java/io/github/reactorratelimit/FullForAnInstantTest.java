package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A server whose window slides says that nothing is left whenever its last permit is taken, and may tell when all will be
 * back rather than when the next one is. Where all that it counts stands in our books, ours know better.
 */
class FullForAnInstantTest {

    private static final RateLimitSignal OK = RateLimitSignal.none(200);

    private final VirtualTime time = new VirtualTime();

    private static RateLimitSignal empty(long limit, Duration reset) {
        return RateLimitSignal.of(200)
                .quotas(List.of(new Quota("", "requests", limit, 0, -1, reset, null, null)))
                .delay(reset)
                .coarse(true)
                .build();
    }

    private static Duration closedFor(RateLimiter limiter) {
        return limiter.snapshot().root().closedFor();
    }

    private void answered(RateLimiter limiter, int times, RateLimitSignal signal) {
        for (int i = 0; i < times; i++) {
            limiter.tryAcquire().permit().complete(signal);
        }
    }

    @Test
    void two_permits_that_come_back_in_a_moment_are_not_lost_to_the_reset_of_all() {
        RateLimiter limiter = time.limiter(Limit.of(5, ofSeconds(10)));
        answered(limiter, 2, OK);
        time.runTo(ofMillis(9_900));
        answered(limiter, 2, OK);
        answered(limiter, 1, empty(5, ofSeconds(10)));
        Asked next = time.ask(limiter);
        assertThat(closedFor(limiter)).isZero();
        time.runTo(ofMillis(10_010));
        assertThat(next.isGranted()).isTrue();
    }

    @Test
    void once_such_a_server_has_refused_us_its_reset_counts() {
        RateLimiter limiter = time.limiter(Limit.of(5, ofSeconds(10)));
        answered(
                limiter,
                1,
                RateLimitSignal.of(429).throttled(true).delay(ofSeconds(1)).build());
        time.runTo(ofSeconds(20));
        answered(limiter, 2, OK);
        time.runTo(ofMillis(29_900));
        answered(limiter, 2, OK);
        answered(limiter, 1, empty(5, ofSeconds(10)));
        assertThat(closedFor(limiter)).isEqualTo(ofSeconds(11));
    }

    @Test
    void a_count_above_ours_has_others_in_it() {
        RateLimiter limiter = time.limiter(Limit.of(5, ofSeconds(10)));
        answered(limiter, 3, OK);
        answered(limiter, 1, empty(5, ofSeconds(10)));
        assertThat(closedFor(limiter)).isEqualTo(ofSeconds(11));
    }

    @Test
    void a_limit_that_leaves_something_to_others_never_explains_all() {
        RateLimiter limiter = time.limiter(Limit.of(5, ofSeconds(10)).headroom(0.2));
        time.advance(ofMillis(1));
        answered(limiter, 1, OK);
        time.advance(ofSeconds(9));
        answered(limiter, 2, OK);
        answered(limiter, 1, empty(5, ofSeconds(10)));
        assertThat(closedFor(limiter)).isEqualTo(ofSeconds(11));
    }

    @Test
    void what_only_spaces_a_limit_counts_nothing() {
        RateLimiter limiter = time.limiter(Limit.of(5, ofSeconds(10)).smooth());
        answered(limiter, 1, empty(5, ofSeconds(10)));
        assertThat(closedFor(limiter)).isEqualTo(ofSeconds(11));
    }

    @Test
    void an_evenly_spaced_limit_goes_on_at_its_pace_though_each_answer_says_that_nothing_is_left() {
        RateLimiter limiter = time.limiter(Limit.of(5, ofSeconds(10)).smooth());
        for (int i = 0; i < 40; i++) {
            Asked asked = time.ask(limiter);
            for (int step = 0; !asked.isGranted() && step < 10_000; step++) {
                time.advance(ofMillis(1));
            }
            asked.permit().complete(i < 4 ? OK : empty(5, ofSeconds(10)));
        }
        assertThat(time.elapsed()).isBetween(ofSeconds(78), ofMillis(78_500));
    }
}
