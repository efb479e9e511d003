package io.github.reactorratelimit.test.spring;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.test.InVirtualTime;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.ScriptedApi;
import io.github.reactorratelimit.test.ServiceRules;
import io.github.reactorratelimit.test.SimulatedService;
import io.github.reactorratelimit.test.VirtualTime;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import org.springframework.web.reactive.function.client.WebClientResponseException;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

class SimulatedExchangeTest {

    private final ScriptedApi api = ScriptedApi.create();
    private final WebClient client = WebClient.builder()
            .baseUrl("http://api")
            .exchangeFunction(SimulatedExchange.to(api))
            .build();

    private Mono<String> body(String path) {
        return client.get().uri(path).retrieve().bodyToMono(String.class);
    }

    @Test
    void the_request_arrives_as_it_was_written() {
        api.script("POST /users/{id}/pages", Reply.ok());

        client.post()
                .uri("/users/{id}/pages?top=1", "anna b")
                .header("Authorization", "Bearer t")
                .header("X-Two", "a", "b")
                .cookie("k", "v")
                .bodyValue("grün")
                .retrieve()
                .toBodilessEntity()
                .block();

        RequestLog.Entry seen = api.log().entries().get(0);
        assertThat(seen.request().path()).isEqualTo("/users/anna%20b/pages");
        assertThat(seen.token()).isEqualTo("t");
        assertThat(seen.request().body()).isEqualTo("grün");
        assertThat(seen.header("Content-Type")).startsWith("text/plain");
        assertThat(seen.header("Cookie")).isEqualTo("k=v");
        StringBuilder both = new StringBuilder();
        seen.request().headers().forEach((name, value) -> both.append(name.equals("X-Two") ? value : ""));
        assertThat(both).hasToString("ab");
    }

    @Test
    void the_response_is_read_as_it_was_scripted() {
        api.script(
                "/x",
                Reply.status(429).retryAfter(ofSeconds(2)).body("wait"),
                Reply.ok().body("{\"n\":7}"));

        StepVerifier.create(body("/x"))
                .verifyErrorSatisfies(error -> assertThat(error)
                        .isInstanceOfSatisfying(WebClientResponseException.TooManyRequests.class, refusal -> {
                            assertThat(refusal.getHeaders().getFirst("Retry-After"))
                                    .isEqualTo("2");
                            assertThat(refusal.getResponseBodyAsString()).isEqualTo("wait");
                        }));
        StepVerifier.create(body("/x")).expectNext("{\"n\":7}").verifyComplete();
        api.checkPlayed();
    }

    @Test
    void a_connection_that_breaks_is_an_io_exception_of_the_request() {
        api.script("/x", Reply.reset());

        StepVerifier.create(body("/x"))
                .verifyErrorSatisfies(error -> assertThat(error)
                        .isInstanceOf(WebClientRequestException.class)
                        .hasCauseInstanceOf(IOException.class));
    }

    @Test
    void what_is_beyond_the_script_says_so_to_the_caller() {
        StepVerifier.create(body("/x"))
                .verifyErrorSatisfies(error -> assertThat(error).hasMessageContaining("GET /x is not in the script"));
    }

    @Test
    @InVirtualTime
    void a_simulated_service_answers_in_its_own_time(VirtualTime time) {
        SimulatedService service = time.simulate(ServiceRules.create().limit("/x", 1, ofSeconds(10)))
                .latency(ofMillis(30), ofMillis(20));
        WebClient far = WebClient.builder()
                .exchangeFunction(SimulatedExchange.to(service))
                .build();
        StepVerifier status = StepVerifier.create(far.get()
                        .uri("http://api/x")
                        .exchangeToMono(response -> response.releaseBody()
                                .thenReturn(response.statusCode().value()))
                        .repeat(1))
                .expectNext(200, 429)
                .expectComplete()
                .verifyLater();

        time.advance(ofMillis(100));

        status.verify(Duration.ZERO);
        assertThat(service.log().count()).isEqualTo(2);
    }
}
