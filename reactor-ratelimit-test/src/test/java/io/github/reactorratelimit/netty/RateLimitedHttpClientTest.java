package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.failure;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.QueueFullException;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.ServiceRules;
import io.netty.channel.ChannelOption;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.test.StepVerifier;

/** What users write, over a real connection. */
@ExtendWith(NoLeaks.class)
class RateLimitedHttpClientTest {

    private static ServiceRules always(Reply reply) {
        return ServiceRules.create().fault("/x", Fault.always(reply));
    }

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
    void the_limiter_is_told_host_method_endpoint_and_a_hash_of_the_credentials() {
        AtomicReference<Demand> asked = new AtomicReference<>(Demand.one());
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            RateLimitedHttpClient.Request request = wire.client
                    .get()
                    .uri("/x?secret=1#part")
                    .demand(demand -> {
                        asked.set(demand);
                        return demand;
                    });
            outcome(request);
            assertThat(attributes(asked.get())).containsExactly("127.0.0.1", "GET", "/x", "anon");

            outcome(request.header(HttpHeaderNames.AUTHORIZATION, "Bearer hush").endpoint("/{any}"));
            List<String> named = attributes(asked.get());
            assertThat(named.subList(0, 3)).containsExactly("127.0.0.1", "GET", "/{any}");
            assertThat(named.get(3)).matches("[0-9a-f]{24}");

            outcome(request.header("authorization", "Bearer other"));
            assertThat(attributes(asked.get()).get(3))
                    .isNotEqualTo(named.get(3))
                    .hasSize(24);
        }
    }

    private static List<String> attributes(@Nullable Demand demand) {
        Demand known = Objects.requireNonNull(demand);
        return List.of(
                String.valueOf(known.attribute("host")),
                String.valueOf(known.attribute("method")),
                String.valueOf(known.attribute("endpoint")),
                String.valueOf(known.attribute("token")));
    }

    @Test
    void credentials_of_the_client_itself_count_like_those_of_a_request() {
        AtomicReference<Demand> asked = new AtomicReference<>(Demand.one());
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            RateLimitedHttpClient preset = RateLimitedHttpClient.of(
                    wire.plain.headers(
                            lines -> lines.set("Authorization", "Bearer hush").set("X-Mine", "1")),
                    wire.api);
            outcome(preset.get().uri("/x").header("X-Mine", "2").demand(demand -> {
                asked.set(demand);
                return demand;
            }));

            assertThat(attributes(asked.get()).get(3)).isEqualTo("77f2e514001fdc0e746b3da8");
            RequestLog.Entry entry = wire.log().entries().get(0);
            assertThat(entry.token()).isEqualTo("hush");
            assertThat(entry.header("X-Mine")).isEqualTo("2");
        }
    }

    @Test
    void several_lines_of_one_name_are_all_sent_in_place_of_the_clients() {
        AtomicReference<List<String>> sent = new AtomicReference<>(List.of());
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            RateLimitedHttpClient preset = RateLimitedHttpClient.of(
                    wire.plain
                            .headers(lines -> lines.set("X-Mine", "0"))
                            .doOnRequest((request, connection) ->
                                    sent.set(request.requestHeaders().getAll("X-Mine"))),
                    wire.api);
            outcome(preset.get()
                    .uri("/x")
                    .headers(lines -> lines.add("X-Mine", "1").add("X-Mine", "2")));

            assertThat(sent.get()).containsExactly("1", "2");
        }
    }

    @Test
    void a_limit_per_endpoint_and_user_is_kept_and_the_others_go_on() {
        RateLimiter api = RateLimiter.named("api")
                .scope(Scope.by("user").limits(Limit.of(1, Duration.ofHours(1))))
                .build();
        try (Wire wire = Wire.to(always(Reply.ok()), api, calls -> calls)) {
            RateLimitedHttpClient.Request request = wire.get()
                    .demand(demand -> demand.and("user", "ann"))
                    .demand(demand -> demand.maxWait(Duration.ofSeconds(1)));

            assertThat(outcome(request)).startsWith("200");
            assertThat(failure(answer(request))).isInstanceOf(RateLimitedException.class);
            assertThat(outcome(request.demand(demand -> demand.and("user", "bob"))))
                    .startsWith("200");
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(failure(answer(wire.get()))).hasMessageContaining("'user'");
        }
    }

    @Test
    void every_method_arrives_as_it_is() {
        try (Wire wire = Wire.to(always(Reply.ok().body("")))) {
            RateLimitedHttpClient client = wire.client;
            List<RateLimitedHttpClient.Request> requests = List.of(
                    client.get(),
                    client.post(),
                    client.put(),
                    client.patch(),
                    client.delete(),
                    client.head(),
                    client.options(),
                    client.request(HttpMethod.valueOf("REPORT")));
            for (RateLimitedHttpClient.Request request : requests) {
                assertThat(outcome(request.uri(wire.server.baseUrl() + "/x"))).isEqualTo("200 ");
            }
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().method())
                    .containsExactly("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "REPORT");
            wire.assertIdle();
        }
    }

    @Test
    void a_flux_of_a_response_gives_what_it_had_and_is_not_started_anew() {
        Reply cut = Reply.ok().bodyOfSize(10_000).resetAfterHead();
        AtomicInteger bytes = new AtomicInteger();
        try (Wire wire = Wire.to(ServiceRules.create().script("/x", cut, Reply.ok()))) {
            Flux<byte[]> pieces = wire.get().response((response, content) -> content.asByteArray());
            Throwable failure = failure(pieces.doOnNext(piece -> bytes.addAndGet(piece.length)));

            assertThat(failure).isInstanceOf(IOException.class);
            assertThat(bytes).hasValue(5_000);
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @Test
    void a_single_value_whose_body_breaks_off_is_asked_for_again_if_it_may_be() {
        Reply cut = Reply.ok().bodyOfSize(10_000).resetAfterHead();
        try (Wire wire =
                Wire.to(ServiceRules.create().script("/x", cut, Reply.ok().body("whole"), cut))) {
            assertThat(outcome(wire.get())).isEqualTo("200 whole");
            assertThat(failure(answer(wire.post()))).isInstanceOf(IOException.class);
            assertThat(wire.wire()).isEqualTo(3);
            wire.assertIdle();
        }
    }

    @Test
    void a_failure_of_the_callers_own_is_not_taken_for_one_of_the_call() {
        SocketException own = new SocketException("somebody else's connection was reset");
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            assertThat(failure(wire.get()
                            .responseSingle(
                                    (response, content) -> content.asString().then(Mono.error(own)))))
                    .isSameAs(own);
            assertThat(failure(wire.post().responseSingle((response, content) -> {
                        throw new IllegalStateException("mine");
                    })))
                    .hasMessage("mine");
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void a_failure_of_the_callers_own_is_none_even_for_a_reader_that_knows_its_kind() {
        try (Wire wire = Wire.to(
                always(Reply.ok()),
                Wire.limiter(),
                calls -> calls.retry(Wire.QUICK).failures(RateLimitedHttpClient.failures()))) {
            assertThat(failure(wire.post()
                            .responseSingle((response, content) ->
                                    content.asString().then(Mono.error(new ConnectException("somebody else's"))))))
                    .isInstanceOf(ConnectException.class);
            assertThat(wire.wire()).isEqualTo(1);
        }
    }

    @Test
    void a_body_nobody_reads_costs_its_connection_and_nothing_else() {
        try (Wire wire = Wire.to(always(Reply.ok().endless()))) {
            assertThat(wire.get()
                            .response()
                            .map(response -> response.status().code())
                            .block(Wire.PATIENCE))
                    .isEqualTo(200);
            wire.assertIdle();
            assertThat(wire.get()
                            .responseSingle((response, content) ->
                                    Mono.just(response.status().code()))
                            .block(Wire.PATIENCE))
                    .isEqualTo(200);
            wire.assertIdle();
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
    void a_demand_function_that_gives_none_fails_the_call_and_names_the_rule() {
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            assertThat(failure(answer(wire.get().demand(NullDemand::of).demand(demand -> demand.cost(2)))))
                    .isInstanceOf(NullPointerException.class)
                    .hasMessage("the demand function of a request must give a demand, gave null");
            assertThat(wire.wire()).isZero();
            wire.assertIdle();
        }
    }

    /** What somebody writes who has no null checks. */
    @NullUnmarked
    private static final class NullDemand {
        static Demand of(Demand asked) {
            return null;
        }
    }

    @Test
    void a_uri_that_is_none_fails_the_call_and_gives_the_permit_back() {
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            assertThat(failure(answer(wire.client.get().uri("ftp://host/x"))))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(failure(answer(wire.get().body(() -> {
                        throw new IllegalStateException("no buffer");
                    }))))
                    .hasMessage("no buffer");
            wire.assertIdle();
        }
    }

    @Test
    void cancelling_while_the_server_thinks_closes_the_connection_and_frees_the_permit() {
        try (Wire wire = Wire.to(always(Reply.hang()))) {
            Disposable call = answer(wire.get()).subscribe();
            Wire.await(() -> wire.wire() == 1);
            assertThat(wire.permits()).isEqualTo(Wire.IN_FLIGHT - 1);

            call.dispose();

            assertThat(wire.permits()).isEqualTo(Wire.IN_FLIGHT);
            Wire.await(() -> wire.server.openConnections() == 0);
            wire.assertIdle();
        }
    }

    @Test
    void a_reader_that_is_slow_holds_the_server_back() {
        AtomicInteger pieces = new AtomicInteger();
        try (Wire wire = Wire.to(always(Reply.ok().bodyOfSize(4_000_000)))) {
            BaseSubscriber<byte[]> slow = new BaseSubscriber<>() {
                @Override
                protected void hookOnSubscribe(Subscription subscription) {
                    subscription.request(1);
                }

                @Override
                protected void hookOnNext(byte[] piece) {
                    pieces.incrementAndGet();
                }
            };
            wire.get()
                    .<byte[]>response((response, content) -> content.asByteArray())
                    .subscribe(slow);
            Wire.await(() -> pieces.get() == 1);
            slow.cancel();
            assertThat(pieces).hasValue(1);
            wire.assertIdle();
        }
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
