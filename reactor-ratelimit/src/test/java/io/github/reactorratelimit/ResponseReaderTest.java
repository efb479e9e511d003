package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Headers;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

/** Responses of a client are read with two functions. */
class ResponseReaderTest {

    private record Reply(int status, Map<String, String> headers) {}

    @Test
    void a_refusal_read_by_two_functions_is_waited_for_as_long_as_it_says() {
        RateLimiter limiter =
                RateLimiter.named("partner").limit(Limit.inFlight(1)).jitter(0).build();
        RateLimitOperator calls = limiter.calls()
                .responses(Reply.class, ResponseReader.of(Reply::status, reply -> Headers.of(reply.headers())));
        List<Reply> replies =
                new ArrayList<>(List.of(new Reply(429, Map.of("Retry-After", "30")), new Reply(200, Map.of())));

        StepVerifier.withVirtualTime(
                        () -> Mono.fromSupplier(() -> replies.remove(0)).transform(calls.limit()))
                .expectSubscription()
                .expectNoEvent(ofSeconds(30))
                .assertNext(reply -> assertThat(reply.status()).isEqualTo(200))
                .verifyComplete();
    }
}
