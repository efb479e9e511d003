package io.github.reactorratelimit.examples;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.RateLimitedServer;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import reactor.netty.http.client.HttpClient;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

class ReactorNettyTest {

    /** Sockets are real; the limiter and the server's windows are in virtual time. */
    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private Instant now() {
        return Instant.ofEpochMilli(time.now(MILLISECONDS));
    }

    @Test
    void seven_searches_wait_for_the_second_window_and_are_never_refused() {
        time.advanceTimeTo(Instant.parse("2026-03-04T05:06:07.890Z"));
        RateLimiter api = PerEndpointAndToken.api().spec().scheduler(() -> time).build();
        try (RateLimitedServer server = Scenarios.service().start(this::now)) {
            HttpClient http = HttpClient.newConnection().baseUrl(server.baseUrl());

            StepVerifier.create(ReactorNetty.search(http, api, "anna", 7))
                    .expectNextCount(5)
                    .then(() ->
                            assertThat(server.log().count("/search", "anna")).isEqualTo(5))
                    .then(() -> time.advanceTimeBy(Duration.ofSeconds(11)))
                    .expectNextCount(2)
                    .expectComplete()
                    .verify(Duration.ofSeconds(20));

            assertThat(server.log().count(429)).isZero();
        }
    }
}
