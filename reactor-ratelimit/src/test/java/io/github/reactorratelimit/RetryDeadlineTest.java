package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.ClientError;
import io.github.reactorratelimit.RetryScript.Response;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/** How long a call goes on at most: its deadline is over all attempts and waits. */
class RetryDeadlineTest extends ScriptedCalls {

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
}
