package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class SeveralLimitsTest {

    private final VirtualTime time = new VirtualTime();

    private static List<Long> available(RateLimiter limiter) {
        return limiter.snapshot().root().limits().stream()
                .map(RateLimiterSnapshot.LimitState::available)
                .toList();
    }

    private RateLimiter oneEmpty() {
        return time.limiter(
                Limit.bucket(5, 1, ofMinutes(1)),
                Limit.bucket(1, 1, ofMinutes(1)).startingWith(0));
    }

    @Test
    void a_refusal_by_one_takes_nothing_of_the_others() { // B09
        RateLimiter limiter = oneEmpty();
        for (int i = 0; i < 10; i++) {
            Decision decision = limiter.tryAcquire();
            assertThat(decision.allowed()).isFalse();
            assertThat(decision.retryAfter()).isEqualTo(ofMinutes(1));
            assertThat(decision.limit())
                    .isEqualTo(Limit.bucket(1, 1, ofMinutes(1)).startingWith(0));
        }
        assertThat(available(limiter)).containsExactly(5L, 0L);
    }

    @Test
    void nothing_is_held_while_waiting_and_all_are_taken_together() { // B09
        RateLimiter limiter = oneEmpty();
        Asked asked = time.ask(limiter);
        time.runTo(ofMillis(59_999));
        assertThat(available(limiter)).containsExactly(5L, 0L);
        time.runTo(ofSeconds(60));
        assertThat(asked.at()).isEqualTo(ofSeconds(60));
        assertThat(available(limiter)).containsExactly(4L, 0L);
    }

    @Test
    void a_cancelled_wait_leaves_all_untouched() { // B09
        RateLimiter limiter = oneEmpty();
        Asked asked = time.ask(limiter);
        time.runTo(ofSeconds(30));
        asked.cancel();
        time.runTo(ofSeconds(60));
        assertThat(available(limiter)).containsExactly(5L, 1L);
    }

    @Test
    void the_wait_is_the_longest_of_what_refuses() { // B09
        RateLimiter limiter = time.limiter(
                Limit.bucket(1, 1, ofSeconds(7)).startingWith(0),
                Limit.bucket(1, 1, ofSeconds(20)).startingWith(0),
                Limit.bucket(1, 1, ofSeconds(3)).startingWith(0),
                Limit.of(3, ofSeconds(60)));
        assertThat(limiter.tryAcquire().retryAfter()).isEqualTo(ofSeconds(20));
        Asked asked = time.ask(limiter);
        time.runTo(ofSeconds(20));
        assertThat(asked.at()).isEqualTo(ofSeconds(20));
    }

    @Test
    void one_exactly_emptied_and_another_already_empty_refuse() { // B09
        RateLimiter limiter = time.limiter(
                Limit.bucket(5, 1, ofMinutes(1)),
                Limit.bucket(5, 1, ofMinutes(1)).startingWith(4));
        assertThat(limiter.tryAcquire(Demand.one().cost(5)).allowed()).isFalse();
        assertThat(available(limiter)).containsExactly(5L, 4L);
        RateLimiter empty = oneEmpty();
        assertThat(empty.tryAcquire(Demand.one().cost(5)).allowed()).isFalse();
        assertThat(empty.tryAcquire().allowed()).isFalse();
        assertThat(available(empty)).containsExactly(5L, 0L);
    }

    @Test
    void a_place_in_flight_is_not_held_while_a_rate_is_waited_for() { // B09
        RateLimiter limiter = time.spec()
                .limit(Limit.inFlight(1))
                .scope(Scope.by("user").limits(Limit.of(1, ofSeconds(10))))
                .build();
        time.ask(limiter, Demand.of("user", "a")).permit().release();
        Asked waiting = time.ask(limiter, Demand.of("user", "a"));
        Asked other = time.ask(limiter, Demand.of("user", "b"));
        assertThat(waiting.isWaiting()).isTrue();
        assertThat(other.at()).isZero();
    }

    @Test
    void every_limit_of_every_scope_on_the_path_counts() {
        RateLimiter limiter = time.spec()
                .limit(Limit.of(4, ofSeconds(60)))
                .scope(Scope.by("tenant").limits(Limit.of(3, ofSeconds(30))))
                .scope(Scope.by("user").limits(Limit.of(2, ofSeconds(10))))
                .build();
        Demand a1 = Demand.of("tenant", "A").and("user", "1");
        Demand a2 = Demand.of("tenant", "A").and("user", "2");
        Demand b1 = Demand.of("tenant", "B").and("user", "1");
        assertThat(limiter.tryAcquire(a1).allowed()).isTrue();
        assertThat(limiter.tryAcquire(a1).allowed()).isTrue();
        refused(limiter.tryAcquire(a1), ofMillis(10_010));
        assertThat(limiter.tryAcquire(a2).allowed()).isTrue();
        refused(limiter.tryAcquire(a2), ofMillis(30_030));
        assertThat(limiter.tryAcquire(b1).allowed())
                .as("another tenant's user of that name")
                .isTrue();
        refused(limiter.tryAcquire(b1), ofMillis(60_060));
    }

    private static void refused(Decision decision, Duration retryAfter) {
        assertThat(decision.allowed()).isFalse();
        assertThat(decision.retryAfter()).isEqualTo(retryAfter);
    }

    @Test
    void units_are_counted_apart() {
        RateLimiter limiter = time.limiter(
                Limit.of(3, ofSeconds(10)), Limit.bucket(100, 100, ofSeconds(1)).unit("tokens"));
        assertThat(limiter.tryAcquire(Demand.one().cost("tokens", 100)).allowed())
                .isTrue();
        refused(limiter.tryAcquire(Demand.one().cost("tokens", 50)), ofMillis(500));
        assertThat(limiter.tryAcquire(Demand.one()).allowed())
                .as("a call without tokens")
                .isTrue();
        assertThat(limiter.tryAcquire(Demand.one().cost("tokens", 0).cost("others", 9))
                        .allowed())
                .isTrue();
        refused(limiter.tryAcquire(Demand.one()), ofMillis(10_010));
    }

    @Test
    void a_settled_cost_reaches_the_limits_of_its_unit_only_and_wakes_those_who_wait() {
        RateLimiter limiter = time.limiter(
                Limit.of(10, ofSeconds(10)), Limit.of(100, ofSeconds(10)).unit("tokens"));
        Permit permit = limiter.tryAcquire(Demand.one().cost("tokens", 90)).permit();
        Asked asked = time.ask(limiter, Demand.one().cost("tokens", 50));
        assertThat(asked.isWaiting()).isTrue();
        permit.settle("tokens", 40);
        assertThat(asked.at()).isZero();
        assertThat(available(limiter)).containsExactly(8L, 10L);
        permit.settle("tokens", 0);
        assertThat(available(limiter)).as("the second correction is ignored").containsExactly(8L, 10L);
    }

    @Test
    void an_overuse_is_waited_off() { // B22
        RateLimiter limiter =
                time.limiter(Limit.bucket(60_000, 1_000, ofSeconds(1)).unit("tokens"));
        Permit permit = limiter.tryAcquire(Demand.one().cost("tokens", 60_000)).permit();
        permit.settle("tokens", 61_000);
        Asked asked = time.ask(limiter, Demand.one().cost("tokens", 1_000));
        time.runTo(ofSeconds(2));
        assertThat(asked.at()).isEqualTo(ofSeconds(2));
    }

    @Test
    void a_use_that_no_estimate_announced_is_charged() {
        RateLimiter limiter = time.limiter(Limit.of(100, ofSeconds(10)).unit("tokens"));
        Permit permit = limiter.tryAcquire().permit();
        time.runTo(ofMillis(500));
        permit.settle("tokens", 100);
        refused(limiter.tryAcquire(Demand.one().cost("tokens", 1)), ofMillis(9_510));
    }

    @Test
    void a_released_permit_can_still_be_settled_and_a_cancelled_one_cannot() {
        RateLimiter limiter = time.limiter(Limit.of(10, ofSeconds(10)));
        Permit permit = limiter.tryAcquire(Demand.one().cost(5)).permit();
        permit.release();
        permit.settle("requests", 2);
        assertThat(available(limiter)).containsExactly(8L);
        Asked waiting = time.ask(limiter, Demand.one().cost(9));
        waiting.cancel();
        assertThat(available(limiter)).containsExactly(8L);
    }

    @Test
    void the_rest_of_a_wait_is_reckoned_from_the_moment_of_asking() { // B63
        RateLimiter limiter = time.limiter(Limit.bucket(100, 50, ofSeconds(1)));
        Permit permit = limiter.tryAcquire(Demand.one().cost(100)).permit();
        permit.settle("requests", 199);
        time.runTo(ofSeconds(1));
        Asked asked = time.ask(limiter);
        time.runTo(ofSeconds(3));
        assertThat(asked.at()).as("100 are missing, 50 come back per second").isEqualTo(ofSeconds(2));
    }
}
