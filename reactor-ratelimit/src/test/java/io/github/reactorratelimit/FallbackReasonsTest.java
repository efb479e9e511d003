package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Fallback.Reason;
import io.github.reactorratelimit.signal.Dialects;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** Each reason to go on to the next source against the failures that it is for: alone, and switched off. */
class FallbackReasonsTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RetryScript wire = new RetryScript(time);
    private final PermitSource cheap = limiter().build();

    private RateLimiterSpec limiter() {
        return RateLimiter.named("one").scheduler(() -> time).jitter(0).random(() -> 0.5);
    }

    /** A way to fail, and why a call goes on then. */
    enum Way {
        LINE(Reason.WAIT, RateLimitedException.class),
        CLOSED(Reason.WAIT, RateLimitedException.class),
        FULL(Reason.WAIT, QueueFullException.class),
        NEVER(Reason.WAIT, RateLimitedException.class),
        BREAKER(Reason.BREAKER, RateLimitedException.class),
        RETRIES(Reason.EXHAUSTED, RetriesExhaustedException.class),
        REFUSALS(Reason.EXHAUSTED, RetriesExhaustedException.class),
        TIMEOUT(Reason.TIMEOUT, AttemptTimeoutException.class),
        LAST_TIMEOUT(Reason.TIMEOUT, RetriesExhaustedException.class),
        TERMINAL(Reason.TERMINAL, TerminalThrottleException.class),
        DISPOSED(Reason.UNAVAILABLE, LimiterDisposedException.class);

        private final Reason reason;
        private final Class<? extends Throwable> error;

        Way(Reason reason, Class<? extends Throwable> error) {
            this.reason = reason;
            this.error = error;
        }
    }

    private static RetryPolicy policy() {
        return RetryPolicy.attempts(2).backoff(ofMillis(10), ofMillis(10)).attemptTimeout(ofMillis(100));
    }

    /** A source at which the next call fails that way. */
    private PermitSource failing(Way way) {
        return switch (way) {
            case LINE, NEVER -> {
                RateLimiter limiter = limiter().limit(Limit.of(1, ofMinutes(1))).build();
                limiter.tryAcquire();
                yield limiter.asking(demand -> way == Way.NEVER ? demand.cost(2) : demand.maxWait(ofSeconds(1)));
            }
            case CLOSED -> {
                RateLimiter limiter = limiter().build();
                limiter.pause(Demand.one(), ofMinutes(1));
                yield limiter.asking(demand -> demand.maxWait(ofSeconds(1)));
            }
            case FULL -> {
                RateLimiter limiter =
                        limiter().limit(Limit.inFlight(1)).maxPending(1, 1).build();
                limiter.tryAcquire();
                limiter.acquire(Demand.one()).subscribe();
                yield limiter;
            }
            case BREAKER -> {
                RateLimiter limiter = limiter().breaker().build();
                for (int i = 0; i < 20; i++) {
                    RetryScript broken = new RetryScript(time).then(500);
                    broken.on(limiter.calls())
                            .idempotent(false)
                            .retry(RetryPolicy.none())
                            .use(source -> Demand.one(), permit -> broken.call())
                            .subscribe(answer -> {}, error -> {});
                }
                yield limiter.calls().failFast();
            }
            case RETRIES ->
                wire.then(500)
                        .then(500)
                        .on(limiter().build().calls())
                        .idempotent(true)
                        .retry(policy());
            case REFUSALS -> {
                for (int i = 0; i < 30; i++) {
                    wire.then(429, "Retry-After", "0");
                }
                yield wire.on(limiter().build().calls()).retry(policy());
            }
            case TIMEOUT -> limiter().build().calls().retry(policy());
            case LAST_TIMEOUT -> limiter().build().calls().idempotent(true).retry(policy());
            case TERMINAL -> {
                wire.then(429, "x-should-retry", "false");
                yield wire.on(limiter().dialect(Dialects.openAi()).build().calls());
            }
            case DISPOSED -> {
                RateLimiter limiter = limiter().build();
                limiter.dispose();
                yield limiter;
            }
        };
    }

    private TestSubscriber<String> call(Fallback choice, Way way) {
        TestSubscriber<String> call = choice.use(
                        source -> Demand.one(),
                        permit -> permit.source() == cheap
                                ? Mono.<Object>just("cheap")
                                : way.name().contains("TIMEOUT")
                                        ? Mono.never()
                                        : wire.call().cast(Object.class))
                .map(String::valueOf)
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofHours(3));
        return call;
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void alone_it_makes_a_call_go_on(Way way) {
        Set<Reason> others = EnumSet.complementOf(EnumSet.of(way.reason));
        Fallback choice =
                PermitSource.firstWithin(ofHours(9), failing(way), cheap).without(others.toArray(Reason[]::new));
        assertThat(call(choice, way).getReceivedOnNext()).containsExactly("cheap");
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void switched_off_it_is_the_outcome(Way way) {
        Fallback choice =
                PermitSource.firstWithin(ofHours(9), failing(way), cheap).without(way.reason);
        if (way == Way.BREAKER) {
            choice = choice.without(Reason.WAIT); // It is a wait like any other then.
        }
        assertThat(call(choice, way).expectTerminalError()).isInstanceOf(way.error);
    }

    @ParameterizedTest
    @EnumSource(Way.class)
    void every_reason_has_a_failure(Way way) {
        assertThat(Arrays.stream(Way.values()).map(one -> one.reason)).contains(Reason.values());
        assertThat(call(PermitSource.firstWithin(ofHours(9), failing(way), cheap), way)
                        .getReceivedOnNext())
                .containsExactly("cheap");
    }
}
