package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;

class HandOverTest {

    private static final int MANY = 100_000;

    private final VirtualTime time = new VirtualTime();
    private final ExecutorService other = Executors.newFixedThreadPool(8);

    @AfterEach
    void stop() {
        other.shutdownNow();
    }

    private RateLimiter roomy(Limit... limits) {
        return time.spec().limit(limits).maxPending(2 * MANY, 2 * MANY).build();
    }

    private static long available(RateLimiter limiter) {
        return limiter.snapshot().root().limits().get(0).available();
    }

    @Test
    void a_hundred_thousand_hand_over_in_their_order_and_on_a_flat_stack() { // B04
        RateLimiter limiter = roomy(Limit.inFlight(1));
        Permit held = limiter.tryAcquire().permit();
        List<Integer> order = new ArrayList<>();
        AtomicInteger deepest = new AtomicInteger();
        for (int i = 0; i < MANY; i++) {
            int n = i;
            limiter.acquire(Demand.one()).subscribe(permit -> {
                order.add(n);
                if (n % 10_000 == 0) {
                    deepest.accumulateAndGet(new Throwable().getStackTrace().length, Math::max);
                }
                permit.release();
            });
        }
        held.release();
        assertThat(order).hasSize(MANY).isSorted();
        assertThat(deepest.get()).isLessThan(200);
        assertThat(available(limiter)).isEqualTo(1);
    }

