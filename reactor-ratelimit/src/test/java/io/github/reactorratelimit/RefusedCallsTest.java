package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.Response;
import io.github.reactorratelimit.signal.Headers;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/** What a call does that is refused: it bears refusals, stands at the front, and neither attempts nor budget are spent. */
class RefusedCallsTest extends ScriptedCalls {

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
