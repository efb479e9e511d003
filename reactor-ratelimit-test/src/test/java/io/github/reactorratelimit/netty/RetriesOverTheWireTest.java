package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.QUICK;
import static io.github.reactorratelimit.netty.Wire.always;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.failure;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static io.github.reactorratelimit.netty.Wire.script;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetriesExhaustedException;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** Which responses have a call sent again and which do not, counted at the server. */
@ExtendWith(NoLeaks.class)
class RetriesOverTheWireTest {

    private static final Reply REFUSAL = Reply.status(429).header("Retry-After", "0");

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