    @Test
    void a_hundred_thousand_grants_of_one_timer_keep_their_order() { // B04
        RateLimiter limiter = roomy(Limit.bucket(MANY, MANY, ofSeconds(1)).startingWith(0));
        Asked all = time.ask(limiter, Demand.one().cost(MANY));
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            int n = i;
            limiter.acquire(Demand.one()).subscribe(permit -> order.add(n));
        }
        time.at(ofSeconds(1).minusNanos(1), all::cancel);
        time.runTo(ofSeconds(1).minusNanos(1));
        assertThat(order).hasSize(MANY - 1).isSorted();
        time.runTo(ofSeconds(1));
        assertThat(order).hasSize(MANY).isSorted();
    }

    @Test
    void a_hundred_thousand_grants_of_one_ring_keep_their_order_and_a_flat_stack() { // B04
        RateLimiter limiter = roomy(Limit.of(MANY, ofSeconds(10)));
        limiter.tryAcquire(Demand.one().cost(MANY));
        List<Integer> order = new ArrayList<>();
        AtomicInteger deepest = new AtomicInteger();
        for (int i = 0; i < MANY; i++) {
            int n = i;
            limiter.acquire(Demand.one()).subscribe(permit -> {
                order.add(n);
                if (n % 10_000 == 0) {
                    deepest.accumulateAndGet(new Throwable().getStackTrace().length, Math::max);
                }
                permit.release();
            });
        }
        time.runTo(ofMillis(10_010).minusNanos(1));
        assertThat(order).isEmpty();
        time.runTo(ofMillis(10_010));
        assertThat(order).hasSize(MANY).isSorted();
        assertThat(deepest.get()).isLessThan(200);
    }

    @Test
    void operators_that_fail_at_once_hand_over_as_well() { // B04
        RateLimiter limiter = roomy(Limit.inFlight(1));
        Permit held = limiter.tryAcquire().permit();
        AtomicInteger failed = new AtomicInteger();
        for (int i = 0; i < MANY; i++) {
            Mono.error(new IllegalStateException("boom"))
                    .transform(limiter.limit())
                    .subscribe(any -> {}, failure -> failed.incrementAndGet());
        }
        held.release();
        assertThat(failed.get()).isEqualTo(MANY);
        assertThat(available(limiter)).isEqualTo(1);
    }

    @Test
    void a_subscriber_that_throws_stops_nobody_behind_it() { // B04
        RateLimiter limiter = roomy(Limit.inFlight(1));
        Permit held = limiter.tryAcquire().permit();
        Asked before = time.ask(limiter);
        limiter.acquire(Demand.one()).subscribe(new Throwing());
        Asked after = time.ask(limiter);
        held.release();
        before.permit().release();
        assertThat(after.isGranted()).isTrue();
    }

    /** Breaks the specification: throws out of onNext, its permit released. */
    private static final class Throwing implements CoreSubscriber<Permit> {
        @Override
        public void onSubscribe(Subscription subscription) {
            subscription.request(1);
        }

        @Override
        public void onNext(Permit permit) {
            permit.release();
            throw new IllegalStateException("a subscriber's own fault");
        }

        @Override
        public void onError(Throwable failure) {
            throw new IllegalStateException("and again", failure);
        }

        @Override
        public void onComplete() {
            throw new IllegalStateException("and again");
        }
    }

    @Test
    void one_who_asks_again_from_its_own_grant_is_served_in_its_turn() {
        RateLimiter limiter = roomy(Limit.inFlight(1));
        Permit held = limiter.tryAcquire().permit();
        List<String> order = new ArrayList<>();
        limiter.acquire(Demand.one()).subscribe(permit -> {
            order.add("first");
            limiter.acquire(Demand.one()).subscribe(again -> {
                order.add("first again");
                again.release();
            });
            permit.release();
            order.add("first ends");
        });
        limiter.acquire(Demand.one()).subscribe(permit -> {
            order.add("second");
            permit.release();
        });
        held.release();
        assertThat(order).containsExactly("first", "first ends", "second", "first again");
    }

    @Test
    void a_chain_of_grants_at_once_needs_no_stack() { // B04
        RateLimiter limiter = roomy(Limit.inFlight(1));
        Long count = limiter.acquire(Demand.one())
                .doOnNext(Permit::release)
                .repeat(MANY - 1)
                .count()
                .block();
        assertThat(count).isEqualTo(MANY);
    }

    // ------------------------------------------------------------------------------------------------ races

    private interface Step {
        void run();
    }

    private void together(Step one, Step two) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Future<?> left = other.submit(() -> await(barrier, one));
        Future<?> right = other.submit(() -> await(barrier, two));
        left.get(60, TimeUnit.SECONDS);
        right.get(60, TimeUnit.SECONDS);
    }

    private static void await(CyclicBarrier barrier, Step step) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
        step.run();
    }

    private static final class Releasing extends BaseSubscriber<Permit> {
        private final AtomicInteger grants = new AtomicInteger();

        @Override
        protected void hookOnNext(Permit permit) {
            grants.incrementAndGet();
            permit.release();
        }
    }

    @Test
    void a_cancel_in_the_instant_of_a_grant_loses_no_permit() throws Exception { // B05
        RateLimiter limiter = roomy(Limit.inFlight(1));
        for (int round = 0; round < 5_000; round++) {
            Permit held = limiter.tryAcquire().permit();
            Releasing waiting = new Releasing();
            limiter.acquire(Demand.one()).subscribe(waiting);
            together(held::release, waiting::cancel);
            if (available(limiter) != 1) {
                throw new AssertionError("round " + round + ": granted " + waiting.grants);
            }
        }
        assertThat(limiter.snapshot().waiting()).isZero();
    }

    @Test
    void a_request_and_a_cancel_at_once_lose_no_permit() throws Exception { // B48
        RateLimiter limiter = roomy(Limit.inFlight(1));
        for (int round = 0; round < 5_000; round++) {
            BaseSubscriber<Permit> late = new BaseSubscriber<>() {
                @Override
                protected void hookOnSubscribe(Subscription subscription) {
                    // requests later
                }

                @Override
                protected void hookOnNext(Permit permit) {
                    permit.release();
                }
            };
            limiter.acquire(Demand.one()).subscribe(late);
            together(() -> late.request(1), late::cancel);
            assertThat(available(limiter)).isEqualTo(1);
        }
    }

    @Test
    void two_limits_asked_for_in_either_order_by_many_threads_never_stand_still() throws Exception { // B09
        RateLimiter limiter = time.spec()
                .limit(Limit.inFlight(1))
                .scope(Scope.by("api").limits(Limit.inFlight(1)))
                .build();
        int threads = 8;
        CountDownLatch done = new CountDownLatch(threads);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        AtomicInteger granted = new AtomicInteger();
        for (int t = 0; t < threads; t++) {
            Demand demand = Demand.of("api", t % 2 == 0 ? "a" : "b");
            other.execute(() -> {
                for (int i = 0; i < 1_250; i++) {
                    limiter.acquire(demand).subscribe(permit -> {
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                        inside.decrementAndGet();
                        granted.incrementAndGet();
                        permit.release();
                    });
                }
                done.countDown();
            });
        }
        assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
        // Whoever is emitting now still has some to emit.
        for (int i = 0; i < 100_000 && granted.get() < 10_000; i++) {
            Thread.onSpinWait();
            limiter.snapshot();
        }
        assertThat(granted.get()).isEqualTo(10_000);
        assertThat(most.get()).isEqualTo(1);
        assertThat(limiter.snapshot().waiting()).isZero();
    }
}
