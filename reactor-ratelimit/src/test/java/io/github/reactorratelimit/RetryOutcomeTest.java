package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.ClientError;
import io.github.reactorratelimit.RetryScript.Response;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.publisher.TestPublisher;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** Which outcomes are tried again, and for which methods. */
class RetryOutcomeTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RetryScript server = new RetryScript(time);
    private final RateLimiter limiter = RateLimiter.named("api")
            .limit(Limit.inFlight(1), Limit.of(100, ofMinutes(60)))
            .scheduler(() -> time)
            .jitter(0)
            .random(() -> 0.5)
            .build();
    private RateLimitOperator calls = server.on(limiter.calls());

    private TestSubscriber<Response> call(String method) {
        Demand demand = method.isEmpty() ? Demand.one() : Demand.of("method", method);
        return call(server.call().transform(calls.limit(demand)));
    }

    private TestSubscriber<Response> call(Mono<Response> call) {
        TestSubscriber<Response> result = call.subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(5));
        assertThat(result.isTerminated()).isTrue();
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(1);
        assertThat(limiter.snapshot().root().limits().get(1).available()).isEqualTo(100 - server.wire());
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().timers()).isZero();
        return result;
    }

    private static int status(TestSubscriber<Response> result) {
        assertThat(result.getReceivedOnNext()).hasSize(1);
        return result.getReceivedOnNext().get(0).status();
    }

    // ---------------------------------------------------------------------------------------------- responses

    @Test
    void what_was_refused_in_part_closes_its_scope_and_is_handed_on() {
        RateLimiter batches = RateLimiter.named("batches")
                .limit(Limit.inFlight(1))
                .scheduler(() -> time)
                .jitter(0)
                .dialect(Dialects.standard()
                        .adjust((signal, headers) ->
                                signal.toBuilder().partial(true).build()))
                .build();
        server.then(429, "Retry-After", "7").then(200);
        TestSubscriber<Response> result = server.call()
                .transform(server.on(batches.calls()).limit(Demand.one()))
                .subscribeWith(TestSubscriber.create());
        assertThat(status(result)).isEqualTo(429);
        assertThat(server.wire()).isEqualTo(1);
        assertThat(batches.tryAcquire().retryAfter()).isEqualTo(ofSeconds(7));
    }

    @ParameterizedTest
    @CsvSource({
        "429, GET", "429, POST", "429, PATCH", "429, ''",
        "420, POST", "509, POST", "529, POST", "529, GET"
    })
    void a_status_that_is_always_a_limit_is_tried_again_for_any_method(int status, String method) {
        server.then(status).then(200);
        assertThat(status(call(method))).isEqualTo(200);
        assertThat(server.wire()).isEqualTo(2);
        assertThat(server.discarded()).containsExactly(Response.of(status));
    }

    @ParameterizedTest
    @CsvSource({"403, GET", "403, POST", "503, GET", "503, POST", "429, POST"})
    void a_status_that_says_it_is_a_limit_is_tried_again_for_any_method(int status, String method) { // B27
        server.then(status, "Retry-After", "7").then(200);
        assertThat(status(call(method))).isEqualTo(200);
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(7));
    }

    @ParameterizedTest
    @ValueSource(ints = {503, 500, 502, 504, 506, 507, 599, 408, 425})
    void a_failure_of_the_server_is_tried_again_if_the_method_is_idempotent(int status) {
        for (String method : List.of("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE")) {
            RetryOutcomeTest fresh = new RetryOutcomeTest();
            fresh.server.then(status).then(200);
            assertThat(status(fresh.call(method))).as(method).isEqualTo(200);
            assertThat(fresh.server.wire()).as(method).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {503, 500, 502, 504, 507, 408, 425})
    void a_failure_of_the_server_is_handed_on_if_the_method_is_not_idempotent(int status) { // B27
        for (String method : List.of("POST", "PATCH", "")) {
            RetryOutcomeTest fresh = new RetryOutcomeTest();
            fresh.server.then(status).then(200);
            assertThat(status(fresh.call(method))).as(method).isEqualTo(status);
            assertThat(fresh.server.wire()).as(method).isEqualTo(1);
            assertThat(fresh.server.discarded()).isEmpty();
        }
    }

    @Test
    void a_call_that_is_said_to_be_idempotent_is_tried_again_whatever_its_method() { // B27
        calls = calls.idempotent(true);
        server.then(503).then(502).then(200);
        assertThat(status(call("POST"))).isEqualTo(200);
        assertThat(server.wire()).isEqualTo(3);
    }

    @Test
    void a_call_that_is_said_not_to_be_idempotent_is_not_tried_again_whatever_its_method() {
        calls = calls.idempotent(false);
        server.then(500).then(200);
        assertThat(status(call("GET"))).isEqualTo(500);
        assertThat(server.wire()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 401, 403, 404, 405, 407, 409, 410, 422, 501, 505, 200, 204, 304})
    void any_other_status_is_handed_on_and_holds_nobody_up(int status) { // B60
        server.then(status).then(299);
        assertThat(status(call("GET"))).isEqualTo(status);
        assertThat(server.wire()).isEqualTo(1);
        assertThat(limiter.snapshot().root().closedFor()).isZero();
        assertThat(server.discarded()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 407, 501})
    void credentials_and_missing_abilities_are_no_limit_even_with_a_hint(int status) { // B60
        server.then(status, "Retry-After", "60").then(200);
        TestSubscriber<Response> result = server.call()
                .transform(calls.<Response>limit(Demand.of("method", "GET")))
                .subscribeWith(TestSubscriber.create());
        assertThat(status(result)).isEqualTo(status);
        assertThat(limiter.snapshot().root().closedFor()).isZero();
        assertThat(server.wire()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(ints = {200, 304})
    void a_hint_on_a_success_closes_nothing(int status) { // B23
        server.then(status, "Retry-After", "60");
        assertThat(status(call("GET"))).isEqualTo(status);
        assertThat(server.wire()).isEqualTo(1);
    }

    @Test
    void the_longest_of_several_budgets_counts() { // B23
        server.then(
                        429,
                        "x-ratelimit-remaining-requests",
                        "5",
                        "x-ratelimit-reset-requests",
                        "1s",
                        "x-ratelimit-remaining-tokens",
                        "0",
                        "x-ratelimit-reset-tokens",
                        "1m40s")
                .then(200);
        assertThat(status(call("POST"))).isEqualTo(200);
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(100));
    }

    // --------------------------------------------------------------------------------------------- exceptions

    @ParameterizedTest
    @ValueSource(strings = {"GET", "POST", ""})
    void what_was_not_sent_is_tried_again_for_any_method(String method) {
        server.then("connection refused", Failure.notSent()).then(200);
        assertThat(status(call(method))).isEqualTo(200);
        assertThat(server.wire()).isEqualTo(2);
    }

    @Test
    void what_broke_off_is_tried_again_if_it_may_be_repeated() { // B27
        server.then("reset", Failure.interrupted()).then(200);
        assertThat(status(call("GET"))).isEqualTo(200);
        assertThat(server.wire()).isEqualTo(2);
    }

    @Test
    void what_broke_off_is_not_tried_again_if_the_server_may_have_acted() { // B27
        server.then("reset", Failure.interrupted()).then(200);
        assertThat(call("POST").expectTerminalError())
                .isInstanceOf(ClientError.class)
                .hasMessage("reset");
        assertThat(server.wire()).isEqualTo(1);
    }

    @Test
    void what_broke_off_is_tried_again_with_an_idempotency_key() { // B27
        calls = calls.idempotent(true);
        server.then("reset", Failure.interrupted()).then(200);
        assertThat(status(call("POST"))).isEqualTo(200);
        assertThat(server.wire()).isEqualTo(2);
    }

    @Test
    void what_would_fail_again_is_not_tried_again() { // B60
        server.then("proxy login refused", Failure.fatal()).then(200);
        assertThat(call("GET").expectTerminalError()).hasMessage("proxy login refused");
        assertThat(server.wire()).isEqualTo(1);
    }

    @Test
    void an_exception_that_nobody_knows_is_not_tried_again() {
        IllegalStateException bug = new IllegalStateException("a bug");
        server.then(Mono.error(bug)).then(200);
        assertThat(call("GET").expectTerminalError()).isSameAs(bug);
        assertThat(server.wire()).isEqualTo(1);
    }

    @Test
    void an_exception_that_stands_for_a_response_is_treated_like_it() {
        server.then("429", Failure.response(429, Headers.of("Retry-After", "3")))
                .then("500", Failure.response(500, Headers.of()))
                .then(200);
        assertThat(status(call("GET"))).isEqualTo(200);
        assertThat(server.times().get(1)).isEqualTo(ofSeconds(3));
        assertThat(server.wire()).isEqualTo(3);
    }

    @Test
    void an_exception_that_stands_for_a_response_surfaces_as_it_is_if_nothing_is_to_be_tried_again() {
        server.then("404", Failure.response(404, Headers.of())).then(200);
        assertThat(call("GET").expectTerminalError())
                .isInstanceOf(ClientError.class)
                .hasMessage("404");
        assertThat(server.wire()).isEqualTo(1);
    }

    @Test
    void an_attempt_that_times_out_is_tried_again_only_if_it_may_be_repeated() {
        server.then(Mono.never()).then(200);
        assertThat(status(call("GET"))).isEqualTo(200);
        assertThat(server.wire()).isEqualTo(2);
        RetryOutcomeTest post = new RetryOutcomeTest();
        post.server.then(Mono.never()).then(200);
        assertThat(post.call("POST").expectTerminalError()).isInstanceOf(AttemptTimeoutException.class);
        assertThat(post.server.wire()).isEqualTo(1);
    }

    @Test
    void the_source_of_an_attempt_that_timed_out_is_cancelled_before_the_next_is_subscribed() {
        calls = calls.retry(RetryPolicy.standard().backoff(Backoff.exponential(ofMillis(1), ofMillis(1))));
        server.then(Mono.never()).then(Mono.never()).then(200);
        assertThat(status(call("GET"))).isEqualTo(200);
        assertThat(server.mostRunning()).isEqualTo(1);
        assertThat(server.cancelled()).isEqualTo(2);
    }

    @Test
    void an_answer_that_is_being_read_when_the_timeout_comes_is_judged_once() {
        RetryBudget budget = RetryBudget.of(100, 1, 1);
        TestPublisher<Response> first = TestPublisher.create();
        List<String> drains = new ArrayList<>();
        RateLimitOperator slow = limiter.calls()
                .retry(RetryPolicy.attempts(2).budget(budget))
                .responses(Response.class, new ResponseReader<>() {
                    @Override
                    public int status(Response response) {
                        if (response.status() == 500) {
                            time.advanceTimeBy(ofSeconds(20));
                        }
                        return response.status();
                    }

                    @Override
                    public Headers headers(Response response) {
                        return Headers.of();
                    }

                    @Override
                    public Mono<Void> discard(Response response) {
                        return Mono.<Void>never().doOnCancel(() -> drains.add("cancelled"));
                    }
                });
        server.then(first.mono()).then(200);
        TestSubscriber<Response> result = server.call()
                .transform(slow.<Response>limit(Demand.of("method", "GET")))
                .subscribeWith(TestSubscriber.create());
        first.next(Response.of(500));
        time.advanceTimeBy(ofMinutes(5));
        assertThat(drains).containsExactly("cancelled");
        assertThat(status(result)).isEqualTo(200);
        assertThat(server.wire()).isEqualTo(2);
        assertThat(budget.left()).isEqualTo(100);
    }

    // -------------------------------------------------------------------------------- what cannot be repeated

    @Test
    void a_source_that_cannot_be_subscribed_again_surfaces_its_first_outcome() { // B28
        calls = calls.replayable(false);
        server.then(429, "Retry-After", "1").then(200);
        assertThat(status(call("GET"))).isEqualTo(429);
        assertThat(server.wire()).isEqualTo(1);
        assertThat(server.discarded()).isEmpty();
        RetryOutcomeTest failing = new RetryOutcomeTest();
        failing.calls = failing.calls.replayable(false);
        failing.server.then("refused", Failure.notSent()).then(200);
        assertThat(failing.call("GET").expectTerminalError()).hasMessage("refused");
        assertThat(failing.server.wire()).isEqualTo(1);
    }

    @Test
    void a_refusal_of_a_source_that_cannot_be_subscribed_again_still_closes_its_scope() {
        calls = calls.replayable(false);
        server.then(429, "Retry-After", "9");
        server.call().transform(calls.<Response>limit()).subscribe();
        assertThat(limiter.snapshot().root().closedFor()).isEqualTo(ofSeconds(9));
    }

    @Test
    void a_flux_that_has_emitted_is_not_tried_again() {
        TestPublisher<Response> source = TestPublisher.create();
        TestSubscriber<Response> result = source.flux()
                .transform(calls.<Response>limit(Demand.of("method", "GET")))
                .subscribeWith(TestSubscriber.create());
        source.next(Response.of(200));
        ClientError reset = new ClientError("reset", Failure.interrupted());
        source.error(reset);
        time.advanceTimeBy(ofMinutes(5));
        assertThat(result.getReceivedOnNext()).containsExactly(Response.of(200));
        assertThat(result.expectTerminalError()).isSameAs(reset);
        source.assertSubscribers(0);
    }

    @Test
    void a_flux_that_has_not_emitted_is_tried_again_and_keeps_its_demand() {
        RetryScript script =
                server.then("reset", Failure.interrupted()).then(503).then(200);
        Flux<Response> source = script.call()
                .flatMapMany(first -> first.status() == 200
                        ? Flux.range(200, 50).map(Response::of)
                        : Flux.just(first, Response.of(500), Response.of(500)));
        TestSubscriber<Response> result = source.transform(calls.<Response>limit(Demand.of("method", "GET")))
                .subscribeWith(TestSubscriber.builder().initialRequest(2).<Response>build());
        result.request(1);
        time.advanceTimeBy(ofMinutes(5));
        assertThat(result.getReceivedOnNext()).containsExactly(Response.of(200), Response.of(201), Response.of(202));
        result.request(2);
        assertThat(result.getReceivedOnNext()).hasSize(5);
        assertThat(result.isTerminated()).isFalse();
        result.request(100);
        assertThat(result.getReceivedOnNext()).hasSize(50);
        assertThat(result.isTerminatedComplete()).isTrue();
        assertThat(script.wire()).isEqualTo(3);
    }

    @Test
    void a_flux_whose_first_element_is_a_refused_response_is_cancelled() {
        TestPublisher<Response> source = TestPublisher.create();
        TestSubscriber<Response> result =
                source.flux().transform(calls.<Response>limit()).subscribeWith(TestSubscriber.create());
        source.next(Response.of(429, "Retry-After", "2"));
        source.assertNoSubscribers();
        assertThat(result.getReceivedOnNext()).isEmpty();
        time.advanceTimeBy(ofSeconds(2));
        source.assertSubscribers(1);
        source.next(Response.of(200), Response.of(201));
        source.complete();
        assertThat(result.getReceivedOnNext()).containsExactly(Response.of(200), Response.of(201));
        assertThat(result.isTerminatedComplete()).isTrue();
    }

    @Test
    void without_a_reader_a_response_is_an_element_like_any_other() {
        server.then(429, "Retry-After", "5");
        TestSubscriber<Response> result =
                server.call().transform(limiter.<Response>limit()).subscribeWith(TestSubscriber.create());
        assertThat(status(result)).isEqualTo(429);
        assertThat(limiter.snapshot().root().closedFor()).isZero();
    }

    @Test
    void a_reader_that_throws_is_an_error_of_the_call_and_gives_the_permit_back() {
        RateLimitOperator broken = limiter.calls().responses(Response.class, new ResponseReader<>() {
            @Override
            public int status(Response response) {
                throw new IllegalStateException("no status");
            }

            @Override
            public Headers headers(Response response) {
                return Headers.of();
            }
        });
        server.then(200);
        assertThat(call(server.call().transform(broken.limit())).expectTerminalError())
                .hasMessage("no status");
    }

    @Test
    void with_the_policy_none_nothing_is_tried_again_and_what_was_said_is_heard() {
        calls = calls.retry(RetryPolicy.none());
        server.then(429, "Retry-After", "9");
        TestSubscriber<Response> result =
                server.call().transform(calls.<Response>limit()).subscribeWith(TestSubscriber.create());
        assertThat(status(result)).isEqualTo(429);
        assertThat(limiter.snapshot().root().closedFor()).isEqualTo(ofSeconds(9));
    }
}
