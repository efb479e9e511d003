package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LimitStore.Ask;
import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.Correction;
import io.github.reactorratelimit.LimitStore.KeyState;
import io.github.reactorratelimit.LimitStore.Kind;
import io.github.reactorratelimit.LimitStore.Reply;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Where permits that a store granted ahead must not go, and what becomes of them there. */
class GrantedAheadWithCareTest {

    private static final Limit WINDOW = Limit.of(100_000, ofSeconds(10));

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final HandStore store = new HandStore();
    private final List<Permit> permits = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    private RateLimiterSpec spec() {
        return RateLimiter.named("busy").jitter(0).limit(WINDOW).scheduler(() -> time);
    }

    private void acquire(RateLimiter limiter, int count, Demand demand) {
        for (int i = 0; i < count; i++) {
            limiter.acquire(demand).subscribe(permits::add, failures::add);
        }
    }

    /** Three calls, one at once after the other; the third, for two, asked two ahead. */
    private void busy(RateLimiter limiter, Demand demand) {
        time.advanceTimeBy(ofMillis(2));
        acquire(limiter, 1, demand);
        acquire(limiter, 3, demand);
        store.answer();
        acquire(limiter, 2, demand);
        store.answer();
        assertThat(store.latest().asks()).extracting(Ask::ahead).containsExactly(2);
        store.answer();
    }

    private RateLimiter busy(RateLimiterSpec spec) {
        RateLimiter limiter = spec.build(store);
        busy(limiter, Demand.one());
        return limiter;
    }

    private List<Correction> corrections() {
        return store.batches.stream()
                .flatMap(batch -> batch.corrections().stream())
                .toList();
    }

    @Test
    void who_asks_for_figures_gets_those_of_the_store() {
        RateLimiter limiter = busy(spec());
        List<Decision> decisions = new ArrayList<>();
        limiter.ask(Demand.one()).subscribe(decisions::add);
        assertThat(decisions).isEmpty();
        store.answer();
        assertThat(decisions).extracting(Decision::remaining).containsExactly(7L);
    }

    @Test
    void a_store_that_grants_fewer_than_none_grants_none() {
        store.ahead = ask -> ask.ahead() == 0 ? 0 : -1;
        RateLimiter limiter = busy(spec());
        acquire(limiter, 1, Demand.one());
        assertThat(permits).hasSize(6);
        assertThat(store.batches).hasSize(4);
    }

    /** The clock of a process that was stopped goes on, and its timers are late. */
    private final class Stopped implements Scheduler {

        private Duration stopped = Duration.ZERO;

        @Override
        public long now(TimeUnit unit) {
            return time.now(unit) + unit.convert(stopped);
        }

        @Override
        public Disposable schedule(Runnable task) {
            return time.schedule(task);
        }

        @Override
        public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
            return time.schedule(task, delay, unit);
        }

