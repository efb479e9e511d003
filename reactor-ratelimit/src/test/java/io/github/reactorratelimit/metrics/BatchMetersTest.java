package io.github.reactorratelimit.metrics;

import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.BatchOutcome;
import io.github.reactorratelimit.BatchReader;
import io.github.reactorratelimit.BatchRetry;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.signal.Headers;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Batches in meters and traces. */
class BatchMetersTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
    private final TestObservationRegistry observations = TestObservationRegistry.create();

    /** A part is its id; its answer the status. */
    private static final class Reader implements BatchReader<Integer, int[]> {

        @Override
        public Object id(Integer part) {
            return part;
        }

        @Override
        public Object idOf(int[] answer) {
            return answer[0];
        }

        @Override
        public int status(int[] answer) {
            return answer[1];
        }

        @Override
        public Headers headers(int[] answer) {
            return Headers.of();
        }

        @Override
        public boolean isIdempotent(Integer part) {
            return true;
        }
    }

    @Test
    void attempts_refusals_retries_and_what_is_given_up_are_counted_and_each_batch_is_observed() {
        RateLimiter limiter = RateLimiter.named("graph")
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5)
                .listener(RateLimitMetrics.of(registry))
                .listener(RateLimitObservations.of(observations))
                .build();
        List<List<BatchOutcome<int[]>>> result = new ArrayList<>();
        int[] sent = {0};
        BatchRetry.of(limiter.calls().retry(RetryPolicy.attempts(2)), new Reader())
                .send(
                        List.of(1, 2, 3, 4),
                        Demand.one(),
                        parts -> Mono.fromSupplier(() -> {
                            boolean first = sent[0]++ == 0;
                            return parts.stream()
                                    .map(id -> new int[] {id, id == 1 ? 200 : id == 4 ? 502 : first ? 429 : 200})
                                    .toList();
                        }))
                .subscribe(result::add);
        time.advanceTimeBy(ofMinutes(1));

        assertThat(result.get(0))
                .filteredOn(outcome -> outcome.failure().isPresent())
                .hasSize(1);
        assertThat(registry.get("ratelimit.refusals")
                        .tag("status", "429")
                        .counter()
                        .count())
                .isEqualTo(2);
        assertThat(registry.get("ratelimit.retries")
                        .tag("reason", "throttled")
                        .counter()
                        .count())
                .isEqualTo(1);
        assertThat(registry.get("ratelimit.exhausted").counter().count()).isEqualTo(1);
        assertThat(registry.get("ratelimit.acquire").tag("outcome", "granted").timers())
                .extracting(timer -> timer.count())
                .containsExactlyInAnyOrder(1L, 1L);
        TestObservationRegistryAssert.assertThat(observations)
                .hasNumberOfObservationsWithNameEqualTo("ratelimit.attempt", 2)
                .hasAnObservationWithAKeyValue("attempt", "2")
                .hasAnObservationWithAKeyValue("status", "429")
                .hasAnObservationWithAKeyValue("outcome", "retried")
                .hasAnObservationWithAKeyValue("status", "502");
    }
}
