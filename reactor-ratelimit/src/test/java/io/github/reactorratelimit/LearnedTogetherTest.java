package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Several quotas in one response, and quotas that only some responses tell of. */
class LearnedTogetherTest {

    private final VirtualTime time = new VirtualTime();

    private static Quota quota(String name, long limit, long remaining, Duration reset) {
        return new Quota(name, "requests", limit, remaining, -1, reset, reset, null);
    }

    private static RateLimitSignal told(Quota... quotas) {
        return RateLimitSignal.of(200).quotas(List.of(quotas)).build();
    }

    /** A call of an adapter, answered by hand. */
    private static final class Call extends Ticket {

        private final Admission admission;
        private boolean granted;

        Call(Admission admission) {
            super(Demand.one());
            this.admission = admission;
            admission.acquire(this, null, 0, Exact.NEVER);
        }

        @Override
        Tells tells() {
            return Tells.HEAD;
        }

        @Override
        void emit() {
            granted = true;
        }

        void answer(RateLimitSignal signal) {
            admission.answers().hear(this, signal, 0, true);
        }
    }

    private List<Call> call(RateLimiter limiter, int times) {
        Admission admission = limiter.calls().admission();
        return IntStream.range(0, times).mapToObj(i -> new Call(admission)).toList();
    }

    private static long out(List<Call> calls) {
        return calls.stream().filter(call -> call.granted).count();
    }

    @Test
    void a_quota_that_an_answer_leaves_out_is_used_all_the_same() {
        List<Call> calls = call(time.spec().learn().build(), 20);
        calls.get(0).answer(told(quota("minute", 100, 99, ofMinutes(1)), quota("day", 10, 3, ofMinutes(9))));
        assertThat(out(calls)).isEqualTo(4);
        calls.get(1).answer(told(quota("minute", 100, 98, ofMinutes(1))));
        calls.get(2).answer(told(quota("minute", 100, 97, ofMinutes(1))));
        calls.get(3).answer(told(quota("minute", 100, 96, ofMinutes(1))));
        assertThat(out(calls)).as("the day has three").isEqualTo(4);
        time.runTo(ofMinutes(9));
        assertThat(out(calls)).isEqualTo(5);
    }

    @Test
    void a_quota_that_an_answer_leaves_out_after_its_reset_is_forgotten() {
        List<Call> calls = call(time.spec().limit(Limit.inFlight(7)).learn().build(), 20);
        calls.get(0).answer(told(quota("minute", 100, 99, ofMinutes(1)), quota("second", 5, 0, ofSeconds(10))));
        time.runTo(ofSeconds(10));
        assertThat(out(calls)).as("one asks").isEqualTo(2);
        calls.get(1).answer(told(quota("minute", 100, 98, ofSeconds(50))));
        assertThat(out(calls)).isEqualTo(9);
    }

    @Test
    void a_refusal_is_no_reason_to_forget_what_it_leaves_out() {
        List<Call> calls = call(time.spec().limit(Limit.inFlight(7)).learn().build(), 20);
        calls.get(0).answer(told(quota("minute", 100, 99, ofMinutes(1)), quota("second", 5, 0, ofSeconds(10))));
        time.runTo(ofSeconds(10));
        calls.get(1)
                .answer(told(quota("minute", 100, 98, ofSeconds(50))).toBuilder()
                        .throttled(true)
                        .delay(ofSeconds(1))
                        .build());
        time.runTo(ofSeconds(11));
        assertThat(out(calls)).as("one asks again").isEqualTo(3);
        calls.get(2).answer(told(quota("minute", 100, 97, ofSeconds(49))));
        assertThat(out(calls)).as("the ramp goes on").isEqualTo(5);
    }

    @Test
    void of_two_sizes_under_one_name_an_answer_tells_which_one_it_counted_against() {
        List<Call> calls = call(time.spec().limit(Limit.inFlight(7)).learn().build(), 40);
        calls.get(0).answer(told(quota("", 30, 3, ofSeconds(10))));
        for (int i = 1; i < 20; i++) {
            calls.get(i).answer(told(quota("", 5_000, 5_000 - i, ofMinutes(9))));
        }
        assertThat(out(calls)).as("three beside those that are answered").isEqualTo(23);
        time.runTo(ofSeconds(10));
        for (int i = 20; i < 23; i++) {
            calls.get(i).answer(told(quota("", 5_000, 5_000 - i, ofMinutes(9))));
        }
        assertThat(out(calls)).as("one asks for the smaller one").isEqualTo(24);
        calls.get(23).answer(told(quota("", 5_000, 4_977, ofMinutes(9))));
        assertThat(out(calls)).as("and it is not this one's any more").isEqualTo(31);
    }

