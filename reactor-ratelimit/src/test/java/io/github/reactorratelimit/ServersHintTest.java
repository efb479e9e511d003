package io.github.reactorratelimit;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.Response;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.test.subscriber.TestSubscriber;

/** How long a call waits by the server's word, which may be too long, none, or read off a clock that is wrong. */
class ServersHintTest extends ScriptedCalls {

    @Test
    void a_hint_of_zero_is_no_hot_loop() { // B43
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "0")
                .then(429, "Retry-After", "0")
                .then(429, "Retry-After", "0")
                .then(429, "Retry-After", "0")
                .then(429, "Retry-After", "0")
                .then(200);
        assertThat(status(finish(start(limiter, RetryPolicy.standard())))).isEqualTo(200);
        assertThat(server.times())
                .containsExactly(ofMillis(0), ofMillis(10), ofMillis(30), ofMillis(70), ofMillis(150), ofMillis(310));
    }

    @ParameterizedTest
    @CsvSource({
        "Retry-After, 9999999999",
        "Retry-After, 9223372036854775807",
        "Retry-After, 9999999999999999999999999",
        "Retry-After, 'Fri, 31 Dec 9999 23:59:59 GMT'",
        "X-RateLimit-Reset, 9999999999",
        "X-RateLimit-Reset, 99999999999999",
        "X-RateLimit-Reset, 'Fri, 31 Dec 9999 23:59:59 GMT'"
    })
    void a_hint_longer_than_is_obeyed_fails_at_once_and_nothing_overflows(String header, String hint) { // B02
        time.advanceTimeTo(Instant.parse("2026-01-01T00:00:00Z"));
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        server.then(429, header, hint, "X-RateLimit-Remaining", "0").then(200);
        TestSubscriber<Response> result = start(limiter, RetryPolicy.standard());
        assertThat(result.expectTerminalError()).isInstanceOfSatisfying(RateLimitedException.class, e -> {
            assertThat(e.getCause()).isInstanceOf(RefusedResponseException.class);
            assertThat(e.retryAfter()).isGreaterThan(ofDays(365 * 200L));
        });
        assertNobodyWaits(limiter);
        time.advanceTimeBy(ofHours(1));
        assertThat(server.wire()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"9223372036854775807", "9999999999999999999999999"})
    void a_reset_that_is_no_time_at_all_counts_as_none(String reset) { // B02
        time.advanceTimeTo(Instant.parse("2026-01-01T00:00:00Z"));
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        server.then(429, "X-RateLimit-Reset", reset, "X-RateLimit-Remaining", "0")
                .then(200);
        TestSubscriber<Response> result = start(limiter, RetryPolicy.standard());
        time.advanceTimeBy(ofSeconds(1));
        assertThat(status(result)).isEqualTo(200);
        assertThat(server.wire()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "abc", "-5", "NaN", "Infinity", "1e400", "0x10", "1d", "\u0663\u0660"})
    void a_hint_that_is_none_leaves_the_limiters_own_wait_and_the_budget(String hint) { // B14
        RateLimiter limiter = spec().build();
        RetryBudget budget = RetryBudget.of(10, 1, 1);
        server.then(429, "Retry-After", hint)
                .then(429, "Retry-After", hint)
                .then(429, "Retry-After", hint)
                .then(200);
        TestSubscriber<Response> result = start(limiter, policy().budget(budget));
        time.advanceTimeBy(ofSeconds(6));
        assertThat(budget.left()).isEqualTo(10);
        finish(result);
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(1), ofSeconds(3), ofSeconds(7));
        assertThat(status(result)).isEqualTo(200);
    }

    @ParameterizedTest
    @CsvSource({
        "-90, Retry-After, 'Thu, 01 Jan 2026 00:00:30 GMT'",
        "0, Retry-After, 'Thu, 01 Jan 2026 00:00:30 GMT'",
        "90, Retry-After, 'Thu, 01 Jan 2026 00:00:30 GMT'",
        "-90, X-RateLimit-Reset, 1767225630",
        "0, X-RateLimit-Reset, 1767225630",
        "90, X-RateLimit-Reset, 1767225630",
        "90, X-RateLimit-Reset, 2026-01-01T00:00:30Z",
    })
    void a_clock_that_is_wrong_waits_as_long_as_one_that_is_right(
            long skewSeconds, String header, String value) { // B25
        Instant start = Instant.parse("2026-01-01T00:00:00Z").plusSeconds(skewSeconds);
        time.advanceTimeTo(start);
        RateLimiter limiter = spec().build();
        server.then(429, "Date", "Thu, 01 Jan 2026 00:00:00 GMT", header, value, "X-RateLimit-Remaining", "0")
                .then(200);
        TestSubscriber<Response> result = start(limiter, policy());
        // Whole seconds get their margin of one.
        assertThat(limiter.snapshot().root().closedFor()).isEqualTo(ofSeconds(31));
        time.advanceTimeBy(ofSeconds(31));
        assertThat(status(result)).isEqualTo(200);
    }

    @ParameterizedTest
    @CsvSource({
        "Retry-After, 'Wed, 31 Dec 2025 23:59:30 GMT'",
        "X-RateLimit-Reset, 1767225570",
        "X-RateLimit-Reset, 2025-12-31T23:59:30Z",
    })
    void an_instant_in_the_past_is_now_but_for_its_margin_and_the_floor_that_grows(String header, String value) { // B25
        time.advanceTimeTo(Instant.parse("2026-01-01T00:00:00Z"));
        RateLimiter limiter = spec().build();
        server.then(429, header, value, "X-RateLimit-Remaining", "0");
        TestSubscriber<Response> result = start(limiter, policy());
        time.advanceTimeBy(ofHours(1));
        assertThat(result.expectTerminalError()).isInstanceOf(RetriesExhaustedException.class);
        List<Duration> times = server.times();
        assertThat(times).hasSize(21);
        for (int i = 1; i < times.size(); i++) {
            long floor = 10L << (i - 1);
            assertThat(times.get(i).minus(times.get(i - 1)))
                    .as("wait %s", i)
                    .isEqualTo(ofMillis(Math.min(300_000, Math.max(1_000, floor))));
        }
    }

    @Test
    void only_the_servers_own_words_can_be_too_long_to_wait_for() {
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "1").then(200);
        finish(start(limiter, policy()));
        limiter.pause(Demand.one(), ofMinutes(10));
        TestSubscriber<Response> patient = start(limiter, policy());
        time.advanceTimeBy(ofMinutes(10));
        assertThat(status(patient)).isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"9999999999", "9223372036854775807", "9999999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"
            })
    void a_call_that_obeys_any_hint_waits_as_long_as_it_takes(String hint) { // B02
        time.advanceTimeTo(Instant.parse("2026-01-01T00:00:00Z"));
        RateLimiter limiter =
                spec().maxServerDelay(Duration.ofSeconds(Long.MAX_VALUE)).build();
        server.then(429, "Retry-After", hint).then(200);
        TestSubscriber<Response> result = start(limiter, RetryPolicy.standard());
        time.advanceTimeBy(ofDays(365));
        assertThat(server.wire()).isEqualTo(1);
        assertThat(result.isTerminated()).isFalse();
        assertThat(limiter.snapshot().waiting()).isEqualTo(1);
    }

    @Test
    void a_hint_longer_than_is_obeyed_also_fails_those_who_come_to_the_closed_gate() { // B42
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "121").then(200);
        assertThat(start(limiter, policy()).expectTerminalError()).isInstanceOf(RateLimitedException.class);
        time.advanceTimeBy(ofMillis(500));
        assertThat(start(limiter, policy()).expectTerminalError())
                .isInstanceOfSatisfying(RateLimitedException.class, e -> {
                    assertThat(e.retryAfter()).isEqualTo(ofMillis(120_500));
                    assertThat(e.mayHaveBeenSent()).isFalse();
                });
        time.advanceTimeBy(ofMillis(500));
        TestSubscriber<Response> patient = start(limiter, policy());
        time.advanceTimeBy(ofMinutes(2));
        assertThat(status(patient)).isEqualTo(200);
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(121));
    }
}
