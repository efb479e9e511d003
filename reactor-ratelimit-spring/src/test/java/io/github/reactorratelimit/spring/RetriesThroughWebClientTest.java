package io.github.reactorratelimit.spring;

import static io.github.reactorratelimit.spring.Wire.QUICK;
import static io.github.reactorratelimit.spring.Wire.REFUSAL;
import static io.github.reactorratelimit.spring.Wire.answer;
import static io.github.reactorratelimit.spring.Wire.failure;
import static io.github.reactorratelimit.spring.Wire.outcome;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.AttemptTimeoutException;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSnapshot;
import io.github.reactorratelimit.RetriesExhaustedException;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import org.springframework.web.reactive.function.client.WebClientResponseException;
import reactor.core.publisher.Mono;

/** What is tried again on the way through a WebClient, and what never is. */
@ExtendWith(NoLeaks.class)
class RetriesThroughWebClientTest {

    @Test // B27
    void a_refused_post_is_sent_again() {
        try (Wire wire = Wire.script(REFUSAL, Reply.status(201).body("made"))) {
            assertThat(outcome(wire.post())).isEqualTo("201 made");
            assertThat(wire.wire()).isEqualTo(2);
        }
    }

    @Test // B27
    void a_post_that_breaks_off_is_not_sent_again_and_tells_that_it_may_have_arrived() {
        try (Wire wire = Wire.script(Reply.reset(), Reply.ok())) {
            Throwable failure = failure(answer(wire.post()));

            assertThat(failure).isInstanceOf(WebClientRequestException.class);
            assertThat(RateLimitException.mayHaveBeenSent(failure)).isTrue();
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @Test // B27
    void a_get_that_breaks_off_is_sent_again() {
        try (Wire wire = Wire.script(Reply.reset(), Reply.close(), Reply.ok())) {
            assertThat(outcome(wire.get())).startsWith("200");
            assertThat(wire.wire()).isEqualTo(3);
            assertThat(wire.taken()).isEqualTo(3);
        }
    }

    @Test // B27
    void an_idempotency_key_or_the_callers_word_makes_a_post_repeatable() {
        try (Wire wire = Wire.script(Reply.reset(), Reply.ok(), Reply.reset(), Reply.ok())) {
            assertThat(outcome(wire.client
                            .post()
                            .uri("/x")
                            .header("Idempotency-Key", "k1")
                            .bodyValue("order")))
                    .startsWith("200");
            assertThat(outcome(wire.client
                            .post()
                            .uri("/x")
                            .attributes(RateLimitFilter.idempotent(true))
                            .bodyValue("order")))
                    .startsWith("200");
            assertThat(wire.wire()).isEqualTo(4);
        }
    }

    @Test // B27
    void a_503_without_a_hint_is_not_repeated_for_a_post() {
        Reply busy = Reply.status(503).body("busy");
        try (Wire wire = Wire.script(busy, busy.header("Retry-After", "0"), Reply.ok())) {
            assertThat(outcome(wire.post())).isEqualTo("503 busy");
            assertThat(outcome(wire.post())).startsWith("200");
            assertThat(wire.wire()).isEqualTo(3);
        }
    }

    @ParameterizedTest // B60
    @ValueSource(ints = {400, 401, 403, 404, 407, 501})
    void other_statuses_reach_the_caller_at_once_and_close_nothing(int status) {
        Reply reply = Reply.status(status).body("why");
        boolean hinted = status == 401 || status == 407 || status == 501;
        try (Wire wire = Wire.always(hinted ? reply.header("Retry-After", "100") : reply)) {
            assertThat(outcome(wire.get())).isEqualTo(status + " why");
            assertThat(outcome(wire.get())).isEqualTo(status + " why");
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(wire.api.snapshot().root().closedFor()).isZero();
            wire.assertIdle();
        }
    }

    @ParameterizedTest // B60
    @ValueSource(ints = {408, 425, 429, 500, 502, 503, 504})
    void these_are_tried_again_for_a_get(int status) {
        Reply reply = status == 429 ? REFUSAL : Reply.status(status);
        try (Wire wire = Wire.script(reply, Reply.ok())) {
            assertThat(outcome(wire.get())).startsWith("200");
            assertThat(wire.wire()).isEqualTo(2);
        }
    }

    @Test // B29
    void a_server_that_resets_everything_sees_exactly_the_attempts() {
        try (Wire wire = Wire.always(Reply.reset())) {
            assertThat(failure(answer(wire.get())))
                    .isInstanceOfSatisfying(RetriesExhaustedException.class, exhausted -> {
                        assertThat(exhausted.attempts()).isEqualTo(3);
                        assertThat(exhausted.getCause()).isInstanceOf(WebClientRequestException.class);
                        assertThat(exhausted.mayHaveBeenSent()).isTrue();
                    });
            assertThat(wire.wire()).isEqualTo(3);
            assertThat(wire.taken()).isEqualTo(3);
            wire.assertIdle();
        }
    }

    @Test
    void a_refused_connection_is_tried_again_for_a_post_and_certainly_not_sent() {
        try (Wire wire = Wire.always(Reply.ok())) {
            wire.server.dispose();
            assertThat(failure(answer(wire.post())))
                    .isInstanceOfSatisfying(RetriesExhaustedException.class, exhausted -> {
                        assertThat(exhausted.attempts()).isEqualTo(3);
                        assertThat(exhausted.mayHaveBeenSent()).isFalse();
                    });
            wire.assertIdle();
        }
    }

    @Test
    void a_hanging_server_ends_in_the_attempt_timeout_and_everything_is_given_back() {
        RetryPolicy once = RetryPolicy.attempts(1).attemptTimeout(Duration.ofMillis(200));
        ServiceRules rules = ServiceRules.create().reply("/x", Reply.hang());
        try (Wire wire = Wire.to(rules, Wire.limiter(), calls -> calls.retry(once))) {
            Throwable failure = failure(answer(wire.post()));

            assertThat(failure).isInstanceOf(AttemptTimeoutException.class);
            assertThat(RateLimitException.mayHaveBeenSent(failure)).isTrue();
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
            Wire.await(() -> wire.server.openConnections() == 0);
        }
    }

    @Test // B51
    void refusals_without_end_exhaust_the_call_and_tell_what_happened() {
        ServiceRules rules = ServiceRules.create().reply("/x", REFUSAL);
        try (Wire wire = Wire.to(
                rules,
                Wire.limiter(),
                calls -> calls.retry(RetryPolicy.standard().refusals(2)))) {
            assertThat(failure(answer(wire.get())))
                    .isInstanceOfSatisfying(RetriesExhaustedException.class, exhausted -> {
                        assertThat(exhausted.attempts()).isEqualTo(3);
                        assertThat(exhausted.status()).isEqualTo(429);
                        assertThat(exhausted.lastHint()).isZero();
                        assertThat(exhausted.getCause()).isNotNull();
                    });
            assertThat(wire.wire()).isEqualTo(3);
        }
    }

    @Test // B29
    void of_two_layers_the_filter_retries_and_the_operator_around_it_only_limits() {
        RateLimiter around = RateLimiter.of(Limit.total(100));
        try (Wire wire = Wire.script(REFUSAL, Reply.reset(), Reply.ok())) {
            Mono<String> call = wire.get()
                    .retrieve()
                    .bodyToMono(String.class)
                    .transform(around.calls()
                            .failures(RateLimitFilter.failures())
                            .idempotent(true)
                            .limit());
            assertThat(call.block(Wire.PATIENCE)).isNotNull();
            assertThat(wire.wire()).isEqualTo(3);
            assertThat(around.snapshot().root().limits().get(0).available()).isEqualTo(99);
            assertThat(around.snapshot().root().closedFor()).isZero();
        }
    }

    @Test
    void of_two_filters_the_last_one_retries_and_the_one_before_it_only_limits() {
        RateLimiter before = RateLimiter.of(Limit.total(100), Limit.inFlight(5));
        try (Wire wire = Wire.script(REFUSAL, Reply.reset(), Reply.ok())) {
            WebClient client = wire.plain()
                    .filter(RateLimitFilter.of(before))
                    .filter(wire.filter)
                    .build();
            assertThat(outcome(client.get().uri("/x"))).startsWith("200");
            assertThat(wire.wire()).isEqualTo(3);
            assertThat(wire.taken()).isEqualTo(3);
            assertThat(before.snapshot().root().limits())
                    .extracting(RateLimiterSnapshot.LimitState::available)
                    .containsExactly(99L, 5L);
            assertThat(before.snapshot().root().closedFor()).isZero();
            wire.assertIdle();
        }
    }

    @Test // B41
    void every_attempt_sees_the_context_of_its_caller() {
        List<Object> seen = new CopyOnWriteArrayList<>();
        try (Wire wire = Wire.script(REFUSAL, REFUSAL, Reply.ok())) {
            WebClient client = wire.plain()
                    .filter(wire.filter)
                    .filter((request, next) -> Mono.deferContextual(context -> {
                        seen.add(context.get("who"));
                        return next.exchange(request);
                    }))
                    .build();
            answer(client.get().uri("/x"))
                    .contextWrite(context -> context.put("who", "ada"))
                    .block(Wire.PATIENCE);
        }
        assertThat(seen).containsExactly("ada", "ada", "ada");
    }

    @Test
    void a_response_that_a_filter_behind_ours_made_an_exception_of_is_still_a_response() {
        try (Wire wire = Wire.script(REFUSAL, Reply.ok())) {
            WebClient client = wire.plain()
                    .filter(wire.filter)
                    .filter(ExchangeFilterFunction.ofResponseProcessor(
                            response -> response.statusCode().isError() ? response.createError() : Mono.just(response)))
                    .build();
            assertThat(answer(client.post().uri("/x").bodyValue("order")).block(Wire.PATIENCE))
                    .startsWith("200");
            assertThat(wire.wire()).isEqualTo(2);
        }
    }

    @Test
    void the_exception_of_another_calls_answer_is_no_answer_of_ours() {
        ServiceRules rules = ServiceRules.create().reply("/x", Reply.ok()).reply("/other", REFUSAL);
        try (Wire wire = Wire.to(rules)) {
            Mono<String> other =
                    wire.plain().build().get().uri("/other").retrieve().bodyToMono(String.class);
            WebClient client = wire.plain()
                    .filter(wire.filter)
                    .filter((request, next) -> other.then(next.exchange(request)))
                    .build();
            assertThat(failure(answer(client.get().uri("/x")))).isInstanceOf(WebClientResponseException.class);
            assertThat(wire.log().count("/x")).isZero();
            assertThat(wire.wire()).isEqualTo(1);
        }
    }

    @Test
    void calls_without_the_filter_are_understood_through_the_reader() {
        try (Wire wire = Wire.script(REFUSAL, Reply.reset(), Reply.ok().body("done"))) {
            Mono<String> plain = wire.plain().build().get().uri("/x").retrieve().bodyToMono(String.class);
            Mono<String> call = plain.transform(wire.api
                    .calls()
                    .retry(QUICK)
                    .idempotent(true)
                    .failures(RateLimitFilter.failures())
                    .limit());
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("done");
            assertThat(wire.wire()).isEqualTo(3);
            assertThat(wire.taken()).isEqualTo(3);
        }
    }
}
