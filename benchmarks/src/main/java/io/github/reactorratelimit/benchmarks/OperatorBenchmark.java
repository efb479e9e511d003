package io.github.reactorratelimit.benchmarks;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.reactor.ratelimiter.operator.RateLimiterOperator;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.infra.Blackhole;
import reactor.core.publisher.Mono;
import reactor.util.retry.Retry;

/** One call through the operator, granted at once, with retries configured. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class OperatorBenchmark {

    private static final int PLENTY = 1_000_000_000;
    private static final Duration SECOND = Duration.ofSeconds(1);

    private final RateLimitOperator ours =
            RateLimiter.of(Limit.bucket(PLENTY, PLENTY, SECOND)).calls().retry(RetryPolicy.attempts(4));
    private final io.github.resilience4j.ratelimiter.RateLimiter resilience4j =
            io.github.resilience4j.ratelimiter.RateLimiter.of(
                    "peer",
                    RateLimiterConfig.custom()
                            .limitForPeriod(PLENTY)
                            .limitRefreshPeriod(SECOND)
                            .timeoutDuration(SECOND)
                            .build());
    private final Mono<String> source = Mono.fromSupplier(() -> "answer");

    /** The source alone. */
    @Benchmark
    public void operator_source(Blackhole hole) {
        source.subscribe(hole::consume);
    }

    /** Ours, with its own retries. */
    @Benchmark
    public void operator_ours(Blackhole hole) {
        source.transform(ours.limit()).subscribe(hole::consume);
    }

    /** Resilience4j's limiter alone. */
    @Benchmark
    public void operator_resilience4j(Blackhole hole) {
        source.transformDeferred(RateLimiterOperator.of(resilience4j)).subscribe(hole::consume);
    }

    /** Resilience4j's limiter and Reactor's own retry. */
    @Benchmark
    public void operator_resilience4jRetry(Blackhole hole) {
        source.transformDeferred(RateLimiterOperator.of(resilience4j))
                .retryWhen(Retry.backoff(3, Duration.ofMillis(100)))
                .subscribe(hole::consume);
    }
}
