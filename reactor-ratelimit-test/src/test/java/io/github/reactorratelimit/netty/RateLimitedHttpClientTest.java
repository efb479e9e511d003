package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.always;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.QueueFullException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import io.netty.channel.ChannelOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.test.StepVerifier;

/** What users write, over a real connection: a permit for each call, redirects too, and what the given client keeps. */
@ExtendWith(NoLeaks.class)
class RateLimitedHttpClientTest {

    @Test // B16
    void nothing_happens_before_it_is_subscribed_and_every_subscription_is_a_call() {
        RateLimiter api = RateLimiter.of(Limit.of(10, Duration.ofHours(1)));
        try (RateLimitedServer server = RateLimitedServer.create()
                .reply("/search", Reply.ok().body("found"))
                .start()) {
            Mono<String> body = RateLimitedHttpClient.of(HttpClient.create().baseUrl(server.baseUrl()), api)
                    .get()
                    .uri("/search?q=reactor")
                    .responseSingle((response, content) -> content.asString());

            assertThat(api.snapshot().root().limits().get(0).available()).isEqualTo(10);
            assertThat(server.log().count()).isZero();
            for (int i = 0; i < 3; i++) {
                assertThat(body.block(Wire.PATIENCE)).isEqualTo("found");
            }
            assertThat(server.log().count("/search")).isEqualTo(3);
            assertThat(api.snapshot().root().limits().get(0).available()).isEqualTo(7);
        }
    }

    @Test
    void a_redirect_is_handed_on_and_the_request_to_its_target_takes_a_permit_of_its_own() {
        try (Wire wire = redirecting()) {
            Mono<String> call = wire.get()
                    .response()
                    .map(response -> response.responseHeaders().get("Location"))
                    .flatMap(target -> answer(wire.client.get().uri(target)));
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("200 there");
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(left(wire)).isEqualTo(8);
        }
    }

    @Test
    void a_redirect_that_the_client_follows_takes_no_permit_which_is_why_that_should_be_off() {
        try (Wire wire = redirecting()) {
            RateLimitedHttpClient following = RateLimitedHttpClient.of(wire.plain.followRedirect(true), wire.api);
            assertThat(outcome(following.get().uri("/x"))).isEqualTo("200 there");
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(left(wire)).isEqualTo(9);
        }
    }

    private static Wire redirecting() {
        ServiceRules rules = ServiceRules.create()
                .reply("/x", Reply.status(302).header("Location", "/there"))
                .reply("/there", Reply.ok().body("there"));
        return Wire.to(rules, RateLimiter.of(Limit.total(10)), calls -> calls);
    }

    private static long left(Wire wire) {
        return wire.api.snapshot().root().limits().get(0).available();
    }

    @Test
    void a_connect_timeout_is_set_unless_the_client_has_one() {
        List<Object> timeouts = new ArrayList<>();
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            HttpClient watched = wire.plain.doOnConnect(
                    config -> timeouts.add(config.options().get(ChannelOption.CONNECT_TIMEOUT_MILLIS)));
            HttpClient patient = watched.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 30_000);
            outcome(RateLimitedHttpClient.of(watched, wire.api).get().uri("/x"));
            outcome(RateLimitedHttpClient.of(patient, wire.api).get().uri("/x"));

            assertThat(timeouts).containsExactly(5_000, 30_000);
        }
    }

    @Test // B29
    void the_clients_own_retry_is_off_here_and_as_it_was_in_the_client_that_was_given() {
        List<Boolean> off = new ArrayList<>();
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            HttpClient watched = wire.plain.doOnConnect(config -> off.add(config.isRetryDisabled()));
            outcome(RateLimitedHttpClient.of(watched, wire.api).get().uri("/x"));
            watched.get().uri("/x").response().block(Wire.PATIENCE);

            assertThat(off).containsExactly(true, false);
        }
    }

    @Test
    void a_full_line_fails_at_once() {
        RateLimiter api = RateLimiter.named("api")
                .limit(Limit.inFlight(1))
                .maxPending(1, 1)
                .build();
        try (Wire wire = Wire.to(always(Reply.hang()), api, calls -> calls)) {
            Disposable running = answer(wire.get()).subscribe();
            Disposable waiting = answer(wire.get()).subscribe();
            StepVerifier.create(answer(wire.get()))
                    .expectError(QueueFullException.class)
                    .verify(Wire.PATIENCE);
            running.dispose();
            waiting.dispose();
        }
    }
}
