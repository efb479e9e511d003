package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/** Callers that would rather know than wait. */
class FailFastTest {

    private final VirtualTime time = new VirtualTime();

    private static @Nullable Throwable failure(RateLimiter limiter) {
        Throwable[] failed = new Throwable[1];
        Mono.just("answer").transform(limiter.calls().failFast().limit()).subscribe(v -> {}, e -> failed[0] = e);
        return failed[0];
    }

    private static @Nullable Duration timeLeft(RateLimiter limiter) {
        if (failure(limiter) instanceof RateLimitedException refused) {
            return refused.retryAfter();
        }
        throw new AssertionError("not refused");
    }

    @Test
    void a_call_that_can_go_goes() {
        assertThat(failure(time.limiter(Limit.of(1, ofSeconds(10))))).isNull();
    }

    @Test
    void a_limit_that_is_used_up_tells_the_time_left() {
        RateLimiter limiter = time.limiter(Limit.of(1, ofSeconds(10)));
        limiter.tryAcquire();
        time.runTo(ofSeconds(4));
        assertThat(timeLeft(limiter)).isEqualTo(ofMillis(6_010));
    }

    @Test
    void a_closed_scope_tells_the_time_left() {
        RateLimiter limiter = time.limiter(Limit.inFlight(5));
        limiter.tryAcquire()
                .permit()
                .complete(RateLimitSignal.of(429)
                        .throttled(true)
                        .delay(ofSeconds(7))
                        .build());
        time.runTo(ofSeconds(3));
        assertThat(timeLeft(limiter)).isEqualTo(ofSeconds(4));
    }

    @Test
    void calls_in_flight_and_others_in_line_are_no_matter_of_time() {
        RateLimiter limiter = time.limiter(Limit.inFlight(1));
        limiter.tryAcquire();
        assertThat(timeLeft(limiter)).isNull();
    }

    @Test
    void a_retry_backs_off_but_does_not_wait_for_a_permit() {
        RateLimiter limiter =
                time.spec().limit(Limit.of(1, ofSeconds(10))).random(() -> 0.5).build();
        RateLimitOperator calls = limiter.calls()
                .failFast()
                .idempotent(true)
                .failures(error -> Failure.interrupted())
                .retry(RetryPolicy.standard().backoff(ofSeconds(4), ofSeconds(4)));
        Throwable[] failed = new Throwable[1];
        Mono.error(new IllegalStateException("reset")).transform(calls.limit()).subscribe(v -> {}, e -> failed[0] = e);
        time.runTo(ofMillis(1_999));
        assertThat(failed[0]).isNull();
        time.runTo(ofSeconds(2));
        assertThat(failed[0]).isInstanceOf(RateLimitedException.class).hasMessageContaining("PT9.01S");
        assertThat(failed[0].getCause()).hasMessage("reset");
    }
}
