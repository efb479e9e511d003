package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LimitStore.Ask;
import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.Correction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Callers who come in quick succession find permits that a store granted with those of the last call. */
class GrantedAheadTest {

    private static final Limit WINDOW = Limit.of(100_000, ofSeconds(10));

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final HandStore store = new HandStore();
    private final List<Permit> permits = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    private RateLimiter limiter(Limit... limits) {
        return RateLimiter.named("busy").limit(limits).scheduler(() -> time).build(store);
    }

    private void acquire(RateLimiter limiter, int count) {
        acquire(limiter, count, Demand.one());
    }

    private void acquire(RateLimiter limiter, int count, Demand demand) {
        for (int i = 0; i < count; i++) {
            limiter.acquire(demand).subscribe(permits::add, failures::add);
        }
    }

    /** Three calls, one at once after the other; the third, for two, asked two ahead. */
    private void busy(RateLimiter limiter) {
        busyUntilTheThirdAnswer(limiter);
        store.answer();
    }

    private void busyUntilTheThirdAnswer(RateLimiter limiter) {
        acquire(limiter, 1);
        acquire(limiter, 3);
        store.answer();
        acquire(limiter, 2);
        store.answer();
    }

    private List<Integer> askedAhead() {
        return store.batches.stream()
                .flatMap(batch -> batch.asks().stream())
                .map(Ask::ahead)
                .toList();
    }

    @Test
    void nothing_is_asked_ahead_until_calls_follow_each_other() {
        busy(limiter(WINDOW));
        assertThat(askedAhead()).containsExactly(0, 0, 2);
    }

