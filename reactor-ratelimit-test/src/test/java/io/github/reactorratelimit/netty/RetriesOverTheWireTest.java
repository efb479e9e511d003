package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.QUICK;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.failure;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.AttemptTimeoutException;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RetriesExhaustedException;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.ServiceRules;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

/** What is sent again and what is not, counted at the server. */
@ExtendWith(NoLeaks.class)
class RetriesOverTheWireTest {

    private static final Reply REFUSAL = Reply.status(429).header("Retry-After", "0");

    private static ServiceRules script(Reply... replies) {
        return ServiceRules.create().script("/x", replies);
    }

    private static ServiceRules always(Reply reply) {
        return ServiceRules.create().fault("/x", Fault.always(reply));
    }

    @Test // B27
    void a_refused_post_is_sent_again_for_the_server_did_not_act() {
        try (Wire wire = Wire.to(script(REFUSAL, Reply.status(201).body("made")))) {
            assertThat(outcome(wire.post())).isEqualTo("201 made");

            assertThat(wire.log().entries())
                    .extracting(RequestLog.Entry::status)
                    .containsExactly(429, 201);
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().body())
                    .containsExactly("order", "order");
            wire.assertIdle();
        }
    }

    @Test // B27
    void a_post_that_is_reset_after_it_was_read_is_not_sent_again() {
        try (Wire wire = Wire.to(script(Reply.reset(), Reply.ok()))) {
            Throwable failure = failure(answer(wire.post()));

            assertThat(failure).isInstanceOf(IOException.class);
            assertThat(RateLimitException.mayHaveBeenSent(failure)).isTrue();
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @Test // B27
    void a_reset_get_and_a_reset_post_with_a_key_or_said_to_be_idempotent_are_sent_again() {
        try (Wire wire =
                Wire.to(script(Reply.reset(), Reply.ok(), Reply.reset(), Reply.ok(), Reply.reset(), Reply.ok()))) {
            assertThat(outcome(wire.get())).startsWith("200");
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(outcome(wire.post().header("idempotency-key", "k1"))).startsWith("200");
            assertThat(wire.wire()).isEqualTo(4);
            assertThat(outcome(wire.post().idempotent(true))).startsWith("200");
            assertThat(wire.wire()).isEqualTo(6);
        }
    }

    @Test
    void a_get_said_not_to_be_idempotent_is_not_sent_again() {
        try (Wire wire = Wire.to(script(Reply.reset(), Reply.ok()))) {
            assertThat(failure(answer(wire.get().header("Idempotency-Key", "k").idempotent(false))))
                    .isInstanceOf(IOException.class);
            assertThat(wire.wire()).isEqualTo(1);
        }
    }

    @Test // B27
    void a_503_is_repeated_for_a_post_only_if_it_says_when() {
        Reply busy = Reply.status(503).body("busy");
        try (Wire wire = Wire.to(script(busy, busy.header("Retry-After", "1"), Reply.ok()))) {
            assertThat(outcome(wire.post())).isEqualTo("503 busy");
            assertThat(wire.wire()).isEqualTo(1);
            assertThat(outcome(wire.post())).startsWith("200");
            assertThat(wire.wire()).isEqualTo(3);
            wire.assertIdle();
        }
    }

    @ParameterizedTest // B27, B60
    @ValueSource(ints = {500, 502, 503, 504, 408, 425})
    void a_failing_get_is_sent_again(int status) {
        try (Wire wire = Wire.to(script(Reply.status(status), Reply.ok()))) {
            assertThat(outcome(wire.get())).startsWith("200");
            assertThat(wire.wire()).isEqualTo(2);
        }
    }

    @ParameterizedTest // B60
    @ValueSource(ints = {400, 401, 403, 404, 407, 501, 505})
    void other_statuses_reach_the_caller_at_once_and_close_nothing(int status) {
        try (Wire wire = Wire.to(always(Reply.status(status).body("why")))) {
            assertThat(outcome(wire.get())).isEqualTo(status + " why");
            assertThat(wire.api.snapshot().root().closedFor()).isZero();
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @ParameterizedTest // B60
    @ValueSource(ints = {401, 407, 501})
    void a_hint_on_a_status_that_is_no_throttle_is_not_waited_for(int status) {
        try (Wire wire = Wire.to(always(Reply.status(status).body("why").header("Retry-After", "100")))) {
            assertThat(outcome(wire.get())).isEqualTo(status + " why");
            assertThat(outcome(wire.get())).isEqualTo(status + " why");
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test // B29
    void a_server_that_resets_everything_sees_exactly_the_attempts() {
        try (Wire wire = Wire.to(always(Reply.reset()), QUICK)) {
            Throwable failure = failure(answer(wire.get()));

            assertThat(failure).isInstanceOfSatisfying(RetriesExhaustedException.class, exhausted -> {
                assertThat(exhausted.attempts()).isEqualTo(3);
                assertThat(exhausted.getCause()).isInstanceOf(IOException.class);
                assertThat(exhausted.mayHaveBeenSent()).isTrue();
            });
            assertThat(wire.wire()).isEqualTo(3);
            wire.assertIdle();
        }
    }

    @Test // B29
    void of_two_layers_only_the_inner_one_retries() {
        try (Wire wire = Wire.to(always(Reply.reset()), QUICK)) {
            Mono<String> call = answer(wire.get())
                    .transform(Wire.limiter()
                            .calls()
                            .retry(QUICK)
                            .idempotent(true)
                            .failures(RateLimitedHttpClient.failures())
                            .limit())
                    .as(Mono::from);

            assertThat(failure(call)).isInstanceOf(RetriesExhaustedException.class);
            assertThat(wire.wire()).isEqualTo(3);
        }
    }

    @Test
    void a_closed_connection_is_a_matter_of_how_far_the_call_got() {
        try (Wire wire = Wire.to(script(Reply.close(), Reply.ok(), Reply.close()))) {
            assertThat(outcome(wire.get())).startsWith("200");
            Throwable failure = failure(answer(wire.post()));
            assertThat(RateLimitException.mayHaveBeenSent(failure)).isTrue();
            assertThat(wire.wire()).isEqualTo(3);
        }
    }

    @Test
    void a_pooled_connection_that_the_server_has_closed_costs_a_post_nothing() {
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            assertThat(outcome(wire.post())).startsWith("200");
            wire.server.closeConnections();
            Wire.await(() -> wire.server.openConnections() == 0);
            assertThat(outcome(wire.post())).startsWith("200");
            assertThat(wire.wire()).isEqualTo(2);
        }
    }

    @Test
    void a_refused_connection_is_tried_again_for_a_post_and_certainly_not_sent() {
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            wire.server.dispose();
            Throwable failure = failure(answer(wire.post()));

            assertThat(failure).isInstanceOfSatisfying(RetriesExhaustedException.class, exhausted -> {
                assertThat(exhausted.attempts()).isEqualTo(3);
                assertThat(exhausted.mayHaveBeenSent()).isFalse();
            });
            wire.assertIdle();
        }
    }

    @Test
    void a_name_that_does_not_resolve_is_tried_again_and_certainly_not_sent() {
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            Throwable failure = failure(answer(wire.client.post().uri("http://nobody.invalid/x")));

            assertThat(failure)
                    .isInstanceOfSatisfying(
                            RetriesExhaustedException.class,
                            exhausted -> assertThat(exhausted.attempts()).isEqualTo(3));
            assertThat(RateLimitException.mayHaveBeenSent(failure)).isFalse();
        }
    }

    @Test
    void a_certificate_that_nobody_trusts_is_never_tried_again() {
        ConnectionProvider pool = ConnectionProvider.create("tls", 1);
        var secure = always(Reply.ok()).startTls();
        try (secure) {
            RateLimitedHttpClient client = RateLimitedHttpClient.of(
                    HttpClient.create(pool), Wire.limiter().calls().retry(QUICK));
            Throwable failure = failure(answer(client.get().uri(secure.baseUrl() + "/x")));

            assertThat(failure).isInstanceOf(javax.net.ssl.SSLException.class);
            assertThat(RateLimitException.mayHaveBeenSent(failure)).isFalse();
            assertThat(secure.connections()).isEqualTo(1);
        } finally {
            pool.dispose();
        }
    }

    @Test // B42
    void a_hanging_server_ends_in_the_attempt_timeout_and_everything_is_given_back() {
        RetryPolicy once = RetryPolicy.attempts(1).attemptTimeout(Duration.ofMillis(200));
        try (Wire wire = Wire.to(always(Reply.hang()), once)) {
            Throwable failure = failure(answer(wire.post()));

            assertThat(failure).isInstanceOf(AttemptTimeoutException.class);
            assertThat(RateLimitException.mayHaveBeenSent(failure)).isTrue();
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
            Wire.await(() -> wire.server.openConnections() == 0);
        }
    }

    @Test // B42
    void a_get_that_hangs_once_is_sent_again() {
        RetryPolicy policy = QUICK.attemptTimeout(Duration.ofMillis(300));
        try (Wire wire = Wire.to(script(Reply.hang(), Reply.ok()), policy)) {
            assertThat(outcome(wire.get())).startsWith("200");
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test // B28
    void a_one_shot_body_is_subscribed_once_and_the_caller_gets_the_refusal() {
        AtomicInteger subscribed = new AtomicInteger();
        try (Wire wire = Wire.to(script(REFUSAL.body("later"), Reply.ok()))) {
            Mono<ByteBuf> body = Mono.fromSupplier(() -> Unpooled.copiedBuffer("once", UTF_8))
                    .doOnSubscribe(subscription -> subscribed.incrementAndGet());

            assertThat(outcome(wire.client.put().uri("/x").bodyOnce(body))).isEqualTo("429 later");
            assertThat(subscribed).hasValue(1);
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @Test // B28
    void a_body_of_bytes_is_the_same_each_time() {
        byte[] bytes = new byte[100_000];
        bytes[99_999] = 7;
        try (Wire wire = Wire.to(script(REFUSAL, REFUSAL, Reply.ok()))) {
            assertThat(outcome(wire.client.post().uri("/x").body(bytes))).startsWith("200");

            assertThat(wire.log().entries())
                    .hasSize(3)
                    .allSatisfy(entry -> assertThat(entry.request().bytes()).isEqualTo(bytes))
                    .allSatisfy(
                            entry -> assertThat(entry.header("Content-Length")).isEqualTo("100000"));
        }
    }

    @Test // B28
    void a_supplied_body_is_a_fresh_buffer_per_attempt_and_each_is_released() {
        List<ByteBuf> buffers = new ArrayList<>();
        try (Wire wire = Wire.to(script(REFUSAL, REFUSAL, Reply.ok()))) {
            assertThat(outcome(wire.client.post().uri("/x").body(() -> {
                        ByteBuf fresh = Unpooled.directBuffer().writeBytes("fresh".getBytes(UTF_8));
                        buffers.add(fresh);
                        return fresh;
                    })))
                    .startsWith("200");

            assertThat(buffers).hasSize(3).allMatch(buffer -> buffer.refCnt() == 0);
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().body())
                    .containsExactly("fresh", "fresh", "fresh");
        }
    }

    @Test // B51
    void refusals_without_end_exhaust_the_call_and_tell_what_happened() {
        try (Wire wire = Wire.to(always(REFUSAL), RetryPolicy.standard().refusals(2))) {
            assertThat(failure(answer(wire.get())))
                    .isInstanceOfSatisfying(RetriesExhaustedException.class, exhausted -> {
                        assertThat(exhausted.attempts()).isEqualTo(3);
                        assertThat(exhausted.status()).isEqualTo(429);
                        assertThat(exhausted.lastHint()).isZero();
                    });
            assertThat(wire.wire()).isEqualTo(3);
        }
    }

    @Test // B10, B51
    void the_last_response_is_readable_where_the_caller_wants_it() {
        RetryPolicy policy = RetryPolicy.standard().refusals(2).returnLastResponse();
        try (Wire wire = Wire.to(always(REFUSAL.bodyOfSize(200_000)), policy)) {
            String last = outcome(wire.get());

            assertThat(last).startsWith("429 ").hasSize(200_004);
            assertThat(wire.wire()).isEqualTo(3);
            wire.assertIdle();
        }
    }
}
