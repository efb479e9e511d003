package io.github.reactorratelimit.spring;

import static io.github.reactorratelimit.spring.Wire.REFUSAL;
import static io.github.reactorratelimit.spring.Wire.answer;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/** One permit per request on the wire, whoever makes it. B16 */
@ExtendWith(NoLeaks.class)
class OnePermitPerRequestTest {

    /** What an OAuth2 filter does: adds its token, and on a 401 renews it and sends again. */
    private static ExchangeFilterFunction renewing() {
        return (request, next) -> next.exchange(withToken(request, "stale")).flatMap(response -> {
            if (response.statusCode().value() != 401) {
                return Mono.just(response);
            }
            return response.releaseBody().then(Mono.defer(() -> next.exchange(withToken(request, "fresh"))));
        });
    }

    private static ClientRequest withToken(ClientRequest request, String token) {
        return ClientRequest.from(request)
                .headers(lines -> lines.setBearerAuth(token))
                .build();
    }

    @Test
    void nothing_happens_before_a_response_is_subscribed() {
        try (Wire wire = Wire.always(Reply.ok())) {
            Mono<String> retrieved = wire.get().retrieve().bodyToMono(String.class);
            Mono<String> exchanged = answer(wire.get());
            assertThat(wire.taken()).isZero();
            assertThat(wire.wire()).isZero();

            retrieved.block(Wire.PATIENCE);
            exchanged.block(Wire.PATIENCE);
            assertThat(wire.taken()).isEqualTo(2);
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void three_subscriptions_are_three_permits_and_three_requests() {
        try (Wire wire = Wire.always(Reply.ok())) {
            Mono<String> call = answer(wire.get());
            for (int i = 0; i < 3; i++) {
                call.block(Wire.PATIENCE);
            }
            assertThat(wire.taken()).isEqualTo(3);
            assertThat(wire.wire()).isEqualTo(3);
        }
    }

    @Test
    void a_retry_of_the_callers_own_takes_a_permit_each_time() {
        try (Wire wire = Wire.always(Reply.status(404))) {
            Mono<String> call =
                    wire.get().retrieve().bodyToMono(String.class).retry(2).onErrorReturn("gave up");
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("gave up");
            assertThat(wire.taken()).isEqualTo(3);
            assertThat(wire.wire()).isEqualTo(3);
            wire.assertIdle();
        }
    }

    @Test
    void a_refusal_is_tried_again_with_a_permit_of_its_own_through_every_verb() {
        try (Wire wire =
                Wire.script(REFUSAL, Reply.ok().body("a"), REFUSAL, Reply.ok().body("b"))) {
            assertThat(answer(wire.get()).block(Wire.PATIENCE)).isEqualTo("200 a");
            assertThat(wire.get().retrieve().bodyToMono(String.class).block(Wire.PATIENCE))
                    .isEqualTo("b");
            assertThat(wire.taken()).isEqualTo(4);
            assertThat(wire.wire()).isEqualTo(4);
        }
    }

    @Test
    void a_filter_before_ours_that_renews_a_token_and_sends_again_takes_two_permits() {
        try (Wire wire = Wire.script(Reply.status(401), Reply.ok())) {
            var client = wire.plain().filter(renewing()).filter(wire.filter).build();
            assertThat(answer(client.get().uri("/x")).block(Wire.PATIENCE)).startsWith("200");
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(wire.taken()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void a_filter_behind_ours_sends_again_unseen_which_is_why_ours_belongs_last() {
        try (Wire wire = Wire.script(Reply.status(401), Reply.ok())) {
            var client = wire.plain().filter(wire.filter).filter(renewing()).build();
            assertThat(answer(client.get().uri("/x")).block(Wire.PATIENCE)).startsWith("200");
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(wire.taken()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    private static Wire redirecting() {
        return Wire.to(ServiceRules.create()
                .reply("/x", Reply.status(302).header("Location", "/there"))
                .reply("/there", Reply.ok().body("there")));
    }

    @Test
    void a_redirect_is_handed_on_and_the_request_to_its_target_takes_a_permit_of_its_own() {
        try (Wire wire = redirecting()) {
            Mono<String> call = wire.get()
                    .retrieve()
                    .toBodilessEntity()
                    .flatMap(moved -> answer(wire.client
                            .get()
                            .uri(String.valueOf(moved.getHeaders().getFirst("Location")))));
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("200 there");
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(wire.taken()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void a_redirect_that_the_client_follows_takes_no_permit_which_is_why_that_should_be_off() {
        try (Wire wire = redirecting()) {
            WebClient following = wire.plain()
                    .clientConnector(new ReactorClientHttpConnector(
                            HttpClient.newConnection().disableRetry(true).followRedirect(true)))
                    .filter(wire.filter)
                    .build();
            assertThat(answer(following.get().uri("/x")).block(Wire.PATIENCE)).isEqualTo("200 there");
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(wire.taken()).isEqualTo(1);
        }
    }
}
