package io.github.reactorratelimit.spring;

import static io.github.reactorratelimit.spring.Wire.REFUSAL;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.AttemptTimeoutException;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetriesExhaustedException;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.client.reactive.ClientHttpRequest;
import org.springframework.http.client.reactive.JdkClientHttpConnector;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.reactive.function.BodyInserter;
import org.springframework.web.reactive.function.BodyInserters;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.support.WebClientAdapter;
import org.springframework.web.service.annotation.PostExchange;
import org.springframework.web.service.invoker.HttpServiceProxyFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

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

    private static WebClient client(Wire wire) {
        return client(wire, wire.filter);
    }

    @Test // B10
    void a_refusal_is_read_away_and_its_connection_used_again() {
        try (Wire wire = Wire.script(REFUSAL.bodyOfSize(1_048_576), Reply.ok().body("done"))) {
            assertThat(Wire.outcome(client(wire).post().uri("/x").bodyValue("order")))
                    .isEqualTo("200 done");
            assertThat(wire.taken()).isEqualTo(2);
            assertThat(wire.server.connections()).isEqualTo(1);
            assertThat(wire.inFlight()).isZero();
        }
    }

    @Test // B10
    void a_refusal_without_an_end_or_one_that_stalls_does_not_hold_the_call() {
        Reply stalling = REFUSAL.body("0123456789").slowly(2, Duration.ofHours(1));
        try (Wire wire = Wire.script(REFUSAL.endless(), stalling, Reply.ok().body("done"))) {
            assertThat(Wire.outcome(client(wire).get().uri("/x"))).isEqualTo("200 done");
            assertThat(wire.wire()).isEqualTo(3);
            assertThat(wire.inFlight()).isZero();
        }
    }

    @Test // B16
    void a_retry_of_the_callers_own_takes_a_permit_each_time() {
        try (Wire wire = Wire.always(Reply.status(404))) {
            Mono<String> call = client(wire)
                    .get()
                    .uri("/x")
                    .retrieve()
                    .bodyToMono(String.class)
                    .retry(2)
                    .onErrorReturn("gave up");
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("gave up");
            assertThat(wire.taken()).isEqualTo(3);
            assertThat(wire.wire()).isEqualTo(3);
        }
    }

    static List<BodyInserter<?, ? super ClientHttpRequest>> oneShot() {
        return BodiesTest.oneShot();
    }

    static List<BodyInserter<?, ? super ClientHttpRequest>> repeatable() {
        return BodiesTest.repeatable();
    }

    @ParameterizedTest // B28
    @MethodSource("oneShot")
    void a_body_that_may_be_gone_is_sent_once(BodyInserter<?, ? super ClientHttpRequest> body) {
        try (Wire wire = Wire.script(REFUSAL.body("later"), Reply.ok())) {
            assertThat(Wire.outcome(client(wire).put().uri("/x").body(body))).isEqualTo("429 later");
            assertThat(wire.wire()).isEqualTo(1);
            assertThat(wire.inFlight()).isZero();
        }
    }

    @ParameterizedTest // B28
    @MethodSource("repeatable")
    void a_body_that_is_there_each_time_is_sent_again(BodyInserter<?, ? super ClientHttpRequest> body) {
        try (Wire wire = Wire.script(REFUSAL, REFUSAL, Reply.ok())) {
            assertThat(Wire.outcome(client(wire).post().uri("/x").body(body))).startsWith("200");
            assertThat(wire.wire()).isEqualTo(3);
        }
    }

    @Test // B39
    void a_403_is_a_limit_or_none_by_its_body() {
        RateLimiter gitHub = RateLimiter.named("github")
                .limit(Limit.inFlight(Wire.IN_FLIGHT))
                .dialect(Dialects.gitHub())
                .build();
        ServiceRules rules = ServiceRules.create()
                .script(
                        "/x",
                        Reply.status(403).body("{\"message\":\"Must have admin rights.\"}"),
                        Reply.status(403).body("{\"message\":\"You have exceeded a secondary rate limit.\"}"));
        try (Wire wire = Wire.to(rules, gitHub, calls -> calls.retry(RetryPolicy.none()))) {
            assertThat(Wire.outcome(client(wire).get().uri("/x"))).contains("403", "admin rights");
            assertThat(gitHub.snapshot().root().closedFor()).isZero();
            assertThat(Wire.outcome(client(wire).get().uri("/x"))).contains("403", "secondary");
            assertThat(gitHub.snapshot().root().closedFor()).isGreaterThan(Duration.ofSeconds(50));
        }
    }

    @ParameterizedTest // B60
    @ValueSource(ints = {400, 401, 403, 404, 407, 501})
    void other_statuses_reach_the_caller_at_once_and_close_nothing(int status) {
        try (Wire wire = Wire.always(Reply.status(status).body("why"))) {
            assertThat(Wire.outcome(client(wire).get().uri("/x"))).isEqualTo(status + " why");
            assertThat(wire.wire()).isEqualTo(1);
            assertThat(wire.api.snapshot().root().closedFor()).isZero();
            assertThat(wire.inFlight()).isZero();
        }
    }

    @Test
    void a_body_that_is_cancelled_or_released_or_breaks_off_gives_the_permit_back() {
        try (Wire wire = Wire.script(
                Reply.ok().endless(),
                Reply.ok().bodyOfSize(300_000),
                Reply.ok().bodyOfSize(1_000).resetAfterHead())) {
            WebClient client = client(wire);
            DataBuffer first = client.get()
                    .uri("/x")
                    .exchangeToFlux(response -> response.bodyToFlux(DataBuffer.class))
                    .take(1)
                    .blockLast(Wire.PATIENCE);
            DataBufferUtils.release(Objects.requireNonNull(first));
            Wire.await(() -> wire.inFlight() == 0);
            client.get().uri("/x").retrieve().toBodilessEntity().block(Wire.PATIENCE);
            assertThat(wire.inFlight()).isZero();
            assertThat(Wire.failure(Wire.answer(client.get().uri("/x")))).isNotNull();
            assertThat(wire.inFlight()).isZero();
        }
    }

    @Test
    void a_connection_that_breaks_is_understood_by_how_far_it_got() {
        try (Wire wire = Wire.script(Reply.close(), Reply.ok(), Reply.close())) {
            WebClient client = client(wire);
            assertThat(Wire.outcome(client.get().uri("/x"))).startsWith("200");
            Throwable failure = Wire.failure(Wire.answer(client.post().uri("/x").bodyValue("order")));
            assertThat(RateLimitException.mayHaveBeenSent(failure)).isTrue();
            assertThat(wire.wire()).isEqualTo(3);
        }
    }

    @Test
    void a_connection_that_is_refused_was_not_sent_and_a_post_is_tried_again() {
        try (Wire wire = Wire.always(Reply.ok())) {
            wire.server.dispose();
            assertThat(Wire.failure(Wire.answer(client(wire).post().uri("/x").bodyValue("order"))))
                    .isInstanceOfSatisfying(RetriesExhaustedException.class, exhausted -> {
                        assertThat(exhausted.attempts()).isEqualTo(3);
                        assertThat(exhausted.mayHaveBeenSent()).isFalse();
                    });
        }
    }

    @Test // B28
    void a_one_shot_publisher_that_no_connection_was_had_for_is_not_used_up() {
        AtomicInteger subscribed = new AtomicInteger();
        Flux<String> lines = Flux.just("a", "b").doOnSubscribe(subscription -> subscribed.incrementAndGet());
        BodyInserter<Object, ClientHttpRequest> own = (request, context) -> request.writeWith(lines.map(
                line -> DefaultDataBufferFactory.sharedInstance.wrap(line.getBytes(StandardCharsets.UTF_8))));
        try (Wire wire = Wire.always(Reply.ok())) {
            wire.server.dispose();
            for (BodyInserter<?, ? super ClientHttpRequest> body :
                    List.<BodyInserter<?, ? super ClientHttpRequest>>of(
                            BodyInserters.fromPublisher(lines, String.class), own)) {
                assertThat(Wire.failure(
                                Wire.answer(client(wire).put().uri("/x").body(body))))
                        .isInstanceOfSatisfying(
                                RetriesExhaustedException.class,
                                exhausted -> assertThat(exhausted.attempts()).isEqualTo(3));
            }
            assertThat(subscribed).hasValue(0);
        }
    }

    interface Orders {

        @PostExchange("/x")
        Mono<String> order(@RequestBody String order);
    }

    @Test
    void an_http_interface_goes_through_it_too() {
        try (Wire wire = Wire.script(REFUSAL, Reply.ok().body("done"))) {
            Orders orders = HttpServiceProxyFactory.builderFor(WebClientAdapter.create(client(wire)))
                    .build()
                    .createClient(Orders.class);
            assertThat(orders.order("book").block(Wire.PATIENCE)).isEqualTo("done");
            assertThat(wire.taken()).isEqualTo(2);
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
