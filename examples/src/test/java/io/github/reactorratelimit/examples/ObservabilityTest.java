package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.examples.Observability.OnCall;
import io.github.reactorratelimit.metrics.RateLimitMetrics;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;

class ObservabilityTest {

    private final MockClock clock = new MockClock();
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);

    private Stream<String> lines(String name) {
        clock.add(ofSeconds(1)); // Gauges that are read at about the same time show one snapshot.
        return Observability.lines(meters).stream().filter(line -> line.startsWith(name));
    }

    @Test
    void the_meters_after_the_main_job() {
        PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8);
        RateLimitMetrics metrics = RateLimitMetrics.of(meters);

        Virtually.run(
                () -> MainJob.run(new SimulatedApi(), Scenarios.all(spec -> spec.listener(metrics)), nowhere),
                ofMinutes(1),
                missed -> {
                    assertThat(missed).containsExactly(List.of());
                    lines("").forEach(System.out::println);
                    assertMeters();
                });
    }

    private void assertMeters() {
        assertThat(lines("ratelimit.acquire{lane=interactive, limiter=search"))
                .satisfiesExactly(
                        line -> assertThat(line).contains("outcome=granted, waiting=false} count=6.00 total=0.00"),
                        line -> assertThat(line).contains("outcome=granted, waiting=true} count=6.00 total=60."));
        assertThat(lines("ratelimit.retries"))
                .containsExactly("ratelimit.retries{endpoint=/items, limiter=items, reason=unavailable} count=2.00");
        assertThat(lines("ratelimit.cooldown"))
                .satisfiesExactly(
                        line -> assertThat(line).contains("cause=emptied, endpoint=/search, limiter=misconfigured"),
                        line -> assertThat(line).contains("cause=unavailable, endpoint=/items, limiter=items"));
        assertThat(lines("ratelimit.server.remaining{endpoint=/search, limiter=misconfigured"))
                .singleElement()
                .asString()
                .endsWith("value=0.00");
        assertThat(lines("ratelimit.waiting")).hasSize(5).allMatch(line -> line.endsWith("value=0.00"));
        assertThat(lines("ratelimit.refusals"))
                .as("of limiters none is refused")
                .isEmpty();
        assertThat(lines("ratelimit.exhausted")).isEmpty();
    }

    @Test
    void a_call_sees_which_attempt_it_is_and_how_long_it_waited() {
        Virtually.run(
                () -> {
                    RateLimiter api =
                            Observability.observed(meters, ObservationRegistry.create(), new OnCall(text -> {}));
                    return Flux.range(1, 7).flatMap(n -> Observability.told().transform(api.limit()));
                },
                ofMinutes(1),
                told -> {
                    assertThat(told.get(0)).isEqualTo("attempt 1, waited 0 s");
                    assertThat(told.get(6)).isEqualTo("attempt 1, waited 10 s");
                });
    }

    @Test
    void somebody_is_called_when_a_scope_is_closed_for_long() {
        List<String> pages = new ArrayList<>();
        RateLimiter api = Observability.observed(meters, ObservationRegistry.create(), new OnCall(pages::add));
        api.pause(Demand.one(), ofSeconds(30));
        api.pause(Demand.one(), ofMinutes(5));

        assertThat(pages).singleElement().asString().startsWith("partner is closed for PT5M");
    }
}
