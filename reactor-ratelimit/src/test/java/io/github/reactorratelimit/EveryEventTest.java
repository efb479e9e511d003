package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Whatever races, what is asked for comes to one decision, and what is granted to one end. */
class EveryEventTest {

    private static final int THREADS = 4;
    private static final int CALLS = 5_000;

    /** How far each subject has come: asked 1, decided 2 (granted) or 3 (refused, left), ended 4. */
    private static final class Ledger implements RateLimitListener {

        private final Map<Subject, Integer> stages = new ConcurrentHashMap<>();
        private final AtomicInteger asked = new AtomicInteger();
        private final AtomicInteger wrong = new AtomicInteger();

        private void step(Subject who, int from, int to) {
            Integer before = stages.put(who, to);
            if ((before == null ? 0 : before) != from) {
                wrong.incrementAndGet();
            }
        }

        @Override
        public void asked(Subject who) {
            asked.incrementAndGet();
            step(who, 0, 1);
        }

        @Override
        public void granted(Subject who, Duration waited) {
            step(who, 1, 2);
        }

        @Override
        public void refused(Subject who, Duration waited, Throwable why) {
            step(who, 1, 3);
        }

        @Override
        public void left(Subject who, Duration waited) {
            step(who, 1, 3);
        }

        @Override
        public void released(Subject who, Duration held, Ending ending) {
            step(who, 2, 4);
        }
    }

    @Test
    void every_permit_asked_for_is_decided_once_and_ends_once() throws InterruptedException {
        Ledger ledger = new Ledger();
        RateLimiter limiter = RateLimiter.named("raced")
                .limit(Limit.inFlight(3))
                .maxPending(50, 50)
                .listener(ledger)
                .build();
        CountDownLatch done = new CountDownLatch(THREADS);
        for (int thread = 0; thread < THREADS; thread++) {
            Random random = new Random(thread);
            new Thread(() -> {
                        for (int i = 0; i < CALLS; i++) {
                            one(limiter, random);
                        }
                        done.countDown();
                    })
                    .start();
        }
        done.await();
        limiter.dispose();

        assertThat(ledger.wrong.get()).isZero();
        assertThat(ledger.asked.get()).isEqualTo(THREADS * CALLS);
        assertThat(ledger.stages).hasSize(THREADS * CALLS);
        // Whether anybody is refused or leaves is up to the threads.
        assertThat(ledger.stages.values()).as("nothing is left open").isSubsetOf(3, 4);
    }

    private static void one(RateLimiter limiter, Random random) {
        switch (random.nextInt(5)) {
            case 0 -> race(Mono.fromCallable(() -> 1).transform(limiter.limit()).as(Flux::from));
            case 1 -> race(Flux.just(1).transform(limiter.limitEach()).as(Flux::from));
            case 2 ->
                race(limiter.acquire(Demand.one()).doOnNext(Permit::release).flux());
            case 3 -> {
                Decision decision = limiter.tryAcquire();
                if (decision.allowed()) {
                    decision.permit().complete(RateLimitSignal.none(200));
                }
            }
            default ->
                race(limiter.calls()
                        .exchange(Demand.one(), exchange -> Mono.fromRunnable(exchange::sent))
                        .flux());
        }
    }

    private static void race(Flux<?> call) {
        Disposable running = call.onErrorComplete().subscribe(value -> {
            if (value instanceof Permit permit) {
                permit.release();
            }
        });
        Schedulers.parallel().schedule(running::dispose);
    }
}
