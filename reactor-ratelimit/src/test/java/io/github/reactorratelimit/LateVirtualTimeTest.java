package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Virtual time begins and ends whenever it likes: before the limiter is built, after it was used, twice, and no more. */
class LateVirtualTimeTest {

    private static final Limit LIMIT = Limit.bucket(1, 1, ofSeconds(5));
    private static final Duration PATIENCE = ofSeconds(20);

    /** A waiting call through one of the entry points. */
    private record Entry(String name, Function<RateLimiter, Mono<?>> call) {
        Mono<?> on(RateLimiter limiter) {
            return call.apply(limiter);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Entry> entries() {
        return Stream.of(
                new Entry("a bare acquire", limiter -> limiter.acquire(Demand.one())),
                new Entry("the operator", limiter -> Mono.just("answer").transform(limiter.limit())),
                new Entry(
                        "limitEach",
                        limiter -> Mono.just("element")
                                .flux()
                                .transform(limiter.limitEach())
                                .single()));
    }

    @AfterEach
    void real_time_again() {
        VirtualTimeScheduler.reset();
    }

    /** Exactly five seconds from now on, not a nanosecond before. */
    private static void assertWaitsFive(Entry entry, RateLimiter limiter) {
        StepVerifier.withVirtualTime(() -> entry.on(limiter))
                .expectSubscription()
                .expectNoEvent(ofSeconds(5).minusNanos(1))
                .thenAwait(Duration.ofNanos(1))
                .expectNextCount(1)
                .expectComplete()
                .verify(PATIENCE);
    }

    @ParameterizedTest
    @MethodSource("entries")
    void built_in_the_lambda(Entry entry) {
        StepVerifier.withVirtualTime(() -> {
                    RateLimiter limiter = RateLimiter.of(LIMIT);
                    limiter.tryAcquire();
                    return entry.on(limiter);
                })
                .expectSubscription()
                .expectNoEvent(ofSeconds(5))
                .expectNextCount(1)
                .expectComplete()
                .verify(PATIENCE);
    }

    @ParameterizedTest
    @MethodSource("entries")
    void built_outside_and_unused(Entry entry) { // B17
        RateLimiter limiter = RateLimiter.of(LIMIT.startingWith(0));
        assertWaitsFive(entry, limiter);
    }

    @ParameterizedTest
    @MethodSource("entries")
    void assembled_outside_and_unused(Entry entry) {
        Mono<?> call = entry.on(RateLimiter.of(LIMIT.startingWith(0)));
        StepVerifier.withVirtualTime(() -> call)
                .expectSubscription()
                .expectNoEvent(ofSeconds(5))
                .expectNextCount(1)
                .expectComplete()
                .verify(PATIENCE);
    }

    @ParameterizedTest
    @MethodSource("entries")
    void built_outside_and_used_in_real_time_first(Entry entry) { // B17
        // A period so long that the real time between the two steps doesn't matter.
        RateLimiter limiter = RateLimiter.of(Limit.of(1, ofHours(1)));
        assertThat(entry.on(limiter).block(PATIENCE)).isNotNull();
        StepVerifier.withVirtualTime(() -> entry.on(limiter))
                .expectSubscription()
                .expectNoEvent(ofHours(1).minus(PATIENCE))
                .thenAwait(PATIENCE.plusSeconds(4))
                .expectNextCount(1)
                .expectComplete()
                .verify(PATIENCE);
    }

    @ParameterizedTest
    @MethodSource("entries")
    void two_verifications_with_one_limiter(Entry entry) {
        RateLimiter limiter = RateLimiter.of(LIMIT.startingWith(0));
        assertWaitsFive(entry, limiter);
        assertWaitsFive(entry, limiter);
        assertWaitsFive(entry, limiter);
    }

    @ParameterizedTest
    @MethodSource("entries")
    void real_time_after_virtual_time_neither_grants_at_once_nor_hangs(Entry entry) {
        RateLimiter limiter = RateLimiter.of(Limit.bucket(1, 1, ofMillis(200)).startingWith(0));
        StepVerifier.withVirtualTime(() -> entry.on(limiter))
                .thenAwait(ofMillis(200))
                .expectNextCount(1)
                .expectComplete()
                .verify(PATIENCE);
        VirtualTimeScheduler.reset();
        assertThat(limiter.tryAcquire().allowed()).isFalse();
        assertThat(entry.on(limiter).block(PATIENCE)).isNotNull();
    }

    @ParameterizedTest
    @MethodSource("entries")
    void a_real_waiter_from_before_a_virtual_run_is_served_after_it(Entry entry) {
        RateLimiter limiter = RateLimiter.of(Limit.bucket(1, 1, ofMillis(300)).startingWith(0));
        Mono<?> waiting = entry.on(limiter).cache();
        waiting.subscribe();
        RateLimiter other = RateLimiter.of(LIMIT.startingWith(0));
        assertWaitsFive(entry, other);
        VirtualTimeScheduler.reset();
        limiter.snapshot();
        assertThat(waiting.block(PATIENCE)).isNotNull();
    }

    @ParameterizedTest
    @MethodSource("entries")
    void after_an_idle_wait_of_the_verifier_timers_that_ring_early_grant_nothing_early(Entry entry) { // fact 5
        VirtualTimeScheduler virtual = VirtualTimeScheduler.getOrSet(true);
        RateLimiter limiter = RateLimiter.of(LIMIT.startingWith(0), Limit.inFlight(9));
        limiter.estimate(Demand.one());
        virtual.advanceTimeBy(ofSeconds(12)); // with an empty queue: deferred
        assertThat(limiter.tryAcquire().allowed()).isTrue();
        boolean[] done = new boolean[1];
        entry.on(limiter).subscribe(any -> done[0] = true);
        assertThat(done[0]).isFalse();
        virtual.advanceTimeBy(ofSeconds(5).minusNanos(1));
        assertThat(done[0]).as("a nanosecond before").isFalse();
        virtual.advanceTimeBy(Duration.ofNanos(1));
        assertThat(done[0]).isTrue();
    }

    @ParameterizedTest
    @MethodSource("entries")
    void what_was_drained_is_full_again_after_an_idle_hour(Entry entry) { // B17
        StepVerifier.withVirtualTime(() -> {
                    RateLimiter limiter = RateLimiter.of(Limit.bucket(10, 1, ofSeconds(10)));
                    limiter.tryAcquire(Demand.one().cost(10));
                    return Mono.delay(ofHours(1))
                            .map(tick -> limiter.estimate(Demand.one()).remaining())
                            .flatMap(left -> entry.on(limiter).thenReturn(left));
                })
                .thenAwait(ofHours(1))
                .expectNext(9L)
                .expectComplete()
                .verify(PATIENCE);
    }
}
