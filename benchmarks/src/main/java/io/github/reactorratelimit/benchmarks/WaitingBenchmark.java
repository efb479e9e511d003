package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.reactor.ratelimiter.operator.RateLimiterOperator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/** 100,000 calls that have to wait: queued and let through, queued and cancelled. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 5)
@Measurement(iterations = 7)
public class WaitingBenchmark {

    private static final int WAITERS = 100_000;
    private static final Duration SHORT = Duration.ofMillis(20);
    private static final Duration LONG = Duration.ofHours(1);
    private final Mono<String> source = Mono.fromSupplier(() -> "answer");

    private static io.github.resilience4j.ratelimiter.RateLimiter peer(Duration period) {
        io.github.resilience4j.ratelimiter.RateLimiter limiter = io.github.resilience4j.ratelimiter.RateLimiter.of(
                "peer",
                RateLimiterConfig.custom()
                        .limitForPeriod(WAITERS)
                        .limitRefreshPeriod(period)
                        .timeoutDuration(Duration.ofDays(1))
                        .build());
        limiter.acquirePermission(WAITERS);
        return limiter;
    }

    private static RateLimiter ours(Duration period) {
        RateLimiter limiter = RateLimiter.named("waiting")
                .limit(Limit.of(WAITERS, period))
                .maxPending(WAITERS, WAITERS)
                .build();
        limiter.pause(io.github.reactorratelimit.Demand.one(), period);
        return limiter;
    }

    /** Ours. */
    @Benchmark
    public void drained_ours() throws InterruptedException {
        RateLimiter limiter = ours(SHORT);
        CountDownLatch done = new CountDownLatch(WAITERS);
        for (int i = 0; i < WAITERS; i++) {
            source.transform(limiter.limit()).subscribe(answer -> done.countDown());
        }
        done.await();
    }

    /** Resilience4j's operator: a timer per waiter. */
    @Benchmark
    public void drained_resilience4j() throws InterruptedException {
        io.github.resilience4j.ratelimiter.RateLimiter limiter = peer(SHORT);
        CountDownLatch done = new CountDownLatch(WAITERS);
        for (int i = 0; i < WAITERS; i++) {
            source.transformDeferred(RateLimiterOperator.of(limiter)).subscribe(answer -> done.countDown());
        }
        done.await();
    }

    /** Ours. */
    @Benchmark
    public void cancelled_ours() {
        RateLimiter limiter = ours(LONG);
        List<Disposable> waiting = new ArrayList<>(WAITERS);
        for (int i = 0; i < WAITERS; i++) {
            waiting.add(source.transform(limiter.limit()).subscribe());
        }
        waiting.forEach(Disposable::dispose);
    }

    /** Resilience4j's operator. */
    @Benchmark
    public void cancelled_resilience4j() {
        io.github.resilience4j.ratelimiter.RateLimiter limiter = peer(LONG);
        List<Disposable> waiting = new ArrayList<>(WAITERS);
        for (int i = 0; i < WAITERS; i++) {
            waiting.add(
                    source.transformDeferred(RateLimiterOperator.of(limiter)).subscribe());
        }
        waiting.forEach(Disposable::dispose);
    }
}
