package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.failure;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.TerminalThrottleException;
import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.ServiceRules;
import io.github.reactorratelimit.test.VirtualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;

/**
 * What GitHub and OpenAI answer to calls that are too many, sent by a real server to a real client. The limiter alone lives
 * in virtual time, so that its minutes pass at once.
 */
@ExtendWith(NoLeaks.class)
class VendorsOverTheWireTest {

    private static final Instant NOON = Instant.parse("2026-03-04T12:00:00Z");
    private static final String HTTP_NOON = "Wed, 04 Mar 2026 12:00:00 GMT";

    private static final Reply SECONDARY = gitHub(403, 4_000, 3_000)
            .body("{\"message\":\"You have exceeded a secondary rate limit. Please wait a few minutes.\"}");
    private static final Reply DONE = Reply.ok().body("done");

    private final VirtualTime time = VirtualTime.startingAt(NOON);

    private static Reply gitHub(int status, int remaining, int resetInSeconds) {
        return Reply.status(status)
                .header("Date", HTTP_NOON)
                .header("X-RateLimit-Limit", "5000")
                .header("X-RateLimit-Remaining", "" + remaining)
                .header(
                        "X-RateLimit-Reset",
                        "" + NOON.plusSeconds(resetInSeconds).getEpochSecond())
                .header("X-RateLimit-Resource", status == 200 ? "graphql" : "core");
    }

    private static Reply openAi(int requests, String requestsReset, int tokens, String tokensReset) {
        return Reply.status(429)
                .header("x-ratelimit-limit-requests", "500")
                .header("x-ratelimit-remaining-requests", "" + requests)
                .header("x-ratelimit-reset-requests", requestsReset)
                .header("x-ratelimit-limit-tokens", "40000")
                .header("x-ratelimit-remaining-tokens", "" + tokens)
                .header("x-ratelimit-reset-tokens", tokensReset)
                .body("{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Rate limit reached\"}}");
    }

    private Wire wire(Dialect dialect, Reply... replies) {
        RateLimiter api = time.limiter(RateLimiter.named("vendor")
                .limit(Limit.inFlight(Wire.IN_FLIGHT))
                .jitter(0)
                .dialect(dialect));
        return Wire.to(ServiceRules.create().script("/x", replies), api, calls -> calls);
    }

    private static Duration closedFor(Wire wire) {
        return wire.api.snapshot().root().closedFor();
    }

    /** The refused call stands in line again; it goes out when the wait is over and not a nanosecond before. */
    private void waits(Wire wire, Duration wait) {
        Wire.await(() -> wire.api.snapshot().waiting() == 1);
        int sent = wire.wire();
        assertThat(closedFor(wire)).isEqualTo(wait);
        time.advance(wait.minusNanos(1));
        assertThat(wire.api.snapshot().waiting()).isEqualTo(1);
        assertThat(wire.wire()).isEqualTo(sent);
        time.advance(ofNanos(1));
        Wire.await(() -> wire.wire() > sent);
    }

    private static void ends(CompletableFuture<String> call, String expected) {
        Wire.await(call::isDone);
        assertThat(call).isCompletedWithValue(expected);
    }

    @Test // B39
    void a_secondary_limit_of_github_without_a_hint_is_a_minute_and_then_two() {
        try (Wire wire = wire(Dialects.gitHub(), SECONDARY, SECONDARY, DONE)) {
            CompletableFuture<String> call = answer(wire.post()).toFuture();

            waits(wire, ofMinutes(1));
            waits(wire, ofMinutes(2));

            ends(call, "200 done");
            assertThat(wire.log().entries())
                    .extracting(RequestLog.Entry::status)
                    .containsExactly(403, 403, 200);
            wire.assertIdle();
        }
    }

    @Test // B39
    void a_secondary_limit_of_github_with_a_hint_is_that_long_each_time() {
        Reply hinted = SECONDARY.header("Retry-After", "30");
        try (Wire wire = wire(Dialects.gitHub(), hinted, hinted, DONE)) {
            CompletableFuture<String> call = answer(wire.get()).toFuture();

            waits(wire, ofSeconds(30));
            waits(wire, ofSeconds(30));

            ends(call, "200 done");
            wire.assertIdle();
        }
    }

