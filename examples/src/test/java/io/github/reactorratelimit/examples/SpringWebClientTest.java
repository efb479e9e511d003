package io.github.reactorratelimit.examples;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Share;
import io.github.reactorratelimit.test.RateLimitedServer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

class SpringWebClientTest {

    /** Sockets are real; the limiter and the server's windows are in virtual time. */
    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private Instant now() {
        return Instant.ofEpochMilli(time.now(MILLISECONDS));
    }

    @Test
    void seven_searches_of_an_http_interface_wait_for_the_second_window_and_are_never_refused() {
        time.advanceTimeTo(Instant.parse("2026-03-04T05:06:07.890Z"));
        RateLimiter api = PerEndpointAndToken.api().spec().scheduler(() -> time).build();
        try (RateLimitedServer server = Scenarios.service().start(this::now)) {
            WebClient.Builder builder = WebClient.builder().baseUrl(server.baseUrl());

            StepVerifier.create(SpringWebClient.search(builder, api, "anna", 7))
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

    @Test
    void an_order_costs_two_of_the_half_that_the_background_has() {
        RateLimiter api = RateLimiter.named("partner")
                .limit(Limit.total(10))
                .lane("interactive", Share.of(1))
                .lane("background", Share.of(0.5))
                .build();
        WebClient client = SpringWebClient.client(api)
                .mutate()
                .exchangeFunction(request -> Mono.just(ClientResponse.create(HttpStatus.OK)
                        .body(request.url().getPath())
                        .build()))
                .build();

        List<String> orders = Mono.zip(SpringWebClient.order(client, 1), SpringWebClient.order(client, 2))
                .map(both -> List.of(both.getT1(), both.getT2()))
                .blockOptional()
                .orElseThrow();

        assertThat(orders).containsExactly("/orders/1", "/orders/2");
        assertThat(api.snapshot().root().limits().get(0).available()).isEqualTo(6);
    }

    @Test
    void a_login_that_sends_again_takes_a_permit_for_each() {
        RateLimiter api = RateLimiter.of(Limit.total(10));
        WebClient.Builder builder = WebClient.builder()
                .exchangeFunction(request ->
                        Mono.just(ClientResponse.create(HttpStatus.UNAUTHORIZED).build()));
        WebClient client = SpringWebClient.client(
                builder,
                api,
                (request, next) -> next.exchange(request)
                        .flatMap(refused -> refused.releaseBody().then(next.exchange(request))));

        HttpStatus status = client.get()
                .uri("/orders/1")
                .exchangeToMono(response ->
                        Mono.just(HttpStatus.valueOf(response.statusCode().value())))
                .block();

        assertThat(status).isEqualTo(HttpStatus.UNAUTHORIZED);
        assertThat(api.snapshot().root().limits().get(0).available()).isEqualTo(8);
    }

    @Test
    void a_model_is_asked_under_its_own_permit_and_its_tokens_are_settled() {
        RateLimiter large = RateLimiter.named("large")
                .limit(Limit.total(1_500).unit("tokens"))
                .build();
        RateLimiter small = RateLimiter.named("small")
                .limit(Limit.total(1_500).unit("tokens"))
                .build();
        RateLimiter other = RateLimiter.of(Limit.total(10));
        WebClient client = SpringWebClient.client(other)
                .mutate()
                .exchangeFunction(request -> Mono.just(ClientResponse.create(HttpStatus.OK)
                        .header("Content-Type", "application/json")
                        .body("{\"text\":\"yes\",\"tokens\":700}")
                        .build()))
                .build();
        List<PermitSource> asked = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            SpringWebClient.ask(PermitSource.firstWithin(Duration.ZERO, large, small), client, source -> {
                        asked.add(source);
                        return "really?";
                    })
                    .block();
        }
        assertThat(asked).containsExactly(large, small);
        assertThat(large.snapshot().root().limits().get(0).available()).isEqualTo(800);
        assertThat(other.snapshot().root().limits().get(0).available()).isEqualTo(10);
    }
}