    // ---------------------------------------------------------------------------------------------------------- hints

    @ParameterizedTest
    @CsvSource({"2000, 5000, 5000", "2000, 2000, 2000", "5000, 2000, 5000"})
    void of_an_empty_quota_and_a_hint_the_longer_counts(long reset, long hint, long at) {
        RateLimiter limiter = time.spec().learn().build();
        RateLimitSignal empty = told(quota("", 5, 0, ofMillis(reset))).toBuilder()
                .delay(ofMillis(Math.max(hint, reset)))
                .build();
        limiter.tryAcquire().permit().complete(empty);
        Asked asked = time.ask(limiter);
        time.runTo(ofMinutes(1));
        assertThat(asked.at()).isEqualTo(ofMillis(at));
    }

    @Test
    void of_two_empty_quotas_the_longer_counts_and_each_by_its_own_books() {
        RateLimiter limiter = time.spec().learn().build();
        RateLimitSignal empty = told(quota("a", 5, 0, ofSeconds(2)), quota("b", 9, 0, ofMillis(4_500))).toBuilder()
                .delay(ofMillis(4_500))
                .build();
        limiter.tryAcquire().permit().complete(empty);
        assertThat(limiter.snapshot().root().closedFor()).isZero();
        Asked asked = time.ask(limiter);
        time.runTo(ofMinutes(1));
        assertThat(asked.at()).isEqualTo(ofMillis(4_500));
    }

    @Test
    void of_two_empty_quotas_one_that_our_own_books_know_as_well_closes_nothing() {
        RateLimiter limiter = time.limiter(Limit.of(50, ofSeconds(1)).unit("tokens"), Limit.of(1, ofMillis(9_500)));
        Quota tokens = new Quota("", "tokens", 50, 0, -1, ofMillis(300), null, null);
        RateLimitSignal empty = told(tokens, quota("", 1, 0, ofSeconds(10))).toBuilder()
                .delay(ofSeconds(10))
                .build();
        limiter.tryAcquire(Demand.one().cost("tokens", 1)).permit().complete(empty);
        Asked asked = time.ask(limiter);
        time.runTo(ofMinutes(1));
        assertThat(asked.at())
                .as("ours, and its margin")
                .isEqualTo(ofMillis(9_510).minusNanos(500_000));
    }

    @Test
    void an_empty_quota_lets_nobody_by_who_costs_nothing_in_its_unit_however_it_is_asked_for() {
        RateLimiter limiter = time.spec().limit(Limit.inFlight(4)).learn().build();
        Quota tokens = new Quota("", "tokens", 5, 0, -1, ofSeconds(3), ofSeconds(3), null);
        Permit first = limiter.tryAcquire().permit();
        first.complete(told(tokens));
        assertThat(limiter.estimate(Demand.one()).retryAfter()).isEqualTo(ofSeconds(3));
        assertThat(limiter.tryAcquire().allowed()).isFalse();
        List<Throwable> tooLate = new ArrayList<>();
        limiter.acquire(Demand.one().maxWait(ofSeconds(1))).subscribe(permit -> {}, tooLate::add);
        assertThat(tooLate)
                .singleElement()
                .isInstanceOfSatisfying(
                        RateLimitedException.class,
                        refused -> assertThat(refused.retryAfter()).isEqualTo(ofSeconds(3)));
        Asked asked = time.ask(limiter);
        time.runTo(ofMillis(2_999));
        assertThat(asked.at()).isNull();
        time.runTo(ofSeconds(3));
        assertThat(asked.at()).isEqualTo(ofSeconds(3));
        assertThat(limiter.snapshot().root().limits().get(0).available())
                .as("a permit that was allowed is in flight")
                .isEqualTo(3);
    }
}
