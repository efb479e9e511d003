package io.github.reactorratelimit;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.Response;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/** When a call is tried again, what it holds until then, and whom it stops. */
class RetryWaitTest extends ScriptedCalls {

    // ------------------------------------------------------------------------------- the permit during a backoff

    @Test
    void a_call_that_backs_off_holds_no_permit() { // B01
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        server.then(500).then(500).then(200);
        TestSubscriber<Response> a = start(limiter, policy());
        time.advanceTimeBy(ofSeconds(1));
        RetryScript other = new RetryScript(time).then(200);
        TestSubscriber<Response> b = start(other, limiter, policy(), GET);
        assertThat(other.times()).containsExactly(ofSeconds(1));
        assertThat(status(b)).isEqualTo(200);
        time.advanceTimeBy(ofSeconds(4));
        assertThat(available(limiter)).isEqualTo(1);
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(10), ofSeconds(20));
        assertThat(server.mostRunning()).isEqualTo(1);
        assertThat(status(a)).isEqualTo(200);
        assertThat(available(limiter)).isEqualTo(1);
    }

    @Test
    void a_call_to_another_endpoint_goes_on_while_one_pauses_after_a_503() { // B01
        RateLimiter limiter =
                spec(Limit.inFlight(1)).scope(Scope.by("endpoint")).build();
        server.then(503).then(503).then(200);
        TestSubscriber<Response> a = start(server, limiter, policy(), GET.and("endpoint", "/a"));
        time.advanceTimeBy(ofSeconds(1));
        RetryScript other = new RetryScript(time).then(200);
        TestSubscriber<Response> b = start(other, limiter, policy(), GET.and("endpoint", "/b"));
        assertThat(other.times()).containsExactly(ofSeconds(1));
        assertThat(status(b)).isEqualTo(200);
        time.advanceTimeBy(ofSeconds(4));
        assertThat(available(limiter)).isEqualTo(1);
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(10), ofSeconds(20));
        assertThat(status(a)).isEqualTo(200);
        assertThat(available(limiter)).isEqualTo(1);
    }

    @Test
    void each_attempt_costs_a_permit_of_its_own() { // B01
        RateLimiter limiter = spec(Limit.bucket(10, 1, ofDays(1))).build();
        server.then(500)
                .then(429, "Retry-After", "1")
                .then("refused", Failure.notSent())
                .then(200);
        assertThat(status(finish(start(limiter, policy())))).isEqualTo(200);
        assertThat(server.wire()).isEqualTo(4);
        assertThat(available(limiter)).isEqualTo(6);
    }

    @Test
    void a_refused_connection_is_charged_like_any_attempt() { // B63
        RateLimiter limiter = spec(Limit.bucket(10, 1, ofDays(1))).build();
        server.then("refused", Failure.notSent());
        finish(start(limiter, RetryPolicy.none()));
        assertThat(available(limiter)).isEqualTo(9);
    }

    // ---------------------------------------------------------------------------------------------- backing off

    @Test
    void the_backoff_doubles_from_attempt_to_attempt() {
        RateLimiter limiter = spec().build();
        server.then(500);
        RetryPolicy doubling = RetryPolicy.attempts(5)
                .backoff(Backoff.exponential(ofMillis(500), ofSeconds(3)).jitter(0));
        finish(start(limiter, doubling));
        assertThat(server.times())
                .containsExactly(ofMillis(0), ofMillis(500), ofMillis(1500), ofMillis(3500), ofMillis(6500));
    }

    @Test
    void by_default_a_call_is_tried_four_times_with_full_jitter_from_100_ms() {
        RateLimiter limiter = spec().build();
        server.then(502);
        finish(start(limiter, RetryPolicy.standard()));
        assertThat(server.times()).containsExactly(ofMillis(0), ofMillis(50), ofMillis(150), ofMillis(350));
    }

    @Test
    void by_default_the_backoff_after_a_503_begins_with_500_ms() {
        RateLimiter limiter = spec().build();
        server.then(503);
        finish(start(limiter, RetryPolicy.standard()));
        assertThat(server.times()).containsExactly(ofMillis(0), ofMillis(250), ofMillis(750), ofMillis(1750));
    }

    @Test
    void a_503_without_a_hint_stops_the_endpoint_for_everybody_for_one_backoff() {
        RateLimiter limiter = spec().scope(Scope.by("endpoint")).build();
        server.then(503).then(200);
        start(server, limiter, policy(), GET.and("endpoint", "/a"));
        time.advanceTimeBy(ofSeconds(1));
        RetryScript behind = new RetryScript(time).then(200);
        RetryScript elsewhere = new RetryScript(time).then(200);
        start(behind, limiter, policy(), GET.and("endpoint", "/a"));
        start(elsewhere, limiter, policy(), GET.and("endpoint", "/b"));
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(10));
        assertThat(behind.times()).containsExactly(ofSeconds(10));
        assertThat(elsewhere.times()).containsExactly(ofSeconds(1));
    }

    @Test
    void a_503_stops_the_endpoint_even_if_the_call_itself_is_not_tried_again() {
        RateLimiter limiter = spec().build();
        server.then(503);
        start(server, limiter, policy(), Demand.of("method", "POST"));
        RetryScript behind = new RetryScript(time).then(200);
        start(behind, limiter, policy(), GET);
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.wire()).isEqualTo(1);
        assertThat(behind.times()).containsExactly(ofSeconds(10));
    }

    @Test
    void a_call_that_got_a_503_goes_first_when_the_endpoint_goes_on() {
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        server.then(503).then(Mono.just(Response.of(200)).delayElement(ofSeconds(1), time));
        start(limiter, policy());
        RetryScript behind = new RetryScript(time).then(200);
        start(behind, limiter, policy(), GET);
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(10));
        assertThat(behind.times()).containsExactly(ofSeconds(11));
    }

    @Test
    void a_call_that_got_a_503_waits_for_its_endpoint_and_for_nothing_else() {
        RateLimiter limiter = spec().build();
        server.then(503).then(200);
        start(limiter, policy());
        assertThat(limiter.snapshot().waiting()).isEqualTo(1);
        time.advanceTimeBy(ofSeconds(3));
        limiter.resume(Demand.one());
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(3));
    }

    @Test
    void a_503_is_no_wave_of_refusals() {
        RateLimiter limiter = spec().build();
        server.then(503).then(503).then(200);
        start(limiter, policy());
        time.advanceTimeBy(ofSeconds(15));
        assertThat(limiter.snapshot().root().waves()).isZero();
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(10), ofSeconds(20));
    }

    @Test
    void a_500_stops_nobody_else() {
        RateLimiter limiter = spec().build();
        server.then(500).then(200);
        start(limiter, policy());
        RetryScript behind = new RetryScript(time).then(200);
        start(behind, limiter, policy(), GET);
        assertThat(behind.times()).containsExactly(ofSeconds(0));
        assertThat(limiter.snapshot().root().closedFor()).isZero();
    }

    @Test
    void hints_of_zero_for_ever_end_after_the_refusals_a_call_bears() { // B43
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "0");
        TestSubscriber<Response> result = start(limiter, RetryPolicy.standard());
        time.advanceTimeBy(ofHours(10));
        assertThat(result.expectTerminalError()).isInstanceOf(RetriesExhaustedException.class);
        assertThat(server.wire()).isEqualTo(21);
    }
}
