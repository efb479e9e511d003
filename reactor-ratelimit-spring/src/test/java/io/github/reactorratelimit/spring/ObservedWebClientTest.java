package io.github.reactorratelimit.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.metrics.RateLimitObservations;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.ObservationView;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;

/** Which observation is whose child where WebClient is observed too. */
class ObservedWebClientTest {

    private final List<String> started = new CopyOnWriteArrayList<>();
    private final ObservationRegistry registry = ObservationRegistry.create();

    ObservedWebClientTest() {
        registry.observationConfig().observationHandler(new ObservationHandler<>() {
            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }

            @Override
            public void onStart(Observation.Context context) {
                ObservationView parent = context.getParentObservation();
                started.add(context.getName() + " of "
                        + (parent == null ? "nobody" : parent.getContextView().getName()));
            }
        });
    }

    @Test
    void its_observation_is_around_the_attempts_and_what_they_call_is_within_them() {
        RateLimiter api = RateLimiter.named("api")
                .limit(Limit.total(10))
                .listener(RateLimitObservations.of(registry))
                .build();
        WebClient client = WebClient.builder()
                .observationRegistry(registry)
                .filter(RateLimitFilter.of(api))
                .exchangeFunction(request -> Mono.deferContextual(context -> {
                    Observation.createNotStarted("wire", registry)
                            .parentObservation(context.get("micrometer.observation"))
                            .start()
                            .stop();
                    return Mono.just(ClientResponse.create(HttpStatus.OK).build());
                }))
                .build();
        client.get().uri("http://h/x").retrieve().toBodilessEntity().block(Wire.PATIENCE);
        assertThat(started)
                .containsExactly(
                        "http.client.requests of nobody",
                        "ratelimit.attempt of http.client.requests",
                        "ratelimit.wait of ratelimit.attempt",
                        "wire of ratelimit.attempt");
    }
}
