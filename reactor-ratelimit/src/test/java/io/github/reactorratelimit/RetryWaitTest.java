package io.github.reactorratelimit;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.ClientError;
import io.github.reactorratelimit.RetryScript.Response;
import io.github.reactorratelimit.signal.Headers;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** When a call is tried again, how long it goes on, and who stands where meanwhile. */
class RetryWaitTest {

    private static final Demand GET = Demand.of("method", "GET");
    private static final Backoff EVERY_TEN =
            Backoff.exponential(ofSeconds(10), ofSeconds(10)).jitter(0);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RetryScript server = new RetryScript(time);

    private RateLimiterSpec spec(Limit... limits) {
        return RateLimiter.named("api")
                .limit(limits)
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5);
    }

    private static RetryPolicy policy() {
        return RetryPolicy.standard().backoff(EVERY_TEN);
    }

    private TestSubscriber<Response> start(RateLimiter limiter, RetryPolicy policy) {
        return start(server, limiter, policy, GET);
    }

    private static TestSubscriber<Response> start(
            RetryScript server, RateLimiter limiter, RetryPolicy policy, Demand demand) {
        return server.call()
                .transform(server.on(limiter.calls()).retry(policy).<Response>limit(demand))
                .subscribeWith(TestSubscriber.create());
    }

    private static int status(TestSubscriber<Response> result) {
        assertThat(result.getReceivedOnNext()).hasSize(1);
        return result.getReceivedOnNext().get(0).status();
    }

    private static long available(RateLimiter limiter) {
        return limiter.snapshot().root().limits().get(0).available();
    }

    private static void assertNobodyWaits(RateLimiter limiter) {
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().timers()).isZero();
    }

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

    private TestSubscriber<Response> finish(TestSubscriber<Response> result) {
        time.advanceTimeBy(ofMinutes(5));
        assertThat(result.isTerminated()).isTrue();
        return result;
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

    @Test
    void hints_of_zero_for_ever_end_after_the_refusals_a_call_bears() { // B43
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "0");
        TestSubscriber<Response> result = start(limiter, RetryPolicy.standard());
        time.advanceTimeBy(ofHours(10));
        assertThat(result.expectTerminalError()).isInstanceOf(RetriesExhaustedException.class);
        assertThat(server.wire()).isEqualTo(21);
    }

    // ---------------------------------------------------------------------------------------- refusals and attempts

    @Test
    void refusals_do_not_count_as_attempts() {
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "1")
                .then(429, "Retry-After", "1")
                .then(500)
                .then(429, "Retry-After", "1")
                .then(429, "Retry-After", "1")
                .then(200);
        assertThat(status(finish(start(limiter, RetryPolicy.attempts(2).backoff(EVERY_TEN)))))
                .isEqualTo(200);
        assertThat(server.times())
                .containsExactly(ofSeconds(0), ofSeconds(1), ofSeconds(2), ofSeconds(12), ofSeconds(13), ofSeconds(14));
    }

    @Test
    void a_call_that_is_tried_once_still_waits_out_refusals() {
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "1").then(500);
        assertThat(finish(start(limiter, RetryPolicy.attempts(1))).expectTerminalError())
                .isInstanceOfSatisfying(
                        RetriesExhaustedException.class,
                        e -> assertThat(e.status()).isEqualTo(500));
        assertThat(server.wire()).isEqualTo(2);
    }

    @Test
    void by_default_a_call_bears_twenty_refusals() {
        RateLimiter limiter = spec().build();
        for (int i = 0; i < 20; i++) {
            server.then(429, "Retry-After", "1");
        }
        server.then(200);
        assertThat(status(finish(start(limiter, RetryPolicy.standard())))).isEqualTo(200);
        assertThat(server.wire()).isEqualTo(21);
    }

    @Test
    void one_refusal_too_many_ends_a_call() {
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "1");
        assertThat(finish(start(limiter, RetryPolicy.standard().refusals(3))).expectTerminalError())
                .isInstanceOfSatisfying(RetriesExhaustedException.class, e -> {
                    assertThat(e.attempts()).isEqualTo(4);
                    assertThat(e.status()).isEqualTo(429);
                });
        assertThat(server.wire()).isEqualTo(4);
    }

    @Test
    void the_first_in_line_behind_a_gate_does_not_die_for_the_others() {
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        List<RetryScript> scripts = new ArrayList<>();
        List<TestSubscriber<Response>> results = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            RetryScript script = new RetryScript(time);
            if (i == 0) {
                for (int n = 0; n < 10; n++) {
                    script.then(429, "Retry-After", "1");
                }
            }
            scripts.add(script.then(200));
            results.add(start(script, limiter, RetryPolicy.attempts(3), GET));
        }
        time.advanceTimeBy(ofMinutes(1));
        assertThat(results).allSatisfy(result -> assertThat(status(result)).isEqualTo(200));
        assertThat(scripts.stream().map(RetryScript::wire)).containsExactly(11, 1, 1);
    }

    @Test
    void a_retry_stands_at_the_front_of_its_line() {
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        server.then(429, "Retry-After", "5").then(200);
        TestSubscriber<Response> first = start(limiter, policy());
        List<RetryScript> behind = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            RetryScript script =
                    new RetryScript(time).then(Mono.just(Response.of(200)).delayElement(ofSeconds(1), time));
            behind.add(script);
            start(script, limiter, policy(), GET);
        }
        time.advanceTimeBy(ofMinutes(1));
        assertThat(status(first)).isEqualTo(200);
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(5));
        assertThat(behind.stream().flatMap(script -> script.times().stream()))
                .containsExactly(ofSeconds(5), ofSeconds(6), ofSeconds(7));
    }

    @Test
    void a_retry_after_a_backoff_stands_before_those_who_waited_meanwhile() {
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        server.then(500).then(200);
        start(limiter, policy());
        List<RetryScript> behind = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            RetryScript script =
                    new RetryScript(time).then(Mono.just(Response.of(200)).delayElement(ofSeconds(8), time));
            behind.add(script);
            start(script, limiter, policy(), GET);
        }
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(16));
        assertThat(behind.stream().flatMap(script -> script.times().stream()))
                .containsExactly(ofSeconds(0), ofSeconds(8), ofSeconds(16));
    }

    @Test
    void a_retry_waits_longer_than_a_new_call_would() {
        RateLimiter limiter = spec(Limit.inFlight(1)).maxPending(1, 1).build();
        server.then(429, "Retry-After", "60").then(200);
        TestSubscriber<Response> first = start(server, limiter, policy(), GET.maxWait(ofSeconds(5)));
        time.advanceTimeBy(ofSeconds(60));
        assertThat(status(first)).isEqualTo(200);
    }

    // -------------------------------------------------------------------------------------------- the retry budget

    @Test
    void a_retry_costs_budget_and_a_success_returns_some() { // B54
        RateLimiter limiter = spec().build();
        RetryBudget budget = RetryBudget.of(10, 1, 1);
        RetryPolicy policy = policy().budget(budget);
        server.then(500);
        while (budget.left() > 0) {
            assertThat(finish(start(limiter, policy)).expectTerminalError())
                    .isInstanceOf(RetriesExhaustedException.class);
        }
        int wire = server.wire();
        assertThat(finish(start(limiter, policy)).expectTerminalError())
                .isInstanceOf(RetriesExhaustedException.class)
                .hasMessageContaining("budget");
        assertThat(server.wire()).isEqualTo(wire + 1);
        RetryScript fine = new RetryScript(time).then(200);
        for (int i = 0; i < 10; i++) {
            start(fine, limiter, policy, GET);
        }
        assertThat(budget.left()).isEqualTo(10);
        RetryScript recovers = new RetryScript(time).then(500).then(200);
        assertThat(status(finish(start(recovers, limiter, policy, GET)))).isEqualTo(200);
        assertThat(budget.left()).isEqualTo(10);
    }

    @Test
    void a_budget_refills_by_successes_of_plain_calls_too() { // B54
        RateLimiter limiter = spec().build();
        RetryBudget budget = RetryBudget.of(2, 1, 1);
        RateLimitOperator calls = limiter.calls().retry(policy().budget(budget));
        server.then(500);
        finish(start(limiter, policy().budget(budget)));
        assertThat(budget.left()).isZero();
        Mono.empty().transform(calls.limit()).subscribe();
        assertThat(budget.left()).isEqualTo(1);
        Flux.range(1, 100).transform(calls.limit()).subscribe();
        assertThat(budget.left()).isEqualTo(2);
    }

    @Test
    void a_last_response_that_is_handed_on_is_no_success() { // B51
        RateLimiter limiter = spec().build();
        RetryBudget budget = RetryBudget.of(10, 1, 1);
        server.then(500);
        assertThat(status(finish(start(limiter, policy().budget(budget).returnLastResponse()))))
                .isEqualTo(500);
        assertThat(budget.left()).isEqualTo(7);
    }

    @Test
    void calls_of_one_limiter_share_a_budget_and_those_of_another_do_not() { // B54
        RateLimiter one = spec().build();
        RateLimiter two = spec().build();
        RetryPolicy many = RetryPolicy.attempts(200).backoff(ofMillis(1), ofMillis(1));
        server.then(500);
        finish(start(one, many));
        assertThat(server.wire()).isEqualTo(101);
        finish(start(one, many));
        assertThat(server.wire()).isEqualTo(102);
        finish(start(two, many));
        assertThat(server.wire()).isEqualTo(203);
    }

    @Test
    void waiting_behind_a_closed_scope_costs_no_budget() { // B63
        RateLimiter limiter = spec().build();
        RetryBudget budget = RetryBudget.of(1, 1, 1);
        server.then(429, "Retry-After", "1")
                .then(429, "Retry-After", "1")
                .then(429, "Retry-After", "1")
                .then(500)
                .then("reset", Failure.interrupted());
        TestSubscriber<Response> result = start(limiter, policy().budget(budget));
        time.advanceTimeBy(ofSeconds(2));
        assertThat(budget.left()).isEqualTo(1);
        finish(result);
        assertThat(budget.left()).isZero();
        assertThat(server.wire()).isEqualTo(5);
    }

    // ------------------------------------------------------------------------------- deadline and hints too long

    @Test
    void a_wait_that_would_pass_the_deadline_fails_at_the_moment_it_is_known() { // B42
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "10").then(200);
        TestSubscriber<Response> result = start(limiter, policy().deadline(ofSeconds(5)));
        assertThat(result.expectTerminalError()).isInstanceOfSatisfying(RateLimitedException.class, e -> {
            assertThat(e.retryAfter()).isEqualTo(ofSeconds(10));
            assertThat(e.getCause())
                    .isInstanceOfSatisfying(
                            RefusedResponseException.class,
                            c -> assertThat(c.status()).isEqualTo(429));
            assertThat(e.mayHaveBeenSent()).isTrue();
        });
        assertNobodyWaits(limiter);
        time.advanceTimeBy(ofHours(1));
        assertThat(server.wire()).isEqualTo(1);
    }

    @Test
    void a_backoff_that_would_pass_the_deadline_fails_at_the_moment_it_is_known() { // B42
        RateLimiter limiter = spec().build();
        server.then("reset", Failure.interrupted()).then(200);
        TestSubscriber<Response> result = start(limiter, policy().deadline(ofSeconds(5)));
        assertThat(result.expectTerminalError())
                .isInstanceOf(RateLimitedException.class)
                .hasCauseInstanceOf(ClientError.class);
        time.advanceTimeBy(ofHours(1));
        assertThat(server.wire()).isEqualTo(1);
        assertNobodyWaits(limiter);
    }

    @Test
    void the_deadline_covers_all_attempts_and_waits_together() {
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "2");
        TestSubscriber<Response> result = start(limiter, policy().deadline(ofSeconds(5)));
        time.advanceTimeBy(ofSeconds(4).minusNanos(1));
        assertThat(result.isTerminated()).isFalse();
        time.advanceTimeBy(Duration.ofNanos(1));
        assertThat(result.expectTerminalError()).isInstanceOf(RateLimitedException.class);
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(2), ofSeconds(4));
    }

    @Test
    void the_deadline_bounds_the_first_wait_in_line_too() {
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        limiter.tryAcquire();
        server.then(200);
        TestSubscriber<Response> result = start(limiter, policy().deadline(ofSeconds(5)));
        time.advanceTimeBy(ofSeconds(5));
        assertThat(result.expectTerminalError()).isInstanceOf(RateLimitedException.class);
        assertThat(server.wire()).isZero();
    }

    @Test
    void an_attempt_is_not_let_run_past_the_deadline() {
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        server.then(Mono.never());
        TestSubscriber<Response> result = start(limiter, policy().deadline(ofSeconds(5)));
        time.advanceTimeBy(ofSeconds(5));
        assertThat(result.isTerminatedError()).isTrue();
        assertThat(server.cancelled()).isEqualTo(1);
        assertThat(available(limiter)).isEqualTo(1);
        assertNobodyWaits(limiter);
    }

    @Test
    void nothing_is_tried_again_at_the_deadline_itself() {
        RateLimiter limiter = spec().random(() -> 0.0).build();
        server.then(Mono.<Response>error(new ClientError("reset", Failure.interrupted()))
                        .delaySubscription(ofSeconds(5), time))
                .then(200);
        RetryPolicy fullJitter =
                RetryPolicy.standard().backoff(ofSeconds(1), ofSeconds(1)).deadline(ofSeconds(5));
        TestSubscriber<Response> result = start(limiter, fullJitter);
        time.advanceTimeBy(ofMinutes(1));
        assertThat(result.isTerminatedError()).isTrue();
        assertThat(server.wire()).isEqualTo(1);
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

    @Test
    void a_deadline_of_many_lifetimes_is_no_bound() { // B47
        RateLimiter limiter = spec().build();
        server.then(429, "Retry-After", "100").then(200);
        TestSubscriber<Response> result = start(
                limiter,
                policy().deadline(Duration.ofSeconds(Long.MAX_VALUE))
                        .attemptTimeout(Duration.ofSeconds(Long.MAX_VALUE)));
        time.advanceTimeBy(ofSeconds(100));
        assertThat(status(result)).isEqualTo(200);
    }

    // ------------------------------------------------------------------------------------------------- giving up

    @Test
    void a_call_cancelled_in_its_backoff_is_never_tried_again() { // B42
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        for (RetryScript script : List.of(
                new RetryScript(time).then(500).then(200),
                new RetryScript(time).then(429, "Retry-After", "10").then(200),
                new RetryScript(time).then(503).then(200))) {
            Disposable call = script.call()
                    .transform(script.on(limiter.calls()).retry(policy()).<Response>limit(GET))
                    .subscribe();
            time.advanceTimeBy(ofSeconds(3));
            call.dispose();
            assertThat(limiter.snapshot().waiting()).isZero();
            assertThat(available(limiter)).isEqualTo(1);
            time.advanceTimeBy(ofHours(1));
            assertThat(script.wire()).isEqualTo(1);
            assertNobodyWaits(limiter);
        }
    }

    @Test
    void a_callers_timeout_in_a_backoff_ends_everything() { // B42
        RateLimiter limiter = spec().build();
        server.then(500).then(200);
        TestSubscriber<Response> result = server.call()
                .transform(server.on(limiter.calls()).retry(policy()).<Response>limit(GET))
                .timeout(ofSeconds(3), time)
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofSeconds(3));
        assertThat(result.expectTerminalError()).isInstanceOf(TimeoutException.class);
        assertNobodyWaits(limiter);
        time.advanceTimeBy(ofHours(1));
        assertThat(server.wire()).isEqualTo(1);
    }

    @Test
    void a_call_cancelled_in_a_later_attempt_cancels_that_attempt() {
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        server.then(500).then(Mono.never());
        Disposable call = server.call()
                .transform(server.on(limiter.calls()).retry(policy()).<Response>limit(GET))
                .subscribe();
        time.advanceTimeBy(ofSeconds(11));
        assertThat(server.running()).isEqualTo(1);
        call.dispose();
        assertThat(server.running()).isZero();
        assertThat(available(limiter)).isEqualTo(1);
        assertNobodyWaits(limiter);
    }

    @Test
    void a_limiter_disposed_during_a_backoff_ends_the_call() { // B56
        for (RetryScript script :
                List.of(new RetryScript(time).then(500), new RetryScript(time).then(429, "Retry-After", "10"))) {
            RateLimiter limiter = spec().build();
            TestSubscriber<Response> result = start(script, limiter, policy(), GET);
            limiter.dispose();
            assertThat(result.expectTerminalError()).isInstanceOf(LimiterDisposedException.class);
            assertThat(RateLimitException.mayHaveBeenSent(result.expectTerminalError()))
                    .isTrue();
            assertNobodyWaits(limiter);
        }
    }

    // ------------------------------------------------------------------------------------------------- draining

    @Test
    void a_discarded_response_is_freed_before_the_permit_and_the_wait() { // B10
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        server.then(429, "Retry-After", "5").then(200);
        server.draining(Mono.delay(ofMillis(300), time).then());
        start(limiter, policy());
        assertThat(server.discarded()).hasSize(1);
        assertThat(available(limiter)).isZero();
        assertThat(limiter.snapshot().root().closedFor()).isEqualTo(ofSeconds(5));
        time.advanceTimeBy(ofMillis(300));
        assertThat(available(limiter)).isEqualTo(1);
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(5));
    }

    @Test
    void a_drain_without_an_end_is_cancelled_after_a_second() { // B10
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        List<String> events = new ArrayList<>();
        server.then(429, "Retry-After", "5").then(200);
        server.draining(Mono.<Void>never().doOnCancel(() -> events.add("cancelled")));
        TestSubscriber<Response> result = start(limiter, policy());
        time.advanceTimeBy(ofMillis(999));
        assertThat(events).isEmpty();
        time.advanceTimeBy(ofMillis(1));
        assertThat(events).containsExactly("cancelled");
        assertThat(available(limiter)).isEqualTo(1);
        time.advanceTimeBy(ofMinutes(1));
        assertThat(status(result)).isEqualTo(200);
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(5));
    }

    @Test
    void a_drain_that_fails_or_throws_ends_like_one_that_completes() { // B10
        for (Mono<Void> drain : List.of(Mono.<Void>error(new IllegalStateException("closed")), Mono.<Void>defer(() -> {
            throw new IllegalStateException("closed");
        }))) {
            RateLimiter limiter = spec(Limit.inFlight(1)).build();
            RetryScript script = new RetryScript(time)
                    .then(429, "Retry-After", "5")
                    .then(200)
                    .draining(drain);
            assertThat(status(finish(start(script, limiter, policy(), GET)))).isEqualTo(200);
        }
    }

    @Test
    void a_call_cancelled_while_its_response_is_drained_cancels_the_drain() { // B10
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        List<String> events = new ArrayList<>();
        server.then(429, "Retry-After", "5").then(200);
        server.draining(Mono.<Void>never().doOnCancel(() -> events.add("cancelled")));
        Disposable call = server.call()
                .transform(server.on(limiter.calls()).retry(policy()).<Response>limit(GET))
                .subscribe();
        call.dispose();
        assertThat(events).containsExactly("cancelled");
        assertThat(available(limiter)).isEqualTo(1);
        assertNobodyWaits(limiter);
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.wire()).isEqualTo(1);
    }

    @Test
    void the_callers_context_is_visible_in_every_attempt_and_in_the_drain() { // B41
        RateLimiter limiter = spec().build();
        List<String> seen = new ArrayList<>();
        server.then(429, "Retry-After", "1").then(500).then(200);
        server.draining(Mono.deferContextual(context -> {
            seen.add("drain " + context.get("user"));
            return Mono.empty();
        }));
        Mono<Response> source = Mono.deferContextual(context -> {
            seen.add("source " + context.get("user"));
            return server.call();
        });
        source.transform(server.on(limiter.calls()).retry(policy()).<Response>limit(GET))
                .contextWrite(context -> context.put("user", "ann"))
                .subscribe();
        time.advanceTimeBy(ofMinutes(1));
        assertThat(seen).containsExactly("source ann", "drain ann", "source ann", "drain ann", "source ann");
    }

    @Test
    void the_gate_shuts_before_the_freed_slot_reaches_the_next_caller() { // B11
        RateLimiter limiter = spec(Limit.inFlight(1)).build();
        server.then(Mono.just(Response.of(429, "Retry-After", "10")).delayElement(ofSeconds(1), time))
                .then(200);
        start(limiter, policy());
        RetryScript behind = new RetryScript(time).then(200);
        start(behind, limiter, policy(), GET);
        time.advanceTimeBy(ofMinutes(1));
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(11));
        assertThat(behind.times()).containsExactly(ofSeconds(11));
    }

    @Test
    void headers_of_an_exception_close_the_gate_like_those_of_a_response() {
        RateLimiter limiter = spec().build();
        server.then("throttled", Failure.response(429, Headers.of("Retry-After", "30")))
                .then(200);
        start(limiter, policy());
        assertThat(limiter.snapshot().root().closedFor()).isEqualTo(ofSeconds(30));
    }
}
