package io.github.reactorratelimit.test;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.Scope;
import java.time.Duration;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * What is promised: {@code StepVerifier.withVirtualTime} works with any limiter, built inside or outside of it, used
 * before or not, and once more, and real time goes on as if nothing had been.
 */
class AnyLimiterInVirtualTimeTest {

    private static final Duration WAIT = ofSeconds(5);
    /** What margins may add to a wait. */
    private static final Duration MARGIN = ofSeconds(1);

    private static final Duration PATIENCE = ofSeconds(60);
    private static final Demand KEY = Demand.of("key", "virtual");
    private static final Demand OTHER = Demand.of("key", "real");
    private static final SimulatedRequest PAGE = SimulatedRequest.get("/page");

    /** A limiter, and something that waits five seconds in it with a key that nobody used. */
    private record Case(String name, RateLimiterSpec spec, Function<RateLimiter, Mono<?>> waiting) {

        Mono<?> on(RateLimiter limiter) {
            return waiting.apply(limiter);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static RateLimiterSpec each(Limit limit) {
        return RateLimiter.named("any")
                .scope(Scope.by("key").limits(limit))
                .jitter(0)
                .cooldown(WAIT, WAIT);
    }

    static Stream<Case> cases() {
        return Stream.of(
                twice("a window", each(Limit.of(1, WAIT))),
                twice("a smooth window", each(Limit.of(2, WAIT.multipliedBy(2)).smooth())),
                twice("a bucket", each(Limit.bucket(1, 1, WAIT))),
                new Case(
                        "a longest wait for one in flight",
                        each(Limit.inFlight(1)),
                        limiter -> limiter.acquire(KEY)
                                .flatMap(held -> limiter.acquire(KEY.maxWait(WAIT))
                                        .then()
                                        .onErrorComplete()
                                        .doFinally(end -> held.release()))),
                new Case(
                        "a window before each element",
                        each(Limit.of(1, WAIT)),
                        limiter -> Flux.just(1, 2)
                                .transform(limiter.calls().limitEach(KEY))
                                .then()),
                new Case(
                        "a pause by hand",
                        each(Limit.inFlight(1)),
                        limiter -> Mono.fromRunnable(() -> limiter.pause(KEY, WAIT))
                                .then(limiter.acquire(KEY))),
                calls(
                        "a refusal that says for how long",
                        each(Limit.inFlight(1)),
                        Reply.status(429).retryAfter(WAIT)),
                calls("a refusal that says nothing", each(Limit.inFlight(1)), Reply.status(429)),
                calls(
                        "no limits at all",
                        RateLimiter.named("none").jitter(0),
                        Reply.status(429).retryAfter(WAIT)),
                new Case("a learned limit", RateLimiter.named("learned").learn(), AnyLimiterInVirtualTimeTest::learned),
                new Case(
                        "the time of an attempt",
                        each(Limit.inFlight(1)),
                        limiter -> Mono.never()
                                .transform(limiter.calls()
                                        .retry(RetryPolicy.attempts(1).attemptTimeout(WAIT))
                                        .limit(KEY))
                                .onErrorComplete()));
    }

    private static Case twice(String name, RateLimiterSpec spec) {
        return new Case(name, spec, limiter -> limiter.acquire(KEY).then(limiter.acquire(KEY)));
    }

    private static Case calls(String name, RateLimiterSpec spec, Reply refusal) {
        return new Case(name, spec, limiter -> {
            ScriptedApi api = ScriptedApi.create().script("/page", refusal, Reply.ok());
            return page(limiter, api).doOnSuccess(done -> api.checkPlayed());
        });
    }

    private static Mono<?> learned(RateLimiter limiter) {
        Reply last = Reply.ok()
                .header("X-RateLimit-Limit", "1")
                .header("X-RateLimit-Remaining", "0")
                .header(
                        "X-RateLimit-Reset",
                        Long.toString(WAIT.toSeconds() - 1)); // Its fraction may have been cut off.
        ScriptedApi api = ScriptedApi.create().always("/page", last);
        return page(limiter, api).then(page(limiter, api));
    }

    private static Mono<SimulatedResponse> page(RateLimiter limiter, ScriptedApi api) {
        return api.call(PAGE)
                .transform(limiter.calls()
                        .responses(SimulatedResponse.class, Spiral.READER)
                        .limit(KEY));
    }

    @AfterEach
    void real_time_again() {
        VirtualTimeScheduler.reset();
    }

    private static void assertWaits(Case one, RateLimiter limiter) {
        StepVerifier.withVirtualTime(() -> one.on(limiter).thenReturn("done").defaultIfEmpty("done"))
                .expectSubscription()
                .expectNoEvent(WAIT.minusNanos(1))
                .thenAwait(MARGIN)
                .expectNext("done")
                .expectComplete()
                .verify(PATIENCE);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void built_inside(Case one) {
        StepVerifier.withVirtualTime(
                        () -> one.on(one.spec().build()).thenReturn("done").defaultIfEmpty("done"))
                .expectSubscription()
                .expectNoEvent(WAIT.minusNanos(1))
                .thenAwait(MARGIN)
                .expectNext("done")
                .expectComplete()
                .verify(PATIENCE);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void built_outside_and_not_used_before(Case one) {
        assertWaits(one, one.spec().build());
    }

    @ParameterizedTest
    @MethodSource("cases")
    void built_outside_and_used_in_real_time_before(Case one) {
        RateLimiter limiter = one.spec().build();
        call(limiter);

        assertWaits(one, limiter);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void used_in_one_verification_and_then_in_another(Case one) {
        RateLimiter limiter = one.spec().build();
        StepVerifier.withVirtualTime(() -> Mono.fromRunnable(() -> call(limiter)))
                .thenAwait(ofSeconds(3))
                .expectComplete()
                .verify(PATIENCE);

        assertWaits(one, limiter);
    }

    @ParameterizedTest
    @MethodSource("cases")
    void used_in_real_time_again_afterwards(Case one) {
        RateLimiter limiter = one.spec().build();
        assertWaits(one, limiter);
        VirtualTimeScheduler.reset();

        call(limiter);

        assertThat(limiter.snapshot().waiting()).isZero();
    }

    /** A call with a key of its own, which has room. */
    private static void call(RateLimiter limiter) {
        String answer = Mono.just("answer")
                .transform(limiter.calls().<String>limit(OTHER))
                .block(PATIENCE);
        assertThat(answer).isEqualTo("answer");
    }
}
