package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.Fallback;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.test.InVirtualTime;
import io.github.reactorratelimit.test.VirtualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Five calls a second for four minutes: the preferred model has room for two of them, and from the third minute on it fails.
 */
@InVirtualTime
class LlmFallbackTest {

    private static final Duration MAX_WAIT = ofSeconds(2);
    private static final Duration CALL = ofMillis(800);
    private static final Duration TIMEOUT = ofSeconds(3);
    private static final int CALLS = 1_200;

    /** Which model answered a call, and how long the caller had to wait for that. */
    private record Served(String model, Duration at, Duration took) {}

    private final VirtualTime time;
    private final RateLimiter preferred;
    private final RateLimiter cheaper;
    private final List<Served> served = new ArrayList<>();
    private final Instant start;

    LlmFallbackTest(VirtualTime time) {
        this.time = time;
        this.start = time.wallNow();
        this.preferred = time.limiter(RateLimiter.named("preferred")
                .limit(Limit.of(20, ofSeconds(10)))
                .breaker());
        this.cheaper = time.limiter(RateLimiter.named("cheaper").limit(Limit.of(1_000, ofSeconds(10))));
    }

    private Duration now() {
        return Duration.between(start, time.wallNow());
    }

    private Mono<String> call(Exchange attempt, PermitSource first) {
        if (attempt.source() != first) {
            return Mono.delay(CALL, time.scheduler()).thenReturn("cheaper");
        }
        return now().compareTo(ofMinutes(2)) < 0
                ? Mono.delay(CALL, time.scheduler()).thenReturn("preferred")
                : Mono.delay(ofMillis(300), time.scheduler()).then(Mono.error(new IllegalStateException("overloaded")));
    }

    @Test
    void most_go_to_the_cheaper_model_and_nobody_waits_longer_than_is_allowed_and_a_call() {
        PermitSource first = preferred
                .calls()
                .idempotent(true)
                .failures(error -> error instanceof IllegalStateException ? Failure.interrupted() : null)
                .retry(RetryPolicy.attempts(2).attemptTimeout(TIMEOUT).backoff(ofMillis(100), ofMillis(500)));
        Fallback models = PermitSource.firstWithin(MAX_WAIT, first, cheaper);
        Flux.interval(ofMillis(200), time.scheduler())
                .take(CALLS)
                .flatMap(
                        n -> {
                            Duration asked = now();
                            return models.use(source -> Demand.one(), attempt -> call(attempt, first))
                                    .doOnNext(model -> served.add(new Served(model, asked, now().minus(asked))));
                        },
                        CALLS)
                .subscribe();
        time.advance(ofMinutes(5));

        assertThat(served).hasSize(CALLS);
        // Two attempts that fail after 300 ms each are what a call can be before it goes to the other model.
        Duration longest = MAX_WAIT.plus(ofMillis(600)).plus(CALL);
        assertThat(served).allSatisfy(call -> assertThat(call.took()).isLessThanOrEqualTo(longest));
        Map<String, Long> whileItWorks = share(served.stream()
                .filter(call -> call.at().compareTo(ofMinutes(2).minus(MAX_WAIT).minus(CALL)) < 0)
                .toList());
        assertThat(whileItWorks.get("preferred")).isBetween(220L, 260L);
        assertThat(share(served.stream()
                        .filter(call -> call.at().compareTo(ofMinutes(2)) > 0)
                        .toList()))
                .containsOnlyKeys("cheaper");
    }

    private static Map<String, Long> share(List<Served> calls) {
        Map<String, Long> counts = new TreeMap<>();
        calls.forEach(call -> counts.merge(call.model(), 1L, Long::sum));
        return counts;
    }
}
