package io.github.reactorratelimit.spring;

import static io.github.reactorratelimit.spring.Wire.REFUSAL;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.AttemptTimeoutException;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.test.Reply;
import java.net.http.HttpClient;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.http.client.reactive.JdkClientHttpConnector;
import org.springframework.web.reactive.function.client.WebClient;

/** The filter over the JDK's HTTP client: nothing in it is Reactor Netty's. */
class OtherClientsTest {

    private static final HttpClient JDK =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private static WebClient client(Wire wire, RateLimitFilter filter) {
        return WebClient.builder()
                .baseUrl(wire.server.baseUrl())
                .clientConnector(new JdkClientHttpConnector(JDK))
                .filter(filter)
                .build();
    }

    @Test
    void a_refusal_is_read_away_and_tried_again() {
        try (Wire wire = Wire.script(REFUSAL.bodyOfSize(1_048_576), Reply.ok().body("done"))) {
            assertThat(Wire.outcome(client(wire, wire.filter).post().uri("/x").bodyValue("order")))
                    .isEqualTo("200 done");
            assertThat(wire.taken()).isEqualTo(2);
            assertThat(wire.inFlight()).isZero();
        }
    }

    @Test
    void a_connection_that_breaks_is_understood_by_how_far_it_got() {
        try (Wire wire = Wire.script(Reply.close(), Reply.ok(), Reply.close())) {
            WebClient client = client(wire, wire.filter);
            assertThat(Wire.outcome(client.get().uri("/x"))).startsWith("200");
            Throwable failure = Wire.failure(Wire.answer(client.post().uri("/x").bodyValue("order")));
            assertThat(RateLimitException.mayHaveBeenSent(failure)).isTrue();
            assertThat(wire.wire()).isEqualTo(3);
        }
    }

    @Test
    void the_attempt_timeout_runs_from_the_writing() {
        try (Wire wire = Wire.always(Reply.hang())) {
            RateLimiter api = Wire.limiter();
            RateLimitFilter once = RateLimitFilter.of(
                    api.calls().retry(RetryPolicy.attempts(1).attemptTimeout(Duration.ofMillis(200))));
            assertThat(Wire.failure(Wire.answer(client(wire, once).post().uri("/x"))))
                    .isInstanceOf(AttemptTimeoutException.class);
        }
    }
}
