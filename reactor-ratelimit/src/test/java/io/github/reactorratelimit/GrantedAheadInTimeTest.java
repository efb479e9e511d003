package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LimitStore.Ask;
import io.github.reactorratelimit.LimitStore.Correction;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Where very many are granted ahead, more are asked for before the last of them is taken. */
class GrantedAheadInTimeTest {

    /** Three callers who wait, 64 times. */
    private static final int MANY = 192;
    /** So many are left of them when more are asked for. */
    private static final int FEW = MANY / 4;

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final HandStore store = new HandStore();
    private final RateLimiter limiter = RateLimiter.named("busy")
            .limit(Limit.of(1_000_000, ofSeconds(10)))
            .scheduler(() -> time)
            .build(store);
    private final List<Permit> permits = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    private void acquire(int count) {
        for (int i = 0; i < count; i++) {
            limiter.acquire(Demand.one()).subscribe(permits::add, failures::add);
        }
    }

    private Ask latestAsk() {
        return store.latest().asks().get(0);
    }

    /** Until {@link #MANY} were granted ahead. */
    @BeforeEach
    void busy() {
        acquire(1);
        while (latestAsk().ahead() < MANY) {
            acquire(latestAsk().ahead() + 3);
            store.answer();
        }
        assertThat(latestAsk().ahead()).isEqualTo(MANY);
        store.answer();
        permits.clear();
    }

    /** All but the few at which more are asked for. */
    private void takeMost() {
        acquire(MANY - FEW - 1);
        int calls = store.batches.size();
        acquire(1);
        assertThat(store.batches).hasSize(calls + 1);
        assertThat(permits).hasSize(MANY - FEW);
    }

    @Test
    void a_call_for_which_nobody_waits_asks_for_as_many_again() {
        takeMost();
        assertThat(latestAsk().times()).isZero();
        assertThat(latestAsk().ahead()).isEqualTo(MANY);
        int calls = store.batches.size();
        acquire(FEW);
        assertThat(permits).hasSize(MANY);
        store.answer();
        acquire(MANY - FEW - 1);
        assertThat(permits).hasSize(2 * MANY - FEW - 1);
        assertThat(store.batches).hasSize(calls);
    }

    @Test
    void what_is_left_is_taken_before_what_came_for_it() {
        takeMost();
        store.answer();
        acquire(FEW + 1);
        assertThat(permits).hasSize(MANY + 1);
        time.advanceTimeBy(ofMillis(5));
        assertThat(store.latest().corrections())
                .as("only one of those that came last")
                .containsExactly(new Correction(0, HandStore.AT, HandStore.AT + 5_000_000, 0, 0, 1 - MANY));
    }

    @Test
    void of_both_what_nobody_takes_is_given_back_when_its_time_is_over() {
        acquire(MANY - FEW - 1);
        time.advanceTimeBy(ofMillis(1));
        acquire(1);
        store.answer();
        time.advanceTimeBy(ofMillis(4));
        assertThat(store.latest().corrections())
                .containsExactly(new Correction(0, HandStore.AT, HandStore.AT + 5_000_000, 0, 0, -FEW));
        store.answer();
        acquire(1);
        time.advanceTimeBy(ofMillis(1).minusNanos(1));
        int calls = store.batches.size();
        time.advanceTimeBy(ofNanos(1));
        assertThat(store.batches).hasSize(calls + 1);
        assertThat(store.latest().corrections())
                .containsExactly(new Correction(0, HandStore.AT, HandStore.AT + 5_000_000, 0, 0, 1 - MANY));
        store.answer();
        assertThat(permits).hasSize(MANY - FEW + 1);
        assertThat(limiter.snapshot().timers()).isZero();
    }

    @Test
    void who_comes_when_all_are_taken_gets_one_of_those_that_come() {
        takeMost();
        int calls = store.batches.size();
        acquire(FEW + 5);
        assertThat(permits).hasSize(MANY);
        store.answer();
        assertThat(permits).hasSize(MANY + 5);
        assertThat(store.batches).hasSize(calls);
    }

    @Test
    void where_so_many_are_not_there_the_rest_is_used_up_and_no_more_calls_are_made_for_nobody() {
        store.ahead = ask -> 0;
        takeMost();
        int calls = store.batches.size();
        store.answer();
        acquire(FEW);
        assertThat(permits).hasSize(MANY);
        assertThat(store.batches).hasSize(calls);
        acquire(1);
        assertThat(store.batches).hasSize(calls + 1);
        assertThat(latestAsk().times()).isOne();
        assertThat(latestAsk().ahead()).as("no more than 64 for one who waits").isEqualTo(64);
        store.answer();
        assertThat(permits).hasSize(MANY + 1);
    }

    @Test
    void what_comes_after_the_rest_was_given_back_is_kept() {
        takeMost();
        time.advanceTimeBy(ofMillis(6));
        store.answer();
        assertThat(store.latest().corrections()).as("of the rest").hasSize(1);
        store.answer();
        acquire(10);
        assertThat(permits).hasSize(MANY - FEW + 10);
        time.advanceTimeBy(ofMillis(5));
        assertThat(store.latest().corrections())
                .containsExactly(new Correction(0, HandStore.AT, HandStore.AT + 5_000_000, 0, 0, 10 - MANY));
    }

    @Test
    void what_comes_to_a_limiter_that_was_disposed_is_given_back() {
        takeMost();
        limiter.dispose();
        store.answer();
        assertThat(store.latest().corrections())
                .containsExactlyInAnyOrder(
                        new Correction(0, HandStore.AT, HandStore.AT + 5_000_000, 0, 0, -FEW),
                        new Correction(0, HandStore.AT, HandStore.AT + 5_000_000, 0, 0, -MANY));
    }

    @Test
    void with_a_call_that_is_lost_all_of_them_are_spent() {
        takeMost();
        store.open.remove().tryEmitError(new IllegalStateException("cut"));
        acquire(1);
        assertThat(permits).hasSize(MANY - FEW);
        assertThat(failures).hasOnlyElementsOfType(LimiterUnavailableException.class);
    }

    @Test
    void the_call_is_made_while_others_are_still_being_told() {
        takeMost();
        acquire(FEW);
        List<Integer> calls = new ArrayList<>();
        Runnable[] again = new Runnable[1];
        again[0] = () -> limiter.acquire(Demand.one()).subscribe(permit -> {
            calls.add(store.batches.size());
            again[0].run();
        });
        again[0].run();
        int before = store.batches.size();
        assertThat(calls).isEmpty();
        store.answer();
        assertThat(calls).hasSize(MANY);
        assertThat(calls.get(MANY - FEW - 2)).isEqualTo(before);
        assertThat(calls.get(MANY - FEW)).isEqualTo(before + 1);
    }

    @Test
    void of_what_is_there_no_more_by_the_next_call_nothing_is_asked_for() {
        acquire(1);
        permits.get(0).settle(Limit.REQUESTS, 0);
        int calls = store.batches.size();
        acquire(MANY - 1);
        assertThat(store.batches).as("the correction is under way").hasSize(calls);
        limiter.change(limiter.spec().limit(Limit.of(999_999, ofSeconds(10))));
        store.answer();
        acquire(1);
        assertThat(store.latest().asks()).extracting(Ask::times).containsExactly(1);
    }
}
