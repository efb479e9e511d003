package io.github.reactorratelimit.benchmarks;

import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** Six limits in two scopes, per application and per user, decided at once. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class SixLimitsBenchmark {

    private static final long PLENTY = 1_000_000_000L;
    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final RateLimiter ours = RateLimiter.named("six")
            .limit(
                    Limit.bucket(PLENTY, PLENTY, SECOND),
                    Limit.bucket(PLENTY, 60 * PLENTY, MINUTE),
                    Limit.inFlight(PLENTY))
            .scope(io.github.reactorratelimit.Scope.by("user")
                    .limits(
                            Limit.bucket(PLENTY, PLENTY, SECOND),
                            Limit.bucket(PLENTY, 60 * PLENTY, MINUTE),
                            Limit.inFlight(PLENTY)))
            .build();
    private final Demand demand = Demand.of("user", "u1");
    private final Bucket application = Bucket.builder()
            .addLimit(limit -> limit.capacity(PLENTY).refillGreedy(PLENTY, SECOND))
            .addLimit(limit ->
                    limit.capacity(PLENTY).refillGreedy(60 * PLENTY, MINUTE).id("minute"))
            .build();
    private final ConcurrentHashMap<String, Bucket> users = new ConcurrentHashMap<>();
    private final BucketConfiguration user = BucketConfiguration.builder()
            .addLimit(limit -> limit.capacity(PLENTY).refillGreedy(PLENTY, SECOND))
            .addLimit(limit ->
                    limit.capacity(PLENTY).refillGreedy(60 * PLENTY, MINUTE).id("minute"))
            .build();

    /** Ours: six limits, all or nothing. */
    @Benchmark
    public boolean six_ours() {
        var decision = ours.tryAcquire(demand);
        decision.permit().release();
        return decision.allowed();
    }

    /** Bucket4j: the four rates only, in two buckets one after the other; it has no limit on calls in flight. */
    @Benchmark
    public boolean six_bucket4j() {
        Bucket perUser = users.computeIfAbsent("u1", key -> {
            var builder = Bucket.builder();
            for (var bandwidth : user.getBandwidths()) {
                builder.addLimit(bandwidth);
            }
            return builder.build();
        });
        return application.tryConsume(1) && perUser.tryConsume(1);
    }
}
