package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;

class LongestWaitTest {

    private final VirtualTime time = new VirtualTime();

    private static Demand within(Duration longest) {
        return Demand.one().maxWait(longest);
    }

    @Test
    void a_wait_known_to_be_longer_fails_at_once_with_the_time_it_would_have_taken() { // B38
        RateLimiter limiter = time.limiter(Limit.bucket(1, 1, ofSeconds(10)).startingWith(0));
        Asked asked = time.ask(limiter, within(ofMillis(9_999)));
        assertThat(asked.at()).isZero();
        assertThat(asked.refusal().retryAfter()).isEqualTo(ofSeconds(10));
        assertThat(asked.refusal().limit())
                .isEqualTo(Limit.bucket(1, 1, ofSeconds(10)).startingWith(0));
        assertThat(asked.refusal().mayHaveBeenSent()).isFalse();
        assertThat(asked.refusal())
                .hasMessage("Limiter 'test' refused a demand: the wait would be at least PT10S because of"
                        + " bucket of 1 requests, 1 per PT10S, and the longest allowed is PT9.999S.");
        assertThat(time.timers()).isZero();
    }

    @Test
    void a_wait_of_exactly_the_longest_allowed_is_granted() {
        RateLimiter limiter = time.limiter(Limit.bucket(1, 1, ofSeconds(10)).startingWith(0));
        Asked asked = time.ask(limiter, within(ofSeconds(10)));
        time.runTo(ofSeconds(10));
        assertThat(asked.isGranted()).isTrue();
    }

