package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.ClientError;
import io.github.reactorratelimit.RetryScript.Response;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** What the caller is told in the end. */
class RetryReportTest {

    private static final Demand GET = Demand.of("method", "GET");
    private static final Demand POST = Demand.of("method", "POST");

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RetryScript server = new RetryScript(time);
    private final RateLimiter limiter = RateLimiter.named("partner")
            .limit(Limit.inFlight(3))
            .scope(Scope.by("endpoint"))
            .scheduler(() -> time)
            .jitter(0)
            .random(() -> 0.5)
            .build();

    private TestSubscriber<Response> run(RetryPolicy policy, Demand demand) {
        return run(server.on(limiter.calls()).retry(policy), demand);
    }

    private TestSubscriber<Response> run(RateLimitOperator calls, Demand demand) {
        TestSubscriber<Response> result = server.call()
                .transform(calls.<Response>limit(demand.and("endpoint", "/items")))
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(5));
        assertThat(result.isTerminated()).isTrue();
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(3);
        return result;
    }

    private RetriesExhaustedException exhausted(RetryPolicy policy) {
        Throwable error = run(policy, GET).expectTerminalError();
        assertThat(error).isInstanceOf(RetriesExhaustedException.class);
        return (RetriesExhaustedException) error;
    }

    // ---------------------------------------------------------------------------------------------- exhaustion

    @Test
    void exhaustion_says_in_a_sentence_why_it_gave_up() {
        server.then(500).then(502);
        assertThat(exhausted(RetryPolicy.attempts(2)))
                .hasMessageMatching(
                        "Gave up after 2 attempts and PT\\S+ of waiting under limiter 'partner', because it has no"
                                + " attempts left; the last outcome was status 502\\.");
    }

    @Test
    void exhaustion_tells_limiter_keys_attempts_status_hint_and_time_waited() { // B51
        server.then(429, "Retry-After", "1");
        RetriesExhaustedException error = exhausted(RetryPolicy.standard().refusals(2));
        assertThat(error.limiter()).isEqualTo("partner");
        assertThat(error.keys()).containsExactly("endpoint=/items");
        assertThat(error.attempts()).isEqualTo(3);
        assertThat(error.status()).isEqualTo(429);
        assertThat(error.lastHint()).isEqualTo(ofSeconds(1));
        assertThat(error.waited()).isEqualTo(ofSeconds(2));
        assertThat(error.mayHaveBeenSent()).isTrue();
        assertThat(error.getStackTrace()).isEmpty();
        assertThat(error).hasMessageContaining("partner").hasMessageContaining("3 attempts");
        assertThat(error.getCause()).isInstanceOfSatisfying(RefusedResponseException.class, last -> {
            assertThat(last.status()).isEqualTo(429);
            assertThat(last.signal().hint()).isEqualTo(ofSeconds(1));
        });
        assertThat(error.getSuppressed())
                .hasSize(2)
                .allSatisfy(e -> assertThat(e).isInstanceOf(RefusedResponseException.class));
    }

    @Test
    void exhaustion_by_exceptions_has_the_last_as_its_cause_and_no_status() { // B51
        server.then("first", Failure.interrupted())
                .then("second", Failure.notSent())
                .then("third", Failure.interrupted());
        RetriesExhaustedException error = exhausted(RetryPolicy.attempts(3));
        assertThat(error.attempts()).isEqualTo(3);
        assertThat(error.status()).isZero();
        assertThat(error.lastHint()).isNull();
        assertThat(error.waited()).isEqualTo(ofMillis(50 + 100));
        assertThat(error.getCause()).isInstanceOf(ClientError.class).hasMessage("third");
        assertThat(error.getSuppressed()).extracting(Throwable::getMessage).containsExactly("first", "second");
    }

    @Test
    void the_failures_kept_are_bounded() { // B51
        server.then("reset", Failure.interrupted());
        RetriesExhaustedException error = exhausted(RetryPolicy.attempts(60).backoff(ofMillis(1), ofMillis(1)));
        assertThat(error.attempts()).isEqualTo(60);
        assertThat(error.getSuppressed()).hasSizeLessThanOrEqualTo(10);
    }

    @Test
    void one_and_the_same_exception_every_time_is_no_problem() {
        ClientError same = new ClientError("always the same", Failure.interrupted());
        server.then(Mono.error(same));
        RetriesExhaustedException error = exhausted(RetryPolicy.attempts(3));
        assertThat(error.getCause()).isSameAs(same);
        assertThat(same.getSuppressed()).isEmpty();
    }

    @Test
    void the_time_waited_includes_the_first_wait_in_line() {
        server.then(500);
        limiter.pause(Demand.one(), ofSeconds(7));
        RetriesExhaustedException error = exhausted(RetryPolicy.attempts(2)
                .backoff(Backoff.exponential(ofSeconds(3), ofSeconds(3)).jitter(0)));
        assertThat(error.waited()).isEqualTo(ofSeconds(10));
    }

    @Test
    void the_last_response_is_handed_on_if_that_is_wanted() { // B51
        server.then(429, "Retry-After", "1", "X-Number", "1")
                .then(429, "Retry-After", "1", "X-Number", "2")
                .then(429, "Retry-After", "1", "X-Number", "3");
        TestSubscriber<Response> result = run(RetryPolicy.standard().refusals(2).returnLastResponse(), GET);
        assertThat(result.getReceivedOnNext()).containsExactly(Response.of(429, "Retry-After", "1", "X-Number", "3"));
        assertThat(server.discarded()).hasSize(2);
    }

    @Test
    void the_last_failure_of_a_server_is_handed_on_if_that_is_wanted() { // B51
        server.then(500).then(502).then(504);
        assertThat(run(RetryPolicy.attempts(3).returnLastResponse(), GET).getReceivedOnNext())
                .containsExactly(Response.of(504));
        assertThat(server.discarded()).containsExactly(Response.of(500), Response.of(502));
    }

    @Test
    void where_there_is_no_last_response_exhaustion_is_an_error_all_the_same() {
        server.then("reset", Failure.interrupted());
        assertThat(run(RetryPolicy.attempts(3).returnLastResponse(), GET).expectTerminalError())
                .isInstanceOf(RetriesExhaustedException.class);
    }

    @Test
    void a_response_whose_hint_is_too_long_is_handed_on_if_the_last_response_is_wanted() {
        server.then(429, "Retry-After", "3600");
        assertThat(run(RetryPolicy.standard().returnLastResponse(), GET).getReceivedOnNext())
                .containsExactly(Response.of(429, "Retry-After", "3600"));
        assertThat(server.discarded()).isEmpty();
    }

    // ---------------------------------------------------------------------------------------- may have been sent

    @Test
    void a_refusal_before_the_first_attempt_was_certainly_not_sent() {
        server.then(200);
        limiter.pause(Demand.one(), ofSeconds(10));
        Throwable error =
                run(RetryPolicy.standard(), POST.maxWait(ofSeconds(1))).expectTerminalError();
        assertThat(error).isInstanceOf(RateLimitedException.class);
        assertThat(RateLimitException.mayHaveBeenSent(error)).isFalse();
    }

    @Test
    void a_refused_connection_was_certainly_not_sent() {
        server.then("refused", Failure.notSent());
        Throwable once = run(RetryPolicy.none(), POST).expectTerminalError();
        assertThat(once).hasMessage("refused");
        assertThat(RateLimitException.mayHaveBeenSent(once)).isFalse();
        Throwable often = run(RetryPolicy.attempts(3), POST).expectTerminalError();
        assertThat(often).isInstanceOf(RetriesExhaustedException.class);
        assertThat(RateLimitException.mayHaveBeenSent(often)).isFalse();
    }

    @Test
    void a_wait_too_long_after_refused_connections_was_certainly_not_sent() {
        server.then("refused", Failure.notSent());
        RetryPolicy policy = RetryPolicy.attempts(9)
                .backoff(Backoff.exponential(ofSeconds(2), ofSeconds(9)).jitter(0))
                .deadline(ofSeconds(5));
        Throwable error = run(policy, POST).expectTerminalError();
        assertThat(error).isInstanceOf(RateLimitedException.class).hasCauseInstanceOf(ClientError.class);
        assertThat(server.wire()).isEqualTo(2);
        assertThat(RateLimitException.mayHaveBeenSent(error)).isFalse();
    }

    @Test
    void one_attempt_that_may_have_been_sent_is_enough() {
        server.then("reset", Failure.interrupted()).then("refused", Failure.notSent());
        Throwable exhausted = run(RetryPolicy.attempts(3), GET).expectTerminalError();
        assertThat(RateLimitException.mayHaveBeenSent(exhausted)).isTrue();
        RetryReportTest late = new RetryReportTest();
        late.server.then("reset", Failure.interrupted()).then("refused", Failure.notSent());
        RetryPolicy policy = RetryPolicy.attempts(9)
                .backoff(Backoff.exponential(ofSeconds(2), ofSeconds(9)).jitter(0))
                .deadline(ofSeconds(5));
        Throwable tooLate = late.run(policy, GET).expectTerminalError();
        assertThat(tooLate).isInstanceOf(RateLimitedException.class);
        assertThat(RateLimitException.mayHaveBeenSent(tooLate)).isTrue();
    }

    @Test
    void whatever_else_a_call_fails_with_may_have_been_sent() {
        server.then("reset", Failure.interrupted());
        assertThat(RateLimitException.mayHaveBeenSent(
                        run(RetryPolicy.standard(), POST).expectTerminalError()))
                .isTrue();
        RetryReportTest fatal = new RetryReportTest();
        fatal.server.then("bad certificate", Failure.fatal());
        assertThat(RateLimitException.mayHaveBeenSent(
                        fatal.run(RetryPolicy.standard(), POST).expectTerminalError()))
                .isTrue();
        RetryReportTest unknown = new RetryReportTest();
        unknown.server.then(Mono.error(() -> new IllegalStateException("?")));
        assertThat(RateLimitException.mayHaveBeenSent(
                        unknown.run(RetryPolicy.standard(), POST).expectTerminalError()))
                .isTrue();
        RetryReportTest silent = new RetryReportTest();
        silent.server.then(Mono.never());
        assertThat(RateLimitException.mayHaveBeenSent(
                        silent.run(RetryPolicy.standard(), POST).expectTerminalError()))
                .isTrue();
        RetryReportTest refused = new RetryReportTest();
        refused.server.then(429, "Retry-After", "500");
        assertThat(RateLimitException.mayHaveBeenSent(
                        refused.run(RetryPolicy.standard(), POST).expectTerminalError()))
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void an_attempt_that_never_told_of_sending_ends_at_the_deadline_and_was_not_sent(boolean many) {
        RateLimitOperator calls = limiter.calls()
                .retry(RetryPolicy.standard().attemptTimeout(ofSeconds(2)).deadline(ofSeconds(5)));
        Demand demand = POST.and("endpoint", "/items");
        List<SignalType> ends = new ArrayList<>();
        Mono<String> silent = Mono.<String>never().doFinally(ends::add);
        TestSubscriber<String> result = many
                ? calls.exchangeMany(demand, exchange -> silent).subscribeWith(TestSubscriber.create())
                : calls.exchange(demand, exchange -> silent).subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMillis(4_999));
        assertThat(result.isTerminated()).isFalse();
        time.advanceTimeBy(ofMillis(1));
        assertThat(ends).containsExactly(SignalType.CANCEL);
        assertThat(result.expectTerminalError()).isInstanceOf(RateLimitedException.class);
        assertThat(result.expectTerminalError().getCause()).isInstanceOf(AttemptTimeoutException.class);
        assertThat(RateLimitException.mayHaveBeenSent(result.expectTerminalError()))
                .isFalse();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void a_deadline_that_comes_while_the_request_is_written_may_have_been_sent(boolean begun) {
        Mono<String> call = limiter.calls()
                .retry(RetryPolicy.standard().deadline(ofSeconds(2)))
                .exchange(POST.and("endpoint", "/items"), exchange -> {
                    if (begun) {
                        exchange.sending();
                    }
                    return Mono.never();
                });
        TestSubscriber<String> result = call.subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofSeconds(2));
        assertThat(RateLimitException.mayHaveBeenSent(result.expectTerminalError()))
                .isEqualTo(begun);
    }

    @Test
    void a_request_that_is_sent_again_on_the_way_gets_no_more_time_for_its_head() {
        List<Exchange> exchanges = new ArrayList<>();
        Mono<String> call = limiter.calls()
                .retry(RetryPolicy.standard().attemptTimeout(ofSeconds(2)))
                .exchange(POST.and("endpoint", "/items"), exchange -> {
                    exchanges.add(exchange);
                    return Mono.never();
                });
        TestSubscriber<String> result = call.subscribeWith(TestSubscriber.create());
        exchanges.get(0).sent();
        time.advanceTimeBy(ofMillis(1_500));
        exchanges.get(0).sent();
        time.advanceTimeBy(ofMillis(500));
        assertThat(result.expectTerminalError()).isInstanceOf(AttemptTimeoutException.class);
    }

    @Test
    void an_attempt_times_out_only_once_it_told_of_sending() {
        List<Exchange> exchanges = new ArrayList<>();
        Mono<String> call = limiter.calls()
                .retry(RetryPolicy.standard().attemptTimeout(ofSeconds(2)))
                .exchange(POST.and("endpoint", "/items"), exchange -> {
                    exchanges.add(exchange);
                    return Mono.never();
                });
        TestSubscriber<String> result = call.subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(1));
        assertThat(result.isTerminated()).isFalse();
        exchanges.get(0).sent();
        time.advanceTimeBy(ofSeconds(2));
        assertThat(result.expectTerminalError()).isInstanceOf(AttemptTimeoutException.class);
        assertThat(RateLimitException.mayHaveBeenSent(result.expectTerminalError()))
                .isTrue();
    }

    // ------------------------------------------------------------------------------------ what hooks get to see

    @Test
    void three_failed_attempts_and_exhaustion_cancel_nothing() { // B61
        List<SignalType> ends = new ArrayList<>();
        List<String> outside = new ArrayList<>();
        server.then(500);
        TestSubscriber<Response> result = server.call()
                .doFinally(ends::add)
                .transform(server.on(limiter.calls())
                        .retry(RetryPolicy.attempts(3))
                        .<Response>limit(GET.and("endpoint", "/items")))
                .doOnCancel(() -> outside.add("cancel"))
                .doFinally(end -> outside.add(end.toString()))
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(1));
        assertThat(result.isTerminatedError()).isTrue();
        assertThat(ends).containsExactly(SignalType.ON_COMPLETE, SignalType.ON_COMPLETE, SignalType.ON_COMPLETE);
        assertThat(server.cancelled()).isZero();
        assertThat(outside).containsExactly("onError");
    }

    @Test
    void a_failed_attempt_is_not_cancelled_after_its_error() { // B61
        List<SignalType> ends = new ArrayList<>();
        server.then("reset", Failure.interrupted())
                .then("reset", Failure.interrupted())
                .then(200);
        TestSubscriber<Response> result = server.call()
                .doFinally(ends::add)
                .transform(server.on(limiter.calls()).<Response>limit(GET.and("endpoint", "/items")))
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(1));
        assertThat(result.isTerminatedComplete()).isTrue();
        assertThat(ends).containsExactly(SignalType.ON_ERROR, SignalType.ON_ERROR, SignalType.ON_COMPLETE);
        assertThat(server.cancelled()).isZero();
    }
}