    @Test // B39
    void an_exhausted_quota_of_github_is_waited_for_until_its_reset_and_a_second_more() {
        Reply empty = gitHub(403, 0, 90).body("{\"message\":\"API rate limit exceeded for user ID 1.\"}");
        try (Wire wire = wire(Dialects.gitHub(), empty, DONE)) {
            CompletableFuture<String> call = answer(wire.post()).toFuture();

            waits(wire, ofSeconds(91));

            ends(call, "200 done");
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test // B39
    void a_plain_403_of_github_is_handed_on_at_once_with_its_whole_body_and_closes_nothing() {
        String why =
                "{\"message\":\"Resource not accessible by integration\",\"more\":\"" + "x".repeat(100_000) + "\"}";
        Reply forbidden = gitHub(403, 4_000, 3_000).body(why);
        try (Wire wire = wire(Dialects.gitHub(), forbidden, DONE)) {
            assertThat(outcome(wire.get())).isEqualTo("403 " + why);

            assertThat(wire.wire()).isEqualTo(1);
            assertThat(closedFor(wire)).isZero();
            wire.assertIdle();
            assertThat(outcome(wire.get())).isEqualTo("200 done");
        }
    }

    @Test
    void a_graphql_answer_of_200_that_says_rate_limited_is_waited_for_and_the_call_sent_again() {
        String data = "{\"data\":{\"viewer\":{\"login\":\"x\"},\"rateLimit\":{\"cost\":1}}}";
        Reply limited = gitHub(200, 0, 45)
                .body("{\"errors\":[{\"type\":\"RATE_LIMITED\",\"message\":\"API rate limit exceeded\"}]}");
        Reply answered = gitHub(200, 4_999, 45).body(data);
        try (Wire wire = wire(Dialects.gitHub(), limited, answered)) {
            CompletableFuture<String> call = answer(wire.post()).toFuture();

            waits(wire, ofSeconds(46));

            ends(call, "200 " + data);
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().body())
                    .containsExactly("order", "order");
            wire.assertIdle();
        }
    }

    @Test
    void a_success_of_github_whose_text_speaks_of_a_limit_is_sent_once_and_handed_on() {
        String issue = "{\"message\":\"You have exceeded a secondary rate limit\",\"errors\":[]}";
        try (Wire wire = wire(Dialects.gitHub(), gitHub(200, 0, 45).body(issue), DONE)) {
            assertThat(outcome(wire.post())).isEqualTo("200 " + issue);

            assertThat(wire.wire()).isEqualTo(1);
            assertThat(closedFor(wire)).isEqualTo(ofSeconds(46));
            wire.assertIdle();
        }
    }

    @Test
    void of_openais_two_budgets_the_one_that_is_empty_decides_though_the_other_has_the_longer_reset() {
        try (Wire wire = wire(Dialects.openAi(), openAi(499, "1m26.4s", 0, "6.5s"), DONE)) {
            CompletableFuture<String> call = answer(wire.post()).toFuture();

            waits(wire, ofMillis(6_500));

            ends(call, "200 done");
            wire.assertIdle();
        }
    }

    @Test
    void a_short_reset_of_openais_requests_does_not_mask_the_longer_one_of_its_tokens() {
        try (Wire wire = wire(Dialects.openAi(), openAi(0, "120ms", 0, "1m0s"), DONE)) {
            CompletableFuture<String> call = answer(wire.post()).toFuture();

            waits(wire, ofMinutes(1));

            ends(call, "200 done");
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void a_quota_that_no_wait_refills_fails_at_once_with_the_reason_and_stops_nobody_else() {
        Reply spent = Reply.status(429)
                .header("Retry-After", "20")
                .body("{\"error\":{\"type\":\"insufficient_quota\",\"code\":\"insufficient_quota\"}}");
        try (Wire wire = wire(Dialects.openAi(), spent, DONE)) {
            assertThat(failure(answer(wire.post())))
                    .isInstanceOfSatisfying(TerminalThrottleException.class, terminal -> {
                        assertThat(terminal.reason()).isEqualTo("insufficient_quota");
                        assertThat(terminal.status()).isEqualTo(429);
                        assertThat(terminal.mayHaveBeenSent()).isTrue();
                    });

            assertThat(wire.wire()).isEqualTo(1);
            assertThat(closedFor(wire)).isZero();
            wire.assertIdle();
            assertThat(outcome(wire.post())).isEqualTo("200 done");
        }
    }

    /** The head, and nothing after it for as long as anybody would wait. */
    private static Reply stalling(Reply reply, String text) {
        return reply.body(text).slowly(2, ofMinutes(10));
    }

    private Wire patient(Dialect dialect, Reply... replies) {
        RateLimiter api = time.limiter(RateLimiter.named("vendor")
                .limit(Limit.inFlight(Wire.IN_FLIGHT))
                .jitter(0)
                .dialect(dialect));
        return Wire.to(
                ServiceRules.create().script("/x", replies),
                api,
                calls -> calls.retry(RetryPolicy.attempts(3).noTimeout()));
    }

    /** Lets the limiter's time pass in small steps until something is seen. */
    private void passUntil(BooleanSupplier seen) {
        Wire.await(() -> {
            time.advance(ofMillis(50));
            return seen.getAsBoolean();
        });
    }

    private static Stream<Arguments> stallingRefusals() {
        return Stream.of(
                Arguments.of(Dialects.discord(), Reply.status(429).header("Retry-After", "60")),
                Arguments.of(Dialects.openAi(), Reply.status(429).header("Retry-After", "60")),
                Arguments.of(Dialects.anthropic(), Reply.status(429)),
                Arguments.of(Dialects.gitHub(), Reply.status(429).header("Retry-After", "60")));
    }

    @ParameterizedTest
    @MethodSource("stallingRefusals")
    void a_refusal_whose_body_stalls_is_heard_by_its_head(Dialect dialect, Reply head) {
        try (Wire wire = patient(dialect, stalling(head, "{\"message\":\"slow down\"}"), DONE)) {
            CompletableFuture<String> call = answer(wire.post()).toFuture();

            passUntil(() -> !closedFor(wire).isZero());
            passUntil(call::isDone);

            ends(call, "200 done");
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @ParameterizedTest
    @CsvSource({"403, core, 9", "200, graphql, 9", "200, core, 0"})
    void an_answer_whose_body_stalls_is_the_callers_all_the_same(int status, String resource, String remaining) {
        Reply head = Reply.status(status)
                .header("X-RateLimit-Resource", resource)
                .header("X-RateLimit-Remaining", remaining)
                .header("X-RateLimit-Limit", "5000");
        try (Wire wire = patient(Dialects.gitHub(), stalling(head, "{}"), DONE)) {
            CompletableFuture<Integer> call = wire.get()
                    .response((response, content) -> Mono.just(response.status().code()))
                    .next()
                    .toFuture();

            passUntil(call::isDone);

            assertThat(call).isCompletedWithValue(status);
            assertThat(wire.wire()).isEqualTo(1);
        }
    }
}
