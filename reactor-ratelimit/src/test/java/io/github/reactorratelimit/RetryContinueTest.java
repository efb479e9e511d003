package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.ClientError;
import io.github.reactorratelimit.RetryScript.Response;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** A downstream {@code onErrorContinue} neither hangs a call nor swallows its error. */
class RetryContinueTest { // B03

    private static final Demand GET = Demand.of("method", "GET");

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RetryScript server = new RetryScript(time);
    private final List<Throwable> continued = new ArrayList<>();
    private final RateLimiter limiter = RateLimiter.named("api")
            .limit(Limit.inFlight(1))
            .scheduler(() -> time)
            .jitter(0)
            .random(() -> 0.5)
            .build();

    /** As a Mono and as a Flux: fails with {@code expected}. */
    private void assertFails(RetryPolicy policy, Demand demand, Class<? extends Throwable> expected) {
        RateLimitOperator calls = server.on(limiter.calls()).retry(policy);
        assertFails(server.call().transform(calls.<Response>limit(demand)), expected);
        time.advanceTimeBy(ofMinutes(10));
        assertFails(
                server.call().flux().transform(calls.<Response>limit(demand)).singleOrEmpty(), expected);
    }

    private void assertFails(Mono<Response> call, Class<? extends Throwable> expected) {
        TestSubscriber<Response> result = call.switchIfEmpty(Mono.error(new AssertionError("empty")))
                .onErrorContinue((error, element) -> continued.add(error))
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(10));
        assertThat(result.expectTerminalError()).isInstanceOf(expected);
        assertThat(continued).isEmpty();
        assertThat(limiter.snapshot().timers()).isZero();
    }

    @Test
    void an_exhausted_call_without_patience_fails() {
        server.then(429, "Retry-After", "1");
        RetryPolicy policy = RetryPolicy.attempts(2).refusals(0);
        assertFails(policy, GET, RetriesExhaustedException.class);
    }

    @Test
    void a_call_that_was_refused_too_often_fails() {
        server.then(429, "Retry-After", "1");
        assertFails(RetryPolicy.standard().refusals(2), GET, RetriesExhaustedException.class);
        assertThat(server.wire()).isEqualTo(6);
    }

    @Test
    void a_call_that_failed_too_often_fails() {
        server.then("reset", Failure.interrupted());
        assertFails(RetryPolicy.attempts(3), GET, RetriesExhaustedException.class);
        assertThat(server.wire()).isEqualTo(6);
    }

    @Test
    void an_error_that_is_not_tried_again_fails() {
        server.then("fatal", Failure.fatal());
        assertFails(RetryPolicy.standard(), GET, ClientError.class);
    }

    @Test
    void an_error_that_is_not_tried_again_after_one_that_was_fails() {
        server.then("reset", Failure.interrupted()).then("fatal", Failure.fatal());
        assertFails(RetryPolicy.standard(), GET, ClientError.class);
    }

    @Test
    void a_hint_that_is_too_long_fails() {
        server.then(429, "Retry-After", "9999999999");
        RateLimitOperator calls = server.on(limiter.calls());
        assertFails(server.call().transform(calls.<Response>limit(GET)), RateLimitedException.class);
        assertFails(
                server.call().flux().transform(calls.<Response>limit(GET)).singleOrEmpty(), RateLimitedException.class);
    }

    @Test
    void a_rejected_permit_fails() {
        server.then(200);
        limiter.tryAcquire();
        assertFails(RetryPolicy.standard(), GET.maxWait(ofMillis(10)), RateLimitedException.class);
        limiter.dispose();
        assertFails(RetryPolicy.standard(), GET, LimiterDisposedException.class);
    }

    @Test
    void a_permit_rejected_without_the_operator_or_per_element_fails() {
        limiter.tryAcquire();
        Demand impatient = Demand.one().maxWait(ofMillis(10));
        assertFails(limiter.acquire(impatient).map(permit -> Response.of(200)), RateLimitedException.class);
        assertFails(
                Flux.just(Response.of(200), Response.of(201))
                        .transform(limiter.<Response>limitEach(impatient))
                        .next(),
                RateLimitedException.class);
    }

    @Test
    void a_permit_rejected_in_a_later_attempt_fails() {
        server.then("reset", Failure.interrupted());
        assertFails(
                RetryPolicy.standard()
                        .backoff(Backoff.exponential(ofSeconds(10), ofSeconds(10))
                                .jitter(0))
                        .deadline(ofSeconds(5)),
                GET,
                RateLimitedException.class);
    }

    @Test
    void an_attempt_timeout_fails() {
        server.then(Mono.never());
        assertFails(RetryPolicy.attempts(2), GET, RetriesExhaustedException.class);
    }

    @Test
    void a_call_that_succeeds_after_retries_succeeds() {
        server.then(429, "Retry-After", "1")
                .then("reset", Failure.interrupted())
                .then(503)
                .then(200);
        TestSubscriber<Response> result = server.call()
                .transform(server.on(limiter.calls()).<Response>limit(GET))
                .onErrorContinue((error, element) -> continued.add(error))
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(10));
        assertThat(result.getReceivedOnNext()).containsExactly(Response.of(200));
        assertThat(continued).isEmpty();
    }

    @Test
    void a_failed_element_of_a_flat_map_is_skipped_and_the_others_go_on() {
        Consumer<Throwable> note = continued::add;
        List<Integer> served = new ArrayList<>();
        Flux.range(1, 5)
                .concatMap(n -> Mono.just(n)
                        .transform(limiter.<Integer>limit(n == 3 ? Demand.one().cost(2) : Demand.one())))
                .onErrorContinue((error, element) -> note.accept(error))
                .subscribe(served::add);
        assertThat(served).containsExactly(1, 2, 4, 5);
        assertThat(continued).hasSize(1);
        assertThat(continued.get(0)).isInstanceOf(RateLimitedException.class);
    }
}
