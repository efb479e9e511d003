package io.github.reactorratelimit.netty;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.test.StepVerifier;

/** What users write, over a real connection. */
class RateLimitedHttpClientTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    @Test
    void a_get_is_a_call_under_the_limiter() {
        RateLimiter api = RateLimiter.of(Limit.inFlight(1));
        try (RateLimitedServer server = RateLimitedServer.create()
                .reply("/search", Reply.ok().body("found"))
                .start()) {
            Mono<String> body = RateLimitedHttpClient.of(HttpClient.create().baseUrl(server.baseUrl()), api)
                    .get()
                    .uri("/search?q=reactor")
                    .responseSingle((response, content) -> content.asString());

            assertThat(server.log().count()).isZero();
            StepVerifier.create(body).expectNext("found").expectComplete().verify(PATIENCE);
            StepVerifier.create(body).expectNext("found").expectComplete().verify(PATIENCE);
            assertThat(server.log().count("/search")).isEqualTo(2);
            assertThat(api.tryAcquire().allowed()).isTrue();
        }
    }
}