    @Test
    void those_ahead_in_the_line_count() {
        RateLimiter limiter = time.limiter(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0));
        for (int i = 0; i < 10; i++) {
            time.ask(limiter);
        }
        assertThat(time.ask(limiter, within(ofMillis(10_999))).refusal().retryAfter())
                .isEqualTo(ofSeconds(11));
        Asked fits = time.ask(limiter, within(ofSeconds(11)));
        time.runTo(ofSeconds(11));
        assertThat(fits.isGranted()).isTrue();
    }

    @Test
    void enormous_demands_ahead_leave_the_line_as_they_joined_it() {
        RateLimiter limiter =
                time.limiter(Limit.bucket(Long.MAX_VALUE, 1, ofSeconds(1)).startingWith(0));
        Demand enormous = Demand.one().cost(Long.MAX_VALUE);
        List<Disposable> waiting = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            waiting.add(limiter.acquire(enormous).subscribe());
        }
        assertThat(time.ask(limiter, within(ofSeconds(60))).error()).isInstanceOf(RateLimitedException.class);
        waiting.forEach(Disposable::dispose);
        assertThat(time.ask(limiter, within(ofSeconds(1))).isWaiting()).isTrue();
        time.runTo(ofSeconds(1));
        assertThat(limiter.snapshot().waiting()).isZero();
    }

    @Test
    void no_wait_at_all_is_granted_or_fails_at_once() {
        RateLimiter limiter = time.limiter(Limit.of(1, ofSeconds(10)));
        assertThat(time.ask(limiter, within(Duration.ZERO)).isGranted()).isTrue();
        assertThat(time.ask(limiter, within(Duration.ZERO)).refusal().retryAfter())
                .isEqualTo(ofMillis(10_010));
        RateLimiter busy = time.limiter(Limit.inFlight(1));
        busy.tryAcquire();
        assertThat(time.ask(busy, within(Duration.ZERO)).refusal().retryAfter()).isNull();
    }

    @Test
    void an_unknown_wait_ends_at_the_deadline() {
        RateLimiter limiter = time.limiter(Limit.inFlight(1));
        Permit held = limiter.tryAcquire().permit();
        Asked asked = time.ask(limiter, within(ofSeconds(3)));
        Asked behind = time.ask(limiter);
        time.runTo(ofSeconds(3).minusNanos(1));
        assertThat(asked.isWaiting()).isTrue();
        time.advance(ofNanos(1));
        assertThat(asked.at()).isEqualTo(ofSeconds(3));
        assertThat(asked.refusal())
                .hasMessage("Limiter 'test' refused a demand: it waited PT3S, which is the longest allowed.");
        held.release();
        assertThat(behind.isGranted()).isTrue();
        assertThat(time.timers()).isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_release_in_the_instant_of_the_deadline_is_one_outcome_and_loses_nothing(boolean releaseFirst) { // B05
        RateLimiter limiter = time.limiter(Limit.inFlight(1));
        Permit held = limiter.tryAcquire().permit();
        if (releaseFirst) {
            time.at(ofSeconds(1), held::release);
        }
        Asked asked = time.ask(limiter, within(ofSeconds(1)));
        if (!releaseFirst) {
            time.at(ofSeconds(1), held::release);
        }
        time.runTo(ofSeconds(1));
        assertThat(asked.at()).isEqualTo(ofSeconds(1));
        if (asked.isGranted()) {
            asked.permit().release();
        }
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 256, 257, 3_000})
    void all_whose_deadline_is_the_instant_of_their_grant_are_granted(int many) {
        RateLimiter limiter = time.limiter(Limit.of(many, ofSeconds(10)));
        assertThat(limiter.tryAcquire(Demand.one().cost(many)).allowed()).isTrue();
        List<Asked> asked = IntStream.range(0, many)
                .mapToObj(i -> time.ask(limiter, within(ofMillis(10_010))))
                .toList();
        time.runTo(ofMillis(10_010));
        assertThat(asked.stream().filter(one -> !one.isGranted()).count()).isZero();
        for (int i = 0; i < many; i++) {
            assertThat(asked.get(i).turn()).isEqualTo(i + 1);
        }
    }

    @Test
    void a_deadline_that_falls_due_first_waits_for_the_passes_that_grant_those_before_it() {
        RateLimiter limiter = time.spec()
                .limit(Limit.of(400, ofSeconds(10)))
                .lane("background", Share.of(1))
                .build();
        assertThat(limiter.tryAcquire(Demand.one().cost(400)).allowed()).isTrue();
        Asked low = time.ask(limiter, within(ofMillis(10_010)).lane("background"));
        for (int i = 0; i < 300; i++) {
            time.ask(limiter);
        }
        time.runTo(ofMillis(10_010));
        assertThat(low.isGranted()).isTrue();
        assertThat(low.turn()).isEqualTo(301);
    }

    @Test
    void a_bound_that_does_not_fit_time_is_none() { // B47
        RateLimiter limiter =
                time.limiter(Limit.bucket(1, 1, Duration.ofDays(365)).startingWith(0));
        Asked asked = time.ask(limiter, within(ofSeconds(Long.MAX_VALUE)));
        time.runTo(Duration.ofDays(365));
        assertThat(asked.isGranted()).isTrue();
    }

    @Test
    void an_earlier_deadline_behind_a_later_one_comes_first() {
        RateLimiter limiter = time.limiter(Limit.inFlight(1));
        limiter.tryAcquire();
        Asked late = time.ask(limiter, within(ofSeconds(9)));
        Asked early = time.ask(limiter, within(ofSeconds(2)));
        time.runTo(ofSeconds(2));
        assertThat(early.at()).isEqualTo(ofSeconds(2));
        assertThat(late.isWaiting()).isTrue();
        time.runTo(ofSeconds(9));
        assertThat(late.at()).isEqualTo(ofSeconds(9));
    }

    @Test
    void a_cost_that_can_never_pass_fails_at_once_takes_nothing_and_holds_nobody_up() { // B19
        RateLimiter limiter = time.limiter(Limit.bucket(10, 1, ofSeconds(1)));
        Asked never = time.ask(limiter, Demand.one().cost(11));
        assertThat(never.at()).isZero();
        assertThat(never.refusal().retryAfter()).isNull();
        assertThat(never.refusal())
                .hasMessage("Limiter 'test' refused a demand: a cost of 11 requests can never pass a"
                        + " limit of bucket of 10 requests, 1 per PT1S. Split the demand, or raise the limit.");
        assertThat(limiter.snapshot().waiting()).isZero();
        Decision decision = limiter.tryAcquire(Demand.one().cost(11));
        assertThat(decision.allowed()).isFalse();
        assertThat(decision.retryAfter()).isNull();
        assertThat(time.ask(limiter, Demand.one().cost(10)).isGranted()).isTrue();
    }

    @Test
    void a_spent_budget_fails_at_once() {
        RateLimiter limiter = time.limiter(Limit.total(3));
        assertThat(time.ask(limiter, Demand.one().cost(2)).isGranted()).isTrue();
        Asked tooMuch = time.ask(limiter, Demand.one().cost(2));
        assertThat(tooMuch.refusal())
                .hasMessage("Limiter 'test' refused a demand: the budget of 3 requests in all is"
                        + " spent as far as a cost of 2 needs it.");
        assertThat(time.ask(limiter).isGranted()).isTrue();
    }

    @Test
    void a_decision_tells_the_deciding_limit_what_it_has_left_and_when_it_is_full() {
        RateLimiter limiter = time.limiter(Limit.of(5, ofSeconds(10)), Limit.of(100, ofSeconds(60)));
        Decision first = limiter.tryAcquire(Demand.one().cost(3));
        assertThat(first.remaining()).isEqualTo(2);
        assertThat(first.limit()).isEqualTo(Limit.of(5, ofSeconds(10)));
        assertThat(first.retryAfter()).isZero();
        time.runTo(ofSeconds(4));
        Decision refused = limiter.tryAcquire(Demand.one().cost(3));
        assertThat(refused.remaining()).isEqualTo(2);
        assertThat(refused.retryAfter()).isEqualTo(ofMillis(6_010));
        assertThat(refused.resetAfter()).isEqualTo(ofMillis(6_010));
        Decision free = time.limiter().tryAcquire();
        assertThat(free.allowed()).isTrue();
        assertThat(free.limit()).isNull();
        assertThat(free.remaining()).isEqualTo(Long.MAX_VALUE);
    }
}
