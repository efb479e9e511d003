package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.Response;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/** What becomes of a call that is left or stopped between its attempts, and of a response that nobody is given. */
class LeftRetriesTest extends ScriptedCalls {

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
}
