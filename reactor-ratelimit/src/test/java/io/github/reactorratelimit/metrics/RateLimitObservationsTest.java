package io.github.reactorratelimit.metrics;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.signal.Headers;
import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

class RateLimitObservationsTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final TestObservationRegistry registry = TestObservationRegistry.create();
    /** A trace: what started and stopped when, indented below its parent. */
    private final List<String> trace = new ArrayList<>();

    private final RateLimiter limiter = spec().build();

    private RateLimiterSpec spec() {
        registry.observationConfig().observationHandler(new Tracing());
        return RateLimiter.named("partner")
                .scope(Scope.by("endpoint").limit("/search", Limit.of(1, ofSeconds(10))))
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5)
                .listener(RateLimitObservations.of(registry));
    }

    private final class Tracing implements ObservationHandler<Observation.Context> {

        private String line(Observation.Context context, String what) {
            String parent = context.getParentObservation() == null
                    ? ""
                    : context.getParentObservation().getContextView().getName() + " > ";
            return TimeUnit.NANOSECONDS.toSeconds(time.now(TimeUnit.NANOSECONDS)) + " " + parent + context.getName()
                    + what;
        }

        @Override
        public void onStart(Observation.Context context) {
            trace.add(line(context, " starts"));
        }

        @Override
        public void onStop(Observation.Context context) {
            @Nullable KeyValue outcome = context.getLowCardinalityKeyValue("outcome");
            trace.add(line(context, " stops" + (outcome == null ? "" : " " + outcome.getValue())));
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return true;
        }
    }

    /** A client that is observed itself, under whatever observation its Context names. */
    private Mono<String> observedCall() {
        return Mono.deferContextual(context -> {
            Observation parent = context.get(ObservationThreadLocalAccessor.KEY);
            Observation http = Observation.createNotStarted("http", registry).parentObservation(parent);
            http.start();
            return Mono.just("answer")
                    .delayElement(ofSeconds(2), time)
                    .doFinally(end -> http.stop())
                    .map(answer -> answer + " for " + context.get("caller"));
        });
    }

    @Test
    void a_trace_shows_queue_time_apart_from_call_time_below_the_callers_own() {
        Observation caller = Observation.start("caller", registry);
        List<String> answers = new ArrayList<>();
        Mono<String> call = observedCall()
                .transform(limiter.<String>limit(Demand.of("endpoint", "/search")))
                .as(Mono::from);
        limiter.tryAcquire(Demand.of("endpoint", "/search"));
        call.contextWrite(context -> context.put("caller", "alice").put(ObservationThreadLocalAccessor.KEY, caller))
                .subscribe(answers::add);
        time.advanceTimeBy(ofSeconds(60));
        caller.stop();

        assertThat(answers).containsExactly("answer for alice");
        assertThat(trace)
                .containsExactly(
                        "0 caller starts",
                        "0 caller > ratelimit.attempt starts",
                        "0 ratelimit.attempt > ratelimit.wait starts",
                        "10 ratelimit.attempt > ratelimit.wait stops granted",
                        "10 ratelimit.attempt > http starts",
                        "12 caller > ratelimit.attempt stops done",
                        "12 ratelimit.attempt > http stops",
                        "60 caller stops");
        TestObservationRegistryAssert.assertThat(registry)
                .hasObservationWithNameEqualTo("ratelimit.attempt")
                .that()
                .hasLowCardinalityKeyValue("limiter", "partner")
                .hasLowCardinalityKeyValue("endpoint", "/search")
                .hasLowCardinalityKeyValue("lane", "interactive")
                .hasHighCardinalityKeyValue("attempt", "1");
    }

    @Test
    void every_attempt_has_one_of_its_own_that_says_how_it_ended() {
        List<Failure> failures = List.of(Failure.notSent(), Failure.response(400, Headers.of()));
        int[] calls = new int[1];
        Mono.error(IllegalStateException::new)
                .transform(limiter.calls()
                        .failures(error -> failures.get(calls[0]++))
                        .retry(RetryPolicy.attempts(3).backoff(ofMillis(1), ofMillis(1)))
                        .limit(Demand.of("endpoint", "/elsewhere")))
                .as(Flux::from)
                .onErrorComplete()
                .subscribe();
        time.advanceTimeBy(ofSeconds(1));

        assertThat(trace)
                .containsExactly(
                        "0 ratelimit.attempt starts",
                        "0 ratelimit.attempt > ratelimit.wait starts",
                        "0 ratelimit.attempt > ratelimit.wait stops granted",
                        "0 ratelimit.attempt stops retried",
                        "0 ratelimit.attempt starts",
                        "0 ratelimit.attempt > ratelimit.wait starts",
                        "0 ratelimit.attempt > ratelimit.wait stops granted",
                        "0 ratelimit.attempt stops failed");
        TestObservationRegistryAssert.assertThat(registry)
                .hasAnObservationWithAKeyValue("attempt", "2")
                .hasAnObservationWithAKeyValue("status", "400")
                .hasAnObservationWithAKeyValue("endpoint", "other");
    }

    @Test
    void who_is_refused_or_leaves_ends_its_observations() {
        Demand search = Demand.of("endpoint", "/search");
        limiter.tryAcquire(search);
        Mono.never()
                .transform(limiter.limit(search.maxWait(ofSeconds(1))))
                .as(Flux::from)
                .onErrorComplete()
                .subscribe();
        Disposable waiting =
                Mono.never().transform(limiter.limit(search)).as(Flux::from).subscribe();
        waiting.dispose();
        Disposable running = Mono.never()
                .transform(limiter.limit(Demand.of("endpoint", "/elsewhere")))
                .as(Flux::from)
                .subscribe();
        running.dispose();

        assertThat(trace.stream().filter(line -> line.contains("stops")))
                .containsExactly(
                        "0 ratelimit.attempt > ratelimit.wait stops refused",
                        "0 ratelimit.attempt stops refused",
                        "0 ratelimit.attempt > ratelimit.wait stops cancelled",
                        "0 ratelimit.attempt stops cancelled",
                        "0 ratelimit.attempt > ratelimit.wait stops granted",
                        "0 ratelimit.attempt stops cancelled");
    }

    @Test
    void without_handlers_nothing_is_observed_and_nothing_put_in_the_context() {
        RateLimiter quiet = RateLimiter.named("quiet")
                .listener(RateLimitObservations.of(ObservationRegistry.NOOP))
                .build();
        Mono<Boolean> observed =
                Mono.deferContextual(context -> Mono.just(context.hasKey(ObservationThreadLocalAccessor.KEY)));
        assertThat(observed.transform(quiet.<Boolean>limit()).as(Mono::from).block())
                .isFalse();
    }
}
