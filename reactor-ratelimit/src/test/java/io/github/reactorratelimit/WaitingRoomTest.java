package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.BaseSubscriber;

class WaitingRoomTest {

    private final VirtualTime time = new VirtualTime();

    private List<Asked> ask(RateLimiter limiter, Demand demand, int times) {
        return IntStream.range(0, times)
                .mapToObj(i -> time.ask(limiter, demand))
                .toList();
    }

    @Test
    void the_room_is_bounded_in_all() { // B38
        RateLimiter limiter = time.spec()
                .limit(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0))
                .scope(Scope.by("user"))
                .maxPending(100, 60)
                .build();
        List<Asked> a = ask(limiter, Demand.of("user", "a"), 60);
        List<Asked> b = ask(limiter, Demand.of("user", "b"), 40);
        Asked tooMany = time.ask(limiter, Demand.of("user", "c"));
        assertThat(tooMany.error())
                .isInstanceOf(QueueFullException.class)
                .hasMessage("Limiter 'test' already has 100 demands waiting in all its lines together. Slow the caller"
                        + " down, or raise maxPending.");
        assertThat(((QueueFullException) tooMany.error()).maxPending()).isEqualTo(100);
        assertThat(((QueueFullException) tooMany.error()).keys()).containsExactly("user=c");
        assertThat(limiter.snapshot().waiting()).isEqualTo(100);
        a.get(7).cancel();
        assertThat(time.ask(limiter, Demand.of("user", "c")).isWaiting()).isTrue();
        time.runTo(ofSeconds(100));
        assertThat(b).allMatch(Asked::isGranted);
        assertThat(limiter.snapshot().waiting()).isZero();
    }

    @Test
    void one_keys_flood_does_not_use_up_everybodys_room() {
        RateLimiter limiter = time.spec()
                .limit(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0))
                .scope(Scope.by("user"))
                .maxPending(100, 60)
                .build();
        ask(limiter, Demand.of("user", "a"), 60);
        Asked tooMany = time.ask(limiter, Demand.of("user", "a"));
        assertThat(tooMany.error())
                .isInstanceOf(QueueFullException.class)
                .hasMessageContaining("60 demands waiting in the line of this key");
        assertThat(time.ask(limiter, Demand.of("user", "b")).isWaiting()).isTrue();
    }

    @Test
    void a_full_room_costs_nothing_and_lets_through_whom_nothing_stops() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.of(1, ofSeconds(10))))
                .maxPending(2, 2)
                .build();
        ask(limiter, Demand.of("user", "a"), 3);
        assertThat(time.ask(limiter, Demand.of("user", "a")).error()).isInstanceOf(QueueFullException.class);
        assertThat(time.ask(limiter, Demand.of("user", "b")).isGranted()).isTrue();
        assertThat(limiter.snapshot().waiting()).isEqualTo(2);
        time.runTo(ofSeconds(21));
        assertThat(limiter.snapshot().waiting()).isZero();
    }

    @Test
    void the_standard_bounds_are_finite() {
        Settings settings = RateLimiter.named("x").settings();
        assertThat(settings.maxPending()).isEqualTo(100_000);
        assertThat(settings.maxPendingPerLine()).isEqualTo(10_000);
    }

    @Test
    void the_count_of_those_who_wait_does_not_drift_under_contention() throws InterruptedException { // B38
        RateLimiter limiter = time.spec()
                .limit(Limit.inFlight(3))
                .scope(Scope.by("user"))
                .maxPending(100, 100)
                .build();
        int threads = 8;
        AtomicInteger most = new AtomicInteger();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        CountDownLatch done = new CountDownLatch(threads);
        for (int t = 0; t < threads; t++) {
            Demand demand = Demand.of("user", "u" + t % 3);
            pool.execute(() -> {
                for (int i = 0; i < 2_000; i++) {
                    Releasing[] waiting = new Releasing[20];
                    for (int n = 0; n < waiting.length; n++) {
                        waiting[n] = new Releasing();
                        limiter.acquire(demand).subscribe(waiting[n]);
                    }
                    if (i % 100 == 0) {
                        int now = limiter.snapshot().waiting();
                        most.accumulateAndGet(now, Math::max);
                    }
                    for (Releasing one : waiting) {
                        one.cancel();
                    }
                }
                done.countDown();
            });
        }
        assertThat(done.await(120, TimeUnit.SECONDS)).isTrue();
        pool.shutdown();
        assertThat(most.get()).isLessThanOrEqualTo(100);
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().timers()).isZero();
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(3);
    }

    /** Drops nothing, as a lambda subscriber does that is disposed in the instant of the grant. */
    private static final class Releasing extends BaseSubscriber<Permit> {
        @Override
        protected void hookOnNext(Permit permit) {
            permit.release();
        }

        @Override
        protected void hookOnError(Throwable failure) {
            // The room is full.
        }
    }
}