    @Test
    void who_comes_next_is_granted_without_a_call() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        assertThat(permits).hasSize(6);
        acquire(limiter, 2);
        assertThat(permits).hasSize(8);
        assertThat(store.batches).hasSize(3);
        acquire(limiter, 1);
        assertThat(permits).hasSize(8);
        assertThat(store.batches).hasSize(4);
    }

    /** So many times, all that is there and so many more. */
    private void useUp(RateLimiter limiter, int more, int times) {
        for (int i = 0; i < times; i++) {
            acquire(limiter, askedAhead().get(askedAhead().size() - 1) + more);
            store.answer();
        }
    }

    @Test
    void twice_as_many_are_asked_ahead_when_all_were_used_up_and_64_times_as_many_as_wait_at_most() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        useUp(limiter, 1, 7);
        assertThat(askedAhead()).containsExactly(0, 0, 2, 4, 8, 16, 32, 64, 64, 64);
    }

    @Test
    void no_more_are_asked_ahead_than_can_be_used_while_they_are_kept() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        useUp(limiter, 100, 8);
        assertThat(askedAhead()).endsWith(1_520, 3_040, 4_096, 4_096);
    }

    @Test
    void half_as_many_are_asked_ahead_where_so_many_are_not_there() {
        store.ahead = ask -> ask.ahead() > 10 ? 0 : ask.ahead();
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        for (int i = 0; i < 7; i++) {
            int asked = askedAhead().get(askedAhead().size() - 1);
            acquire(limiter, (asked > 10 ? 0 : asked) + 1);
            store.answer();
        }
        assertThat(askedAhead()).containsExactly(0, 0, 2, 4, 8, 16, 8, 8, 8, 8);
    }

    @Test
    void more_are_asked_ahead_again_some_time_after_they_were_not_there() {
        store.ahead = ask -> ask.ahead() > 10 ? 0 : ask.ahead();
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        useUp(limiter, 1, 3);
        acquire(limiter, 1);
        store.answer();
        store.ahead = Ask::ahead;
        useUp(limiter, 1, 70);
        assertThat(askedAhead()).contains(8, 32, 64);
    }

    @Test
    void calls_follow_each_other_however_long_it_took_to_use_up_what_was_there() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        for (int i = 0; i < 2; i++) {
            time.advanceTimeBy(ofNanos(900_000));
            acquire(limiter, 1);
        }
        acquire(limiter, 1);
        assertThat(askedAhead()).containsExactly(0, 0, 2, 4);
    }

    @Test
    void a_call_that_comes_later_asks_for_nothing_ahead() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        acquire(limiter, 2);
        time.advanceTimeBy(ofMillis(2));
        acquire(limiter, 1);
        assertThat(askedAhead()).containsExactly(0, 0, 2, 0);
    }

    @Test
    void another_key_asks_for_nothing_ahead_because_the_first_is_busy() {
        RateLimiter limiter = RateLimiter.named("keys")
                .scope(Scope.by("user").limits(WINDOW))
                .scheduler(() -> time)
                .build(store);
        for (int i = 0; i < 4; i++) {
            acquire(limiter, 1, Demand.of("user", "" + i));
            if (i > 0) {
                store.answer();
            }
        }
        assertThat(askedAhead()).hasSize(4).containsOnly(0);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void what_nobody_wants_is_given_back_after_five_milliseconds(int used) {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        acquire(limiter, 2);
        acquire(limiter, 1);
        store.answer(); // Four ahead.
        acquire(limiter, used);
        time.advanceTimeBy(Duration.ofNanos(4_999_999));
        int calls = store.batches.size();
        time.advanceTimeBy(Duration.ofNanos(1));
        assertThat(store.batches).hasSize(calls + 1);
        assertThat(store.latest().asks()).isEmpty();
        // Of those that count from the end of the time for which they may be kept.
        assertThat(store.latest().corrections())
                .containsExactly(new Correction(0, HandStore.AT, HandStore.AT + 5_000_000, 0, 0, used - 4));
        store.answer();
        acquire(limiter, 1);
        assertThat(store.batches).hasSize(calls + 2);
        time.advanceTimeBy(ofSeconds(1));
        assertThat(store.batches).as("given back once").hasSize(calls + 2);
    }

    @Test
    void a_permit_of_them_that_is_given_back_is_found_where_it_counts() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        acquire(limiter, 2);
        permits.get(7).settle("requests", 0);
        assertThat(store.latest().corrections())
                .containsExactly(new Correction(0, HandStore.AT, HandStore.AT + 5_000_000, 0, 0, -1));
    }

    @Test
    void a_call_that_takes_long_brings_them_all_the_same() {
        RateLimiter limiter = limiter(WINDOW);
        busyUntilTheThirdAnswer(limiter);
        time.advanceTimeBy(ofSeconds(1));
        store.answer();
        acquire(limiter, 2);
        assertThat(permits).hasSize(8);
    }

    @Test
    void who_came_during_the_call_is_the_first_who_gets_one() {
        RateLimiter limiter = limiter(WINDOW);
        busyUntilTheThirdAnswer(limiter);
        acquire(limiter, 3, Demand.one().maxWait(Duration.ZERO));
        store.answer();
        assertThat(permits).hasSize(8);
        assertThat(store.latest().asks()).extracting(Ask::times).containsExactly(1);
        assertThat(store.batches).hasSize(4);
    }

    @Test
    void nobody_gets_one_where_its_key_is_closed() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        limiter.pause(Demand.one(), ofSeconds(3));
        acquire(limiter, 1);
        assertThat(permits).hasSize(6);
        time.advanceTimeBy(ofMillis(5));
        store.answer();
        assertThat(store.latest().corrections()).hasSize(1);
    }

    @Test
    void a_demand_of_another_cost_is_asked_for() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        acquire(limiter, 1, Demand.one().cost("requests", 2));
        assertThat(permits).hasSize(6);
        assertThat(store.batches).hasSize(4);
        acquire(limiter, 1);
        assertThat(permits).hasSize(7);
    }

    @Test
    void nothing_is_asked_ahead_of_what_others_may_lack() {
        for (Limit limit : List.of(Limit.inFlight(50_000), Limit.total(100_000))) {
            store.batches.clear();
            busy(limiter(WINDOW, limit));
            assertThat(askedAhead()).containsExactly(0, 0, 0);
        }
    }

    @Test
    void buckets_grant_ahead_too() {
        busy(limiter(Limit.bucket(100_000, 100_000, ofSeconds(1))));
        assertThat(askedAhead()).containsExactly(0, 0, 2);
    }

    @Test
    void a_limiter_that_is_disposed_gives_them_back() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        limiter.dispose();
        assertThat(store.latest().corrections())
                .containsExactly(new Correction(0, HandStore.AT, HandStore.AT + 5_000_000, 0, 0, -2));
        store.answer();
        assertThat(limiter.snapshot().timers()).isZero();
    }

    @Test
    void those_that_come_after_it_was_disposed_are_given_back() {
        RateLimiter limiter = limiter(WINDOW);
        busyUntilTheThirdAnswer(limiter);
        limiter.dispose();
        store.answer();
        assertThat(store.latest().corrections()).extracting(Correction::delta).contains(-2L);
    }

    @Test
    void after_limits_have_changed_they_are_of_no_use_and_count_as_spent() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        limiter.change(limiter.spec().limit(Limit.of(50_000, ofSeconds(20))));
        time.advanceTimeBy(ofSeconds(1));
        assertThat(store.batches).hasSize(3);
        acquire(limiter, 1);
        assertThat(permits).hasSize(6);
        assertThat(store.latest().corrections()).isEmpty();
    }

    @Test
    void a_call_that_is_lost_leaves_them_spent() {
        RateLimiter limiter = limiter(WINDOW);
        busy(limiter);
        limiter.pause(Demand.one(), ofMillis(1));
        store.open.remove().tryEmitError(new IllegalStateException("lost"));
        time.advanceTimeBy(ofSeconds(1));
        store.answer(); // A probe.
        acquire(limiter, 1);
        assertThat(permits).hasSize(6);
        assertThat(store.batches).flatExtracting(Batch::corrections).isEmpty();
    }
}
