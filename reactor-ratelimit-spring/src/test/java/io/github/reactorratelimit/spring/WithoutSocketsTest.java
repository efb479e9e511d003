package io.github.reactorratelimit.spring;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ScriptedApi;
import io.github.reactorratelimit.test.spring.SimulatedExchange;
import org.junit.jupiter.api.Test;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.test.StepVerifier;

/** The filter in front of the kit's simulated exchange, with each Spring that this module is tested with. */
class WithoutSocketsTest {

    private final RateLimiter api = RateLimiter.of(Limit.inFlight(2));
    private final ScriptedApi script = ScriptedApi.create();
    private final WebClient client = WebClient.builder()
            .exchangeFunction(SimulatedExchange.to(script.simulate().latency(ofMillis(20), ofMillis(30))))
            .filter(RateLimitFilter.of(api))
            .build();

    private String post() {
        String[] answer = new String[1];
        StepVerifier.withVirtualTime(() -> Wire.answer(
                        client.post().uri("/x").header("X-Two", "a", "b").bodyValue("order")))
                .thenAwait(ofSeconds(30))
                .consumeNextWith(text -> answer[0] = text)
                .verifyComplete();
        return answer[0];
    }

    @Test
    void a_refused_request_is_written_again_and_its_answer_read() {
        script.script(
                "POST /x",
                Reply.status(429).retryAfter(ofSeconds(5)),
                Reply.ok().body("done"));

        assertThat(post()).isEqualTo("200 done");
        script.checkPlayed();
        assertThat(script.log().entries()).allSatisfy(entry -> {
            assertThat(entry.request().body()).isEqualTo("order");
            assertThat(entry.header("X-Two")).isEqualTo("a");
        });
        assertThat(api.snapshot().root().limits().get(0).available()).isEqualTo(2);
    }

    @Test
    void what_is_beyond_the_script_is_not_tried_again() {
        StepVerifier.withVirtualTime(() -> Wire.answer(client.get().uri("/y")))
                .thenAwait(ofSeconds(30))
                .verifyErrorSatisfies(
                        error -> assertThat(error).hasStackTraceContaining("GET /y is not in the script"));
        assertThat(script.log().count()).isEqualTo(1);
    }
}