        @Override
        public Worker createWorker() {
            return time.createWorker();
        }
    }

    @Test
    void nobody_gets_one_after_its_time_however_much_else_is_due() {
        Stopped scheduler = new Stopped();
        RateLimiter limiter = RateLimiter.named("late")
                .scope(Scope.by("user")
                        .limitsBy(key ->
                                key.containsValue("anna") ? List.of(WINDOW) : List.of(WINDOW, Limit.inFlight(1))))
                .scheduler(() -> scheduler)
                .build(store);
        Demand anna = Demand.of("user", "anna");
        Demand ben = Demand.of("user", "ben").maxWait(ofMillis(4));
        acquire(limiter, 300, ben);
        store.answer();
        permits.clear();
        busy(limiter, anna);
        scheduler.stopped = ofSeconds(3);
        acquire(limiter, 1, anna);
        assertThat(failures).hasSizeGreaterThan(200);
        assertThat(permits).hasSize(6);
    }

    @Test
    void nobody_gets_one_after_the_clock_was_set_back_and_it_is_given_back() {
        Stopped scheduler = new Stopped();
        RateLimiter limiter = RateLimiter.named("back")
                .limit(WINDOW)
                .scheduler(() -> scheduler)
                .build(store);
        busy(limiter, Demand.one());
        scheduler.stopped = ofSeconds(-30);
        acquire(limiter, 1, Demand.one());
        assertThat(permits).hasSize(6);
        assertThat(corrections()).extracting(Correction::delta).contains(-2L);
        store.answer();
        assertThat(permits).hasSize(7);
        // What comes while the clock stands still is not kept either.
        acquire(limiter, 3, Demand.one());
        store.answer();
        acquire(limiter, 3, Demand.one());
        store.answer();
        int got = permits.size();
        acquire(limiter, 1, Demand.one());
        assertThat(permits).hasSize(got);
    }

    private static RateLimitSignal left(int count) {
        Quota quota = new Quota("", "requests", 1_000, count, -1, ofSeconds(60), null, null, false);
        return RateLimitSignal.of(200).quotas(List.of(quota)).build();
    }

    private RateLimiter learning() {
        RateLimiter limiter = spec().learn().build(store);
        acquire(limiter, 1, Demand.one());
        store.answer();
        permits.remove(0).release(); // The first answer finds out that there is nothing to learn.
        busy(limiter, Demand.one());
        return limiter;
    }

    @Test
    void a_quota_that_is_learned_meanwhile_gets_none_back_that_it_never_gave() {
        learning();
        permits.get(0).hear(left(500));
        store.answer();
        time.advanceTimeBy(ofMillis(5));
        Batch given = store.latest();
        assertThat(given.corrections()).anySatisfy(one -> {
            assertThat(given.books().get(one.books()).kind()).isEqualTo(Kind.WINDOW);
            assertThat(one).isEqualTo(new Correction(one.books(), HandStore.AT, HandStore.AT + 5_000_000, 0, 0, -2));
        });
        // By when it was granted: the word came later.
        assertThat(given.corrections())
                .filteredOn(one -> given.books().get(one.books()).kind() == Kind.QUOTA)
                .allSatisfy(one -> assertThat(one.baseNanos()).isEqualTo(HandStore.AT));
    }

    @Test
    void nobody_gets_one_where_a_quota_came_to_count() {
        RateLimiter limiter = learning();
        permits.get(0).hear(left(500));
        store.answer();
        int calls = store.batches.size();
        acquire(limiter, 1, Demand.one());
        assertThat(permits).hasSize(6);
        assertThat(store.batches).hasSize(calls + 1);
    }

    @Test
    void nobody_gets_one_where_a_key_opens_again() {
        RateLimiter limiter = busy(spec());
        store.state = new KeyState(ofMillis(1).toNanos(), HandStore.AT, 1, 1, 0, 0, List.of());
        permits.get(0).settle("requests", 0);
        store.answer(); // Another process was refused.
        store.state = new KeyState(0, HandStore.AT, 1, 1, 0, 0, List.of());
        store.answer();
        time.advanceTimeBy(ofMillis(2));
        int calls = store.batches.size();
        acquire(limiter, 1, Demand.one());
        assertThat(permits).hasSize(6);
        assertThat(store.batches).hasSize(calls + 1);
        assertThat(store.latest().asks()).extracting(Ask::times).containsExactly(1);
    }

    @Test
    void nobody_gets_one_whose_key_was_closed_during_the_call() {
        RateLimiter limiter = spec().build(store);
        acquire(limiter, 1, Demand.one());
        acquire(limiter, 3, Demand.one());
        store.answer();
        acquire(limiter, 2, Demand.one());
        store.answer();
        acquire(limiter, 1, Demand.one());
        limiter.pause(Demand.one(), ofSeconds(3));
        store.answer(); // With two ahead.
        assertThat(permits).hasSize(6);
        assertThat(store.latest().closings()).hasSize(1);
        assertThat(store.latest().asks()).extracting(Ask::times).containsExactly(1);
    }

    @Test
    void a_key_that_is_reset_leaves_those_of_others_alone() {
        RateLimiter limiter = RateLimiter.named("keys")
                .scope(Scope.by("user").limits(WINDOW))
                .scheduler(() -> time)
                .build(store);
        Demand anna = Demand.of("user", "anna");
        Demand ben = Demand.of("user", "ben");
        busy(limiter, anna);
        limiter.reset(ben).subscribe();
        store.answer();
        time.advanceTime();
        acquire(limiter, 1, anna);
        assertThat(permits).hasSize(7);
        limiter.reset(anna).subscribe();
        store.answer();
        time.advanceTime();
        acquire(limiter, 1, anna);
        assertThat(permits).hasSize(7);
        assertThat(corrections()).isEmpty();
    }

    @Test
    void callers_who_come_again_at_once_get_them_in_turn() {
        RateLimiter limiter = spec().build(store);
        int[] granted = new int[4];
        for (int i = 0; i < granted.length; i++) {
            int caller = i;
            limiter.acquire(Demand.one())
                    .doOnNext(permit -> granted[caller]++)
                    .repeat(3_000)
                    .subscribe();
        }
        for (int i = 0; i < 20; i++) {
            store.answer();
        }
        assertThat(store.latest().asks()).extracting(Ask::ahead).containsExactly(256);
        assertThat(Arrays.stream(granted).max().orElseThrow()
                        - Arrays.stream(granted).min().orElseThrow())
                .as("granted %s", Arrays.toString(granted))
                .isLessThanOrEqualTo(2);
    }

    @Test
    void a_reply_that_lacks_answers_is_a_lost_call() {
        RateLimiter limiter = busy(spec());
        acquire(limiter, 4, Demand.one());
        store.open.remove().tryEmitValue(new Reply(HandStore.AT, List.of(store.state), List.of()));
        assertThat(permits).hasSize(8);
        assertThat(failures)
                .hasSize(2)
                .allSatisfy(failure -> assertThat(failure)
                        .isInstanceOf(LimiterUnavailableException.class)
                        .hasRootCauseMessage("the store gave 0 answers for 1 asks"));
    }

    @Test
    void a_store_that_gives_no_reply_has_failed_for_operators_too() {
        spec().build(store).status(Demand.one()).subscribe(state -> {}, failures::add);
        store.open.remove().tryEmitEmpty();
        time.advanceTimeBy(Duration.ZERO);
        assertThat(failures)
                .hasSize(1)
                .allSatisfy(failure -> assertThat(failure)
                        .isInstanceOf(LimiterUnavailableException.class)
                        .hasRootCauseMessage("the store gave no reply"));
    }

    @Test
    void a_store_that_throws_is_a_lost_call() {
        store.broken = new IllegalStateException("no pool");
        acquire(spec().build(store), 1, Demand.one());
        assertThat(failures)
                .hasSize(1)
                .allSatisfy(failure -> assertThat(failure)
                        .isInstanceOf(LimiterUnavailableException.class)
                        .hasRootCauseMessage("no pool"));
    }
}
