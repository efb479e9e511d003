package io.github.reactorratelimit.benchmarks;

import io.github.bucket4j.Bucket;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.reactor.ratelimiter.operator.RateLimiterOperator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/**
 * 100,000 calls that all have to wait: how long it takes to queue them, to let them through once they may go, and to
 * queue and cancel them. Bucket4j has no operator for Reactor; it stands for what is written by hand around a limiter
 * that says how long to wait. Resilience4j's operator can't be cancelled while it waits.
 */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 3)
@Measurement(iterations = 4)
public class WaitingBenchmark {

    private static final int WAITERS = 100_000;
    private static final Duration PERIOD = Duration.ofMillis(1_500);
    private static final Mono<String> SOURCE = Mono.fromSupplier(() -> "answer");

    /** A limiter whose every call has to wait until the period is over. */
    @State(Scope.Benchmark)
    public abstract static class Closed {

        private CountDownLatch done = new CountDownLatch(0);
        private List<Disposable> waiting = List.of();
        private long due;

        /** A new limiter that has nothing left for this period. */
        abstract void close();

        abstract Mono<String> call();

        /** Closes it. */
        @Setup(Level.Invocation)
        public void start() {
            done = new CountDownLatch(WAITERS);
            close();
            due = System.nanoTime() + PERIOD.toNanos();
        }

        /** Lets those through that still wait, so that they don't burden the next. */
        @TearDown(Level.Invocation)
        public void end() {
            awaitDue();
            for (Disposable one : waiting) {
                while (!one.isDisposed()) {
                    LockSupport.parkNanos(1_000_000);
                }
            }
        }

        final List<Disposable> queue() {
            waiting = new ArrayList<>(WAITERS);
            for (int i = 0; i < WAITERS; i++) {
                waiting.add(call().subscribe(answer -> done.countDown()));
            }
            if (System.nanoTime() > due) {
                throw new IllegalStateException("some did not have to wait: queueing took longer than the period");
            }
            return waiting;
        }

        final void awaitDue() {
            for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }

        final void awaitAll() throws InterruptedException {
            done.await();
        }
    }

    /** Ours. */
    public static class Ours extends Closed {

        private RateLimiter limiter = RateLimiter.of(Limit.inFlight(1));

        @Override
        void close() {
            limiter = RateLimiter.named("waiting")
                    .limit(Limit.of(WAITERS, PERIOD))
                    .maxPending(WAITERS, WAITERS)
                    .build();
            limiter.pause(Demand.one(), PERIOD);
        }

        @Override
        Mono<String> call() {
            return SOURCE.transform(limiter.limit());
        }
    }

    /** Resilience4j's operator: a timer per waiter. */
    public static class Resilience4j extends Closed {

        private io.github.resilience4j.ratelimiter.RateLimiter limiter =
                io.github.resilience4j.ratelimiter.RateLimiter.ofDefaults("peer");

        @Override
        void close() {
            limiter = io.github.resilience4j.ratelimiter.RateLimiter.of(
                    "peer",
                    RateLimiterConfig.custom()
                            .limitForPeriod(WAITERS)
                            .limitRefreshPeriod(PERIOD)
                            .timeoutDuration(Duration.ofDays(1))
                            .build());
            limiter.acquirePermission(WAITERS);
        }

        @Override
        Mono<String> call() {
            return SOURCE.transformDeferred(RateLimiterOperator.of(limiter));
        }
    }

    /** Bucket4j and a delay by hand. */
    public static class Bucket4j extends Closed {

        private Bucket bucket = Bucket.builder()
                .addLimit(limit -> limit.capacity(1).refillIntervally(1, PERIOD))
                .build();

        @Override
        void close() {
            bucket = Bucket.builder()
                    .addLimit(limit -> limit.capacity(WAITERS)
                            .refillIntervally(WAITERS, PERIOD)
                            .initialTokens(0))
                    .build();
        }

        @Override
        Mono<String> call() {
            return Mono.defer(() -> {
                long nanos = bucket.consumeIgnoringRateLimits(1);
                return nanos == 0 ? SOURCE : SOURCE.delaySubscription(Duration.ofNanos(nanos));
            });
        }
    }

    /** Ours, with all its callers queued and due. */
    public static class OursDue extends Ours {

        /** Queues them and waits. */
        @Setup(Level.Invocation)
        public void queueAll() {
            queue();
            awaitDue();
        }
    }

    /** Resilience4j, with all its callers queued and due. */
    public static class Resilience4jDue extends Resilience4j {

        /** Queues them and waits. */
        @Setup(Level.Invocation)
        public void queueAll() {
            queue();
            awaitDue();
        }
    }

    /** Bucket4j and a delay by hand, with all its callers queued and due. */
    public static class Bucket4jDue extends Bucket4j {

        /** Queues them and waits. */
        @Setup(Level.Invocation)
        public void queueAll() {
            queue();
            awaitDue();
        }
    }

    /**
     * Queues all.
     *
     * @param closed who
     */
    @Benchmark
    public void queued_ours(Ours closed) {
        closed.queue();
    }

    /**
     * Lets all through.
     *
     * @param due who
     * @throws InterruptedException never
     */
    @Benchmark
    public void drained_ours(OursDue due) throws InterruptedException {
        due.awaitAll();
    }

    /**
     * Queues all.
     *
     * @param closed who
     */
    @Benchmark
    public void queued_resilience4j(Resilience4j closed) {
        closed.queue();
    }

    /**
     * Lets all through.
     *
     * @param due who
     * @throws InterruptedException never
     */
    @Benchmark
    public void drained_resilience4j(Resilience4jDue due) throws InterruptedException {
        due.awaitAll();
    }

    /**
     * Queues all.
     *
     * @param closed who
     */
    @Benchmark
    public void queued_bucket4j(Bucket4j closed) {
        closed.queue();
    }

    /**
     * Lets all through.
     *
     * @param due who
     * @throws InterruptedException never
     */
    @Benchmark
    public void drained_bucket4j(Bucket4jDue due) throws InterruptedException {
        due.awaitAll();
    }

    /**
     * Queues all and cancels them.
     *
     * @param closed who
     */
    @Benchmark
    public void cancelled_ours(Ours closed) {
        closed.queue().forEach(Disposable::dispose);
    }

    /**
     * Queues all and cancels them.
     *
     * @param closed who
     */
    @Benchmark
    public void cancelled_bucket4j(Bucket4j closed) {
        closed.queue().forEach(Disposable::dispose);
    }
}
