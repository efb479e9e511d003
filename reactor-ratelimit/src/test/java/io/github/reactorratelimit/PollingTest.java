package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Callers that do not wait but ask again and again. */
class PollingTest {

    private final VirtualTime time = new VirtualTime();

    /** When a demand was allowed that was asked for every so often. */
    private List<Duration> poll(RateLimiter limiter, Demand demand, Duration every, Duration until) {
        List<Duration> allowed = new ArrayList<>();
        limiter.estimate(demand); // A limiter's time begins with its first use.
        while (time.elapsed().compareTo(until) < 0) {
            time.advance(every);
            Decision decision = limiter.tryAcquire(demand);
            if (decision.allowed()) {
                allowed.add(time.elapsed());
            } else {
                assertThat(decision.retryAfter()).isPositive();
            }
        }
        return allowed;
    }

    @Test
    void asking_does_not_throw_fractions_away() { // B06
        RateLimiter limiter = time.limiter(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0));
        List<Duration> allowed = poll(limiter, Demand.one(), ofMillis(400), ofSeconds(40));
        assertThat(allowed).hasSize(33);
        for (int i = 0; i < 33; i++) {
            assertThat(allowed.get(i)).isEqualTo(ofMillis(1_200L * (i + 1)));
        }
    }

    @Test
    void ten_looks_at_a_tenth_are_one_permit() { // B06
        RateLimiter limiter = time.limiter(Limit.bucket(1, 10, ofSeconds(1)).startingWith(0));
        assertThat(poll(limiter, Demand.one(), ofMillis(10), ofMillis(200)))
                .containsExactly(ofMillis(100), ofMillis(200));
    }

    @Test
    void being_refused_changes_nothing() { // B48
        RateLimiter limiter = time.limiter(Limit.bucket(10, 1, ofSeconds(1)).startingWith(5));
        assertThat(poll(limiter, Demand.one().cost(10), ofMillis(1), ofSeconds(6)))
                .containsExactly(ofSeconds(5));
    }

    @Test
    void a_cost_of_nothing_in_a_unit_is_allowed_and_changes_nothing() { // B48
        RateLimiter limiter = time.limiter(Limit.bucket(10, 1, ofSeconds(1)).unit("tokens"));
        limiter.tryAcquire(Demand.one().cost("tokens", 10)).permit().settle("tokens", 12);
        for (int i = 0; i < 100; i++) {
            assertThat(limiter.tryAcquire(Demand.one().cost("tokens", 0)).allowed())
                    .isTrue();
        }
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(-2);
    }

    @Test
    void one_per_ten_thousand_seconds_is_one_per_ten_thousand_seconds() { // B47
        RateLimiter limiter = time.limiter(Limit.bucket(1, 1, ofSeconds(10_000)));
        assertThat(limiter.tryAcquire().allowed()).isTrue();
        assertThat(poll(limiter, Demand.one(), ofSeconds(5), ofSeconds(20_000)))
                .containsExactly(ofSeconds(10_000), ofSeconds(20_000));
    }
}
