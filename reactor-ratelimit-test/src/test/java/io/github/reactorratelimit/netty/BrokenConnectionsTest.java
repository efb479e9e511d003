package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.QUICK;
import static io.github.reactorratelimit.netty.Wire.always;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.failure;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static io.github.reactorratelimit.netty.Wire.script;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.AttemptTimeoutException;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RetriesExhaustedException;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.test.Reply;
import java.io.IOException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionProvider;

/** Whether a call is sent again whose connection breaks, hangs or is never made: that depends on how far the call got. */
@ExtendWith(NoLeaks.class)
class BrokenConnectionsTest {

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
}
