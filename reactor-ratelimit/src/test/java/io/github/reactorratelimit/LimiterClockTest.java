package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

class LimiterClockTest {

    /** A scheduler whose clock is set by hand and whose timers ring when the test says so. */
    private static final class HandClock implements Scheduler {
        private long nanos;
        private long wallShiftNanos;
        private boolean dead;
        private final List<Runnable> tasks = new ArrayList<>();
        private final List<Long> delays = new ArrayList<>();

        private HandClock(long nanos) {
            this.nanos = nanos;
        }

        @Override
        public long now(TimeUnit unit) {
            boolean wall = unit.compareTo(TimeUnit.MILLISECONDS) >= 0;
            return unit.convert(nanos + (wall ? wallShiftNanos : 0), TimeUnit.NANOSECONDS);
        }

        @Override
        public Disposable schedule(Runnable task) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
            if (dead) {
                throw new RejectedExecutionException("dead");
            }
            assertThat(unit).isEqualTo(TimeUnit.NANOSECONDS);
            tasks.add(task);
            delays.add(delay);
            return Disposables.composite(() -> tasks.remove(task));
        }

        @Override
        public Worker createWorker() {
            throw new UnsupportedOperationException();
        }

        private void ring() {
            List<Runnable> due = List.copyOf(tasks);
            tasks.clear();
            due.forEach(Runnable::run);
        }
    }

    private static RateLimiter limiter(Scheduler scheduler, Limit... limits) {
        return RateLimiter.named("test")
                .limit(limits)
                .scheduler(() -> scheduler)
                .build();
    }

    private static long follow(LimiterClock clock, HandClock hand, long nanos) {
        hand.nanos = nanos;
        return clock.follow(hand, nanos);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE, Long.MAX_VALUE - 5, 1_767_225_600_000_000_000L})
    void limiter_time_starts_at_zero_and_counts_nanoseconds_wherever_the_scheduler_stands(long origin) { // B24
        HandClock hand = new HandClock(origin);
        LimiterClock clock = new LimiterClock(() -> hand);
        assertThat(follow(clock, hand, origin)).isZero();
        assertThat(follow(clock, hand, origin + 10)).isEqualTo(10);
        assertThat(follow(clock, hand, origin + Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void it_never_runs_backwards_and_goes_on_once_the_clock_has_caught_up() { // B24
        HandClock hand = new HandClock(0);
        LimiterClock clock = new LimiterClock(() -> hand);
        follow(clock, hand, 0);
        long hour = ofHours(1).toNanos();
        assertThat(follow(clock, hand, 2 * hour)).isEqualTo(2 * hour);
        assertThat(follow(clock, hand, hour)).isEqualTo(2 * hour);
        assertThat(follow(clock, hand, 2 * hour - 1)).isEqualTo(2 * hour);
        assertThat(follow(clock, hand, 2 * hour + 7)).isEqualTo(2 * hour + 7);
    }

    @Test
    void on_another_scheduler_it_goes_on_from_where_it_was() {
        HandClock one = new HandClock(1_000);
        HandClock other = new HandClock(-500);
        LimiterClock clock = new LimiterClock(() -> one);
        follow(clock, one, 1_000);
        assertThat(follow(clock, one, 1_300)).isEqualTo(300);
        assertThat(follow(clock, other, -500)).isEqualTo(300);
        assertThat(follow(clock, other, -400)).isEqualTo(400);
        assertThat(follow(clock, one, 9_000)).isEqualTo(400);
        assertThat(follow(clock, one, 9_001)).isEqualTo(401);
    }

    @Test
    void a_step_back_changes_no_books_and_makes_no_wait_longer_than_the_step() { // B24
        HandClock hand = new HandClock(ofHours(5).toNanos());
        RateLimiter limiter = limiter(hand, Limit.bucket(10, 1, ofSeconds(1)).startingWith(5));
        assertThat(limiter.tryAcquire().allowed()).isTrue();
        hand.nanos -= ofHours(1).toNanos();
        assertThat(limiter.estimate(Demand.one()).remaining()).isEqualTo(3);
        hand.nanos += ofHours(1).plusSeconds(1).toNanos();
        assertThat(limiter.estimate(Demand.one()).remaining()).isEqualTo(4);
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 1})
    void a_wall_clock_that_jumps_a_day_changes_no_wait(long days) { // B24
        HandClock hand = new HandClock(0);
        RateLimiter limiter = limiter(hand, Limit.bucket(1, 1, ofSeconds(10)).startingWith(0), Limit.inFlight(9));
        AtomicReference<Permit> permit = new AtomicReference<>();
        limiter.acquire(Demand.one()).subscribe(permit::set);
        hand.wallShiftNanos = Duration.ofDays(days).toNanos();
        hand.nanos = ofSeconds(10).toNanos() - 1;
        hand.ring();
        assertThat(permit.get()).isNull();
        hand.nanos++;
        hand.ring();
        Objects.requireNonNull(permit.get())
                .complete(RateLimitSignal.of(429)
                        .throttled(true)
                        .hint(ofSeconds(7))
                        .delay(ofSeconds(7))
                        .build());
        Duration closed = limiter.snapshot().root().closedFor();
        hand.wallShiftNanos = 0;
        assertThat(limiter.snapshot().root().closedFor()).isEqualTo(closed);
    }

    @Test
    void a_timer_is_set_unrounded_by_the_schedulers_own_clock() {
        HandClock hand = new HandClock(77);
        RateLimiter limiter = limiter(hand, Limit.bucket(1, 3, ofSeconds(1)).startingWith(0));
        limiter.acquire(Demand.one()).subscribe();
        assertThat(hand.delays).containsExactly(333_333_334L);
    }

    @Test
    void a_timer_that_rings_too_early_is_set_again_for_the_rest() {
        HandClock hand = new HandClock(0);
        RateLimiter limiter = limiter(hand, Limit.bucket(1, 1, ofSeconds(1)).startingWith(0));
        AtomicReference<Permit> permit = new AtomicReference<>();
        limiter.acquire(Demand.one()).subscribe(permit::set);
        hand.nanos = ofMillis(999).toNanos();
        hand.ring();
        assertThat(permit.get()).isNull();
        assertThat(hand.delays).containsExactly(1_000_000_000L, 1_000_000L);
        hand.nanos = ofSeconds(1).toNanos();
        hand.ring();
        assertThat(permit.get()).isNotNull();
        assertThat(hand.tasks).isEmpty();
    }

    @Test
    void a_timer_is_set_anew_on_the_scheduler_that_took_over() { // T6
        HandClock one = new HandClock(1_000);
        HandClock other = new HandClock(50);
        AtomicReference<Scheduler> inForce = new AtomicReference<>(one);
        RateLimiter limiter = RateLimiter.named("test")
                .limit(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0))
                .scheduler(inForce::get)
                .build();
        AtomicReference<Permit> permit = new AtomicReference<>();
        limiter.acquire(Demand.one()).subscribe(permit::set);
        one.nanos += ofMillis(400).toNanos();
        limiter.estimate(Demand.one());
        inForce.set(other);
        limiter.estimate(Demand.one());
        assertThat(one.tasks).isEmpty();
        assertThat(other.delays).containsExactly(600_000_000L);
        other.nanos += ofMillis(600).toNanos();
        other.ring();
        assertThat(permit.get()).isNotNull();
    }

    @Test
    void a_timer_that_rings_late_makes_no_window_too_full() { // B45
        HandClock hand = new HandClock(0);
        RateLimiter limiter = limiter(hand, Limit.of(15, Duration.ofMinutes(1)));
        List<Long> starts = new ArrayList<>();
        Random late = new Random(45);
        for (int i = 0; i < 300; i++) {
            limiter.acquire(Demand.one()).subscribe(permit -> starts.add(hand.nanos));
        }
        while (!hand.tasks.isEmpty()) {
            hand.nanos += hand.delays.get(hand.delays.size() - 1) + late.nextInt(500_000_000);
            hand.ring();
        }
        assertThat(starts).hasSize(300);
        for (int i = 15; i < 300; i++) {
            assertThat(starts.get(i) - starts.get(i - 15))
                    .isGreaterThan(ofSeconds(60).toNanos());
        }
    }

    @Test
    void whenever_calls_come_and_timers_ring_no_minute_has_more_than_a_strict_limit_of_15() { // B45
        for (int seed = 0; seed < 1_000; seed++) {
            List<Long> starts =
                    startsOf(seed, Limit.of(15, Duration.ofMinutes(1)).strict());
            for (int i = 15; i < starts.size(); i++) {
                assertThat(starts.get(i) - starts.get(i - 15))
                        .as("seed %s", seed)
                        .isGreaterThan(ofSeconds(60).toNanos());
            }
        }
    }

    @Test
    void whenever_calls_come_and_timers_ring_no_minute_has_more_than_30_of_a_bucket_of_15() { // B45
        int most = 0;
        for (int seed = 0; seed < 1_000; seed++) {
            List<Long> starts = startsOf(seed, Limit.bucket(15, 15, Duration.ofMinutes(1)));
            for (int from = 0, to = 0; to < starts.size(); to++) {
                while (starts.get(to) - starts.get(from) > ofSeconds(60).toNanos()) {
                    from++;
                }
                most = Math.max(most, to - from + 1);
            }
        }
        assertThat(most).as("its capacity and its refill").isBetween(28, 30);
    }

    /** When 60 calls start that come at random, alone and in crowds, while timers ring up to half a second off. */
    private static List<Long> startsOf(int seed, Limit limit) {
        Random random = new Random(seed);
        HandClock hand = new HandClock(0);
        RateLimiter limiter = limiter(hand, limit);
        List<Long> starts = new ArrayList<>();
        int asked = 0;
        while (starts.size() < 60) {
            hand.nanos += random.nextInt(500_000_000);
            hand.ring();
            int come = random.nextInt(20) > 0 ? 0 : 1 + random.nextInt(20);
            for (; come > 0 && asked < 60; come--, asked++) {
                limiter.acquire(Demand.one()).subscribe(permit -> starts.add(hand.nanos));
            }
        }
        return starts;
    }

    @Test
    void a_scheduler_that_takes_no_timers_fails_those_who_wait_instead_of_leaving_them() {
        HandClock hand = new HandClock(0);
        RateLimiter limiter = limiter(hand, Limit.of(1, ofSeconds(1)));
        limiter.tryAcquire();
        hand.dead = true;
        AtomicReference<Throwable> error = new AtomicReference<>();
        limiter.acquire(Demand.one()).subscribe(permit -> {}, error::set);
        assertThat(error.get())
                .isInstanceOf(LimiterDisposedException.class)
                .hasMessage("Limiter 'test' is disposed, because its scheduler rejected a timer.")
                .hasCauseInstanceOf(RejectedExecutionException.class);
        assertThat(limiter.snapshot().waiting()).isZero();
        hand.dead = false;
        AtomicReference<Permit> permit = new AtomicReference<>();
        limiter.acquire(Demand.one()).subscribe(permit::set);
        hand.nanos = ofSeconds(2).toNanos();
        hand.ring();
        assertThat(permit.get())
                .as("and serves again when timers are taken again")
                .isNotNull();
    }

    @Test
    void a_scheduler_that_is_disposed_while_somebody_waits_fails_all_when_the_next_one_asks() {
        Scheduler scheduler = Schedulers.newSingle("short-lived", true);
        RateLimiter limiter = RateLimiter.named("test")
                .limit(Limit.of(1, ofHours(1)))
                .scheduler(() -> scheduler)
                .build();
        limiter.tryAcquire();
        List<Throwable> errors = new ArrayList<>();
        limiter.acquire(Demand.one()).subscribe(permit -> {}, errors::add);
        scheduler.dispose();
        assertThat(errors).isEmpty();
        limiter.acquire(Demand.one()).subscribe(permit -> {}, errors::add);
        assertThat(errors).hasSize(2).allMatch(LimiterDisposedException.class::isInstance);
        assertThat(limiter.snapshot().waiting()).isZero();
    }

    @Test
    void the_longest_time_there_is_fills_what_was_emptied() { // B24
        HandClock hand = new HandClock(Long.MIN_VALUE);
        RateLimiter limiter = limiter(
                hand,
                Limit.bucket(1_000_000, 1_000_000, ofSeconds(1)),
                Limit.of(1_000_000, ofHours(1)),
                Limit.of(1_000_000, ofHours(1)).burst(1_000_000));
        assertThat(limiter.tryAcquire(Demand.one().cost(1_000_000)).allowed()).isTrue();
        hand.nanos = -2;
        assertThat(limiter.tryAcquire(Demand.one().cost(1_000_000)).allowed()).isTrue();
        assertThat(limiter.tryAcquire().allowed()).isFalse();
    }

    @Test
    void building_a_limiter_resolves_no_scheduler() { // B17
        List<String> resolved = new ArrayList<>();
        HandClock hand = new HandClock(0);
        RateLimiter limiter = RateLimiter.named("test")
                .limit(Limit.of(1, ofSeconds(1)))
                .scheduler(() -> {
                    resolved.add("resolved");
                    return hand;
                })
                .build();
        limiter.acquire(Demand.one());
        limiter.limit();
        assertThat(resolved).isEmpty();
        limiter.tryAcquire();
        assertThat(resolved).isNotEmpty();
    }
}
