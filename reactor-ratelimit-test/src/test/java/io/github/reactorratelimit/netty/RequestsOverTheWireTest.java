package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.always;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.failure;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a request asks its limiter for, and how it arrives. */
@ExtendWith(NoLeaks.class)
class RequestsOverTheWireTest {

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
}
