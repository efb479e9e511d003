package io.github.reactorratelimit.benchmarks;

import com.google.common.util.concurrent.RateLimiter;
import io.github.bucket4j.Bucket;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** An immediate answer: a limiter with room, and one without. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class TryAcquireBenchmark {

    private static final long PLENTY = 1_000_000_000L;
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Duration YEAR = Duration.ofDays(365);

    private final io.github.reactorratelimit.RateLimiter ours =
            io.github.reactorratelimit.RateLimiter.of(Limit.bucket(PLENTY, PLENTY, SECOND));
    private final io.github.reactorratelimit.RateLimiter oursWindow =
            io.github.reactorratelimit.RateLimiter.of(Limit.of(PLENTY, SECOND));
    private final io.github.reactorratelimit.RateLimiter oursEmpty =
            io.github.reactorratelimit.RateLimiter.of(Limit.bucket(1, 1, YEAR).startingWith(0));
    private final Bucket bucket4j = Bucket.builder()
            .addLimit(limit -> limit.capacity(PLENTY).refillGreedy(PLENTY, SECOND))
            .build();
    private final Bucket bucket4jEmpty = Bucket.builder()
            .addLimit(limit -> limit.capacity(1).refillGreedy(1, YEAR).initialTokens(0))
            .build();
    private final io.github.resilience4j.ratelimiter.RateLimiter resilience4j = resilience4j((int) PLENTY, SECOND);
    private final io.github.resilience4j.ratelimiter.RateLimiter resilience4jEmpty = resilience4j(1, YEAR);
    private final RateLimiter guava = RateLimiter.create(PLENTY);
    private final dev.failsafe.RateLimiter<Object> failsafe =
            dev.failsafe.RateLimiter.burstyBuilder(PLENTY, SECOND).build();
    private final Demand one = Demand.one();

    private static io.github.resilience4j.ratelimiter.RateLimiter resilience4j(int permits, Duration period) {
        io.github.resilience4j.ratelimiter.RateLimiter limiter = io.github.resilience4j.ratelimiter.RateLimiter.of(
                "peer",
                RateLimiterConfig.custom()
                        .limitForPeriod(permits)
                        .limitRefreshPeriod(period)
                        .timeoutDuration(Duration.ZERO)
                        .build());
        if (permits == 1) {
            limiter.acquirePermission();
        }
        return limiter;
    }

    /** Ours, a token bucket. */
    @Benchmark
    public boolean granted_ours() {
        return ours.tryAcquire(one).allowed();
    }

    /** Ours, the exact window. */
    @Benchmark
    public boolean granted_oursWindow() {
        return oursWindow.tryAcquire(one).allowed();
    }

    /** Bucket4j. */
    @Benchmark
    public boolean granted_bucket4j() {
        return bucket4j.tryConsume(1);
    }

    /** Resilience4j. */
    @Benchmark
    public boolean granted_resilience4j() {
        return resilience4j.acquirePermission();
    }

    /** Guava. */
    @Benchmark
    public boolean granted_guava() {
        return guava.tryAcquire();
    }

    /** Failsafe. */
    @Benchmark
    public boolean granted_failsafe() {
        return failsafe.tryAcquirePermit();
    }

    /** Ours, empty. */
    @Benchmark
    public boolean refused_ours() {
        return oursEmpty.tryAcquire(one).allowed();
    }

    /** Bucket4j, empty. */
    @Benchmark
    public boolean refused_bucket4j() {
        return bucket4jEmpty.tryConsume(1);
    }

    /** Resilience4j, empty. */
    @Benchmark
    public boolean refused_resilience4j() {
        return resilience4jEmpty.acquirePermission();
    }
}
