package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import reactor.blockhound.BlockHound;
import reactor.blockhound.BlockingOperationError;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

class NoBlockingTest {

    private static final int THREADS = 16;
    private static final int ROUNDS = 3_000;

    @BeforeAll
    static void watch() {
        // Threads that are parked already do not know what they are allowed.
        Schedulers.shutdownNow();
        BlockHound.install();
    }

    @Test
    void blockhound_watches_the_threads_of_this_test() {
        assertThatThrownBy(() -> Mono.fromRunnable(() -> LockSupport.parkNanos(1))
                        .subscribeOn(Schedulers.parallel())
                        .block())
                .hasCauseInstanceOf(BlockingOperationError.class);
    }

    @Test
    void asking_cancelling_and_releasing_under_contention_never_blocks_a_parallel_thread()
            throws InterruptedException { // B50
        Scheduler threads = Schedulers.newParallel("contending", THREADS);
        RateLimiter limiter = RateLimiter.named("contended")
                .limit(Limit.inFlight(4), Limit.bucket(1_000_000, 1_000_000, ofSeconds(1)))
                .scope(Scope.by("endpoint").limits(Limit.of(1_000_000, ofSeconds(1))))
                .lane("background", Share.of(0.5))
                .jitter(0.2)
                .cooldown(ofMillis(1), ofMillis(1))
                .forgetAfter(ofMillis(1))
                .build();
        AtomicReference<Throwable> blocked = new AtomicReference<>();
        CountDownLatch done = new CountDownLatch(THREADS);
        for (int t = 0; t < THREADS; t++) {
            int thread = t;
            threads.schedule(() -> {
                try {
                    contend(limiter, thread);
                } catch (Throwable failure) {
                    blocked.compareAndSet(null, failure);
                } finally {
                    done.countDown();
                }
            });
        }
        assertThat(done.await(120, TimeUnit.SECONDS)).isTrue();
        threads.dispose();
        assertThat(blocked.get()).isNull();
    }

    private static void contend(RateLimiter limiter, int thread) {
        List<Throwable> failures = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) {
            Demand demand = Demand.of("endpoint", "/e" + (i + thread) % 50);
            Demand low = demand.lane("background").maxWait(ofMillis(50));
            limiter.acquire(demand).subscribe(Permit::release, failures::add);
            limiter.acquire(low)
                    .subscribe(permit -> permit.complete(RateLimitSignal.none(200)), failure -> {
                        if (failure instanceof BlockingOperationError) {
                            failures.add(failure);
                        }
                    })
                    .dispose();
            Decision decision = limiter.tryAcquire(demand);
            if (decision.allowed()) {
                decision.permit()
                        .complete(
                                i % 100 == 0
                                        ? RateLimitSignal.of(429)
                                                .throttled(true)
                                                .build()
                                        : RateLimitSignal.none(200));
            }
            Mono.just(i).transform(limiter.limit(demand)).subscribe(any -> {}, failures::add);
            if (i % 500 == 0) {
                limiter.snapshot();
            }
        }
        if (!failures.isEmpty()) {
            throw new AssertionError("failed " + failures.size() + " times, first", failures.get(0));
        }
    }
}
