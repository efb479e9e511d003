package io.github.reactorratelimit;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** {@code limit()} around a Mono and around a Flux, without anything to try again. */
class LimitOperatorTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter limiter(Limit... limits) {
        return RateLimiter.named("api").limit(limits).scheduler(() -> time).build();
    }

    private static long available(RateLimiter limiter) {
        return limiter.snapshot().root().limits().get(0).available();
    }

    private static void assertNobodyWaits(RateLimiter limiter) {
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().timers()).isZero();
    }

    // ------------------------------------------------------------------------------------------------ laziness

    @Test
    void building_a_call_takes_nothing() { // B16
        RateLimiter limiter = limiter(Limit.of(5, ofSeconds(10)));
        AtomicInteger subscribed = new AtomicInteger();
        Mono.fromSupplier(subscribed::incrementAndGet).transform(limiter.limit());
        Flux.defer(() -> Flux.just(subscribed.incrementAndGet())).transform(limiter.limit());
        assertThat(subscribed).hasValue(0);
        assertThat(available(limiter)).isEqualTo(5);
    }

    @Test
    void a_subscriber_gets_its_subscription_at_once_and_nothing_else_before_it_requests() {
        RateLimiter limiter = limiter(Limit.of(5, ofSeconds(10)));
        AtomicInteger subscribed = new AtomicInteger();
        List<String> events = new ArrayList<>();
        BaseSubscriber<Integer> mono = new Noting(events);
        Mono.fromSupplier(subscribed::incrementAndGet)
                .transform(limiter.<Integer>limit())
                .subscribe(mono);
        BaseSubscriber<Integer> flux = new Noting(events);
        Flux.defer(() -> Flux.just(subscribed.incrementAndGet()))
                .transform(limiter.<Integer>limit())
                .subscribe(flux);
        assertThat(events).containsExactly("subscribed", "subscribed");
        assertThat(subscribed).hasValue(0);
        assertThat(available(limiter)).isEqualTo(5);
        mono.request(1);
        flux.request(1);
        assertThat(events).containsExactly("subscribed", "subscribed", "1", "complete", "2", "complete");
        assertThat(available(limiter)).isEqualTo(3);
    }

    @Test
    void a_subscriber_gets_its_subscription_at_once_even_if_it_has_to_wait() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        limiter.tryAcquire();
        List<String> events = new ArrayList<>();
        BaseSubscriber<Integer> waiting = new Noting(events);
        Mono.just(1).transform(limiter.<Integer>limit()).subscribe(waiting);
        waiting.request(1);
        assertThat(events).containsExactly("subscribed");
        assertThat(limiter.snapshot().waiting()).isEqualTo(1);
    }

    @Test
    void each_subscription_takes_a_permit_of_its_own() { // B16
        RateLimiter limiter = limiter(Limit.of(10, ofSeconds(10)));
        AtomicInteger subscribed = new AtomicInteger();
        Mono<Integer> call = Mono.fromSupplier(subscribed::incrementAndGet).transform(limiter.limit());
        call.subscribe();
        call.subscribe();
        call.subscribe();
        assertThat(subscribed).hasValue(3);
        assertThat(available(limiter)).isEqualTo(7);
    }

    @Test
    void a_retry_of_the_callers_own_takes_a_permit_per_subscription() { // B16
        RateLimiter limiter = limiter(Limit.of(10, ofSeconds(10)));
        AtomicInteger subscribed = new AtomicInteger();
        Mono<Integer> failing = Mono.<Integer>error(() -> {
            subscribed.incrementAndGet();
            return new IllegalStateException("no");
        });
        StepVerifier.create(failing.transform(limiter.<Integer>limit()).retry(2))
                .verifyErrorMessage("no");
        assertThat(subscribed).hasValue(3);
        assertThat(available(limiter)).isEqualTo(7);
    }

    @Test
    void a_mono_stays_a_mono_and_anything_else_becomes_a_flux() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        assertThat(limiter.<Integer>limit().apply(Mono.just(1))).isInstanceOf(Mono.class);
        assertThat(limiter.<Integer>limit().apply(Flux.just(1))).isInstanceOf(Flux.class);
        Publisher<Integer> foreign = subscriber -> Mono.just(1).subscribe(subscriber);
        assertThat(limiter.<Integer>limit().apply(foreign)).isInstanceOf(Flux.class);
    }

    @Test
    void a_hundred_thousand_calls_that_complete_at_once_need_no_stack() { // B04
        RateLimiter limiter = RateLimiter.named("api")
                .limit(Limit.inFlight(1))
                .maxPending(200_000, 200_000)
                .scheduler(() -> time)
                .build();
        Permit held = limiter.tryAcquire().permit();
        List<Integer> order = new ArrayList<>();
        for (int n = 0; n < 100_000; n++) {
            Mono.just(n).transform(limiter.<Integer>limit()).subscribe(order::add);
        }
        assertThat(order).isEmpty();
        held.release();
        assertThat(order).hasSize(100_000).isSorted();
        assertThat(available(limiter)).isEqualTo(1);
    }

    // ---------------------------------------------------------------------------------------- leaving the line

    @Test
    void a_call_cancelled_while_it_waits_leaves_no_trace_and_never_subscribes_its_source() {
        RateLimiter limiter = limiter(Limit.of(1, ofSeconds(10)));
        limiter.tryAcquire();
        AtomicInteger subscribed = new AtomicInteger();
        var waiting = Mono.fromSupplier(subscribed::incrementAndGet)
                .transform(limiter.limit())
                .subscribe();
        var next = Mono.just("next").transform(limiter.<String>limit()).subscribeWith(TestSubscriber.create());
        waiting.dispose();
        assertThat(limiter.snapshot().waiting()).isEqualTo(1);
        time.advanceTimeBy(ofSeconds(11));
        assertThat(next.getReceivedOnNext()).containsExactly("next");
        time.advanceTimeBy(ofHours(1));
        assertThat(subscribed).hasValue(0);
        assertThat(available(limiter)).isEqualTo(1);
        assertNobodyWaits(limiter);
    }

    @Test
    void a_call_cancelled_in_onSubscribe_consumes_nothing() { // B48
        RateLimiter limiter = limiter(Limit.of(1, ofSeconds(10)));
        AtomicInteger subscribed = new AtomicInteger();
        Mono<Integer> call = Mono.fromSupplier(subscribed::incrementAndGet).transform(limiter.limit());
        Flux<Integer> calls =
                Flux.defer(() -> Flux.just(subscribed.incrementAndGet())).transform(limiter.limit());
        call.subscribe(new CancelsOnSubscribe(0));
        calls.subscribe(new CancelsOnSubscribe(0));
        calls.subscribe(new CancelsOnSubscribe(1));
        assertThat(available(limiter)).isEqualTo(1);
        assertThat(subscribed).hasValue(0);
        assertNobodyWaits(limiter);
    }

    @Test
    void a_callers_timeout_takes_it_out_of_the_line() {
        RateLimiter limiter = limiter(Limit.of(1, ofSeconds(10)));
        limiter.tryAcquire();
        AtomicInteger subscribed = new AtomicInteger();
        var waiting = Mono.fromSupplier(subscribed::incrementAndGet)
                .transform(limiter.<Integer>limit())
                .timeout(ofSeconds(1), time)
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMillis(999));
        assertThat(waiting.isTerminated()).isFalse();
        time.advanceTimeBy(ofMillis(1));
        assertThat(waiting.expectTerminalError()).isInstanceOf(TimeoutException.class);
        assertNobodyWaits(limiter);
        time.advanceTimeBy(ofHours(1));
        assertThat(subscribed).hasValue(0);
        assertThat(available(limiter)).isEqualTo(1);
    }

    @Test
    void a_permit_that_frees_up_in_the_instant_the_wait_ends_serves_the_call_or_the_next() { // B05
        for (boolean releasedFirst : List.of(true, false)) {
            RateLimiter limiter = limiter(Limit.inFlight(1));
            Permit held = limiter.tryAcquire().permit();
            if (releasedFirst) {
                time.schedule(held::release, 1, TimeUnit.SECONDS);
            }
            var waiting = Mono.just("served")
                    .transform(limiter.<String>limit(Demand.one().maxWait(ofSeconds(1))))
                    .subscribeWith(TestSubscriber.create());
            if (!releasedFirst) {
                time.schedule(held::release, 1, TimeUnit.SECONDS);
            }
            time.advanceTimeBy(ofSeconds(1));
            assertThat(waiting.isTerminated()).isTrue();
            assertThat(waiting.getReceivedOnNext().size() + (waiting.isTerminatedError() ? 1 : 0))
                    .isEqualTo(1);
            assertThat(available(limiter)).isEqualTo(1);
            assertNobodyWaits(limiter);
        }
    }

    @Test
    void a_limiter_that_is_disposed_fails_who_waits_and_who_comes() { // B56
        RateLimiter limiter = limiter(Limit.inFlight(1));
        limiter.tryAcquire();
        Mono<Integer> call = Mono.just(1).transform(limiter.limit());
        var waiting = call.subscribeWith(TestSubscriber.create());
        limiter.dispose();
        assertThat(waiting.expectTerminalError()).isInstanceOf(LimiterDisposedException.class);
        StepVerifier.create(call).verifyError(LimiterDisposedException.class);
        assertNobodyWaits(limiter);
    }

    @Test
    void a_call_that_can_never_pass_fails_at_once_unsubscribed_and_holds_nobody_up() { // B19
        RateLimiter limiter = limiter(Limit.bucket(10, 1, ofSeconds(1)));
        AtomicInteger subscribed = new AtomicInteger();
        Mono<Integer> source = Mono.fromSupplier(subscribed::incrementAndGet);
        Demand heavy = Demand.one().cost(11);
        for (Publisher<Integer> call : List.<Publisher<Integer>>of(
                source.transform(limiter.<Integer>limit(heavy)),
                source.flux().transform(limiter.<Integer>limit(heavy)),
                limiter.calls().exchange(heavy, exchange -> source))) {
            StepVerifier.create(call).verifyError(RateLimitedException.class);
        }
        StepVerifier.create(Flux.just(1).transform(limiter.<Integer>limitEach(heavy)))
                .verifyError(RateLimitedException.class);
        assertThat(subscribed).hasValue(0);
        assertThat(available(limiter)).isEqualTo(10);
        assertNobodyWaits(limiter);
        StepVerifier.create(source.transform(limiter.<Integer>limit(Demand.one().cost(10))))
                .expectNext(1)
                .verifyComplete();
    }

    @Test
    void a_demand_without_an_attribute_is_an_error_that_names_it() {
        RateLimiter limiter = RateLimiter.named("api")
                .scope(Scope.by("endpoint", "token").otherwise(Limit.inFlight(1)))
                .scheduler(() -> time)
                .build();
        AtomicInteger subscribed = new AtomicInteger();
        StepVerifier.create(Mono.fromSupplier(subscribed::incrementAndGet)
                        .transform(limiter.limit(Demand.of("endpoint", "/search"))))
                .verifyErrorSatisfies(e -> assertThat(e)
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("token"));
        assertThat(subscribed).hasValue(0);
    }

    @Test
    void a_demand_that_cannot_be_made_is_an_error_of_the_call() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        StepVerifier.create(Mono.just(1).transform(limiter.calls().limitBy(context -> {
                    throw new IllegalStateException("no user in the Context");
                })))
                .verifyErrorMessage("no user in the Context");
        assertThat(available(limiter)).isEqualTo(1);
    }

    // -------------------------------------------------------------------------------------------- the Context

    @Test
    void the_callers_context_reaches_the_source_and_the_demand() { // B41
        RateLimiter limiter = RateLimiter.named("api")
                .scope(Scope.by("user").otherwise(Limit.of(5, ofSeconds(10))))
                .scheduler(() -> time)
                .build();
        Mono<String> mono = Mono.deferContextual(context -> Mono.just(context.get("user")));
        Flux<String> flux = Flux.deferContextual(context -> Flux.just(context.<String>get("user")));
        StepVerifier.create(mono.transform(
                                limiter.calls().<String>limitBy(context -> Demand.of("user", context.get("user"))))
                        .contextWrite(context -> context.put("user", "ann")))
                .expectNext("ann")
                .verifyComplete();
        StepVerifier.create(flux.transform(
                                limiter.calls().<String>limitBy(context -> Demand.of("user", context.get("user"))))
                        .contextWrite(context -> context.put("user", "bob")))
                .expectNext("bob")
                .verifyComplete();
        assertThat(limiter.snapshot().scopes().stream().map(RateLimiterSnapshot.ScopeState::keys))
                .containsExactlyInAnyOrder(List.of(), List.of("user=ann"), List.of("user=bob"));
    }

    @Test
    void the_lane_may_come_from_the_context() {
        RateLimiter limiter = RateLimiter.named("api")
                .limit(Limit.inFlight(1))
                .lane("background", Share.of(1))
                .scheduler(() -> time)
                .build();
        Permit held = limiter.tryAcquire().permit();
        List<String> order = new ArrayList<>();
        Mono.fromRunnable(() -> order.add("background"))
                .transform(limiter.limit())
                .contextWrite(RateLimitContext.lane("background"))
                .subscribe();
        Mono.fromRunnable(() -> order.add("interactive"))
                .transform(limiter.limit())
                .subscribe();
        held.release();
        assertThat(order).containsExactly("interactive", "background");
    }

    // ------------------------------------------------------------------------------------- the permit in flight

    @Test
    void a_mono_holds_its_permit_until_its_signal() {
        RateLimiter limiter = limiter(Limit.inFlight(3));
        Sinks.One<String> answer = Sinks.one();
        var call = answer.asMono().transform(limiter.<String>limit()).subscribeWith(TestSubscriber.create());
        assertThat(available(limiter)).isEqualTo(2);
        answer.tryEmitValue("a").orThrow();
        assertThat(call.getReceivedOnNext()).containsExactly("a");
        assertThat(available(limiter)).isEqualTo(3);
    }

    @Test
    void a_flux_holds_its_permit_to_its_end() {
        RateLimiter limiter = limiter(Limit.inFlight(3));
        TestPublisher<String> source = TestPublisher.create();
        var call = source.flux().transform(limiter.<String>limit()).subscribeWith(TestSubscriber.create());
        source.next("a", "b");
        assertThat(call.getReceivedOnNext()).containsExactly("a", "b");
        assertThat(available(limiter)).isEqualTo(2);
        source.complete();
        assertThat(call.isTerminatedComplete()).isTrue();
        assertThat(available(limiter)).isEqualTo(3);
    }

    @Test
    void a_flux_that_fails_midway_gives_its_permit_back() {
        RateLimiter limiter = limiter(Limit.inFlight(3));
        TestPublisher<String> source = TestPublisher.create();
        var call = source.flux().transform(limiter.<String>limit()).subscribeWith(TestSubscriber.create());
        source.next("a");
        source.error(new IllegalStateException("broken"));
        assertThat(call.getReceivedOnNext()).containsExactly("a");
        assertThat(call.expectTerminalError()).hasMessage("broken");
        assertThat(available(limiter)).isEqualTo(3);
    }

    @Test
    void a_running_call_that_is_cancelled_cancels_its_source_and_gives_its_permit_back() {
        RateLimiter limiter = limiter(Limit.inFlight(3));
        TestPublisher<String> source = TestPublisher.create();
        var flux = source.flux().transform(limiter.<String>limit()).subscribe();
        var mono = source.mono().transform(limiter.<String>limit()).subscribe();
        assertThat(available(limiter)).isEqualTo(1);
        flux.dispose();
        mono.dispose();
        flux.dispose();
        source.assertCancelled(2);
        assertThat(available(limiter)).isEqualTo(3);
        assertNobodyWaits(limiter);
    }

    @Test
    void a_permit_comes_back_once_however_the_consumer_leaves() { // B20
        RateLimiter limiter = limiter(Limit.inFlight(3));
        Flux<Integer> numbers = Flux.range(1, 3).transform(limiter.limit());
        Flux<Integer> broken =
                Flux.<Integer>error(() -> new IllegalStateException("broken")).transform(limiter.limit());
        Mono<Integer> number = Mono.just(1).transform(limiter.limit());
        Mono<Integer> none = Mono.<Integer>empty().transform(limiter.limit());
        for (Leaves when : Leaves.values()) {
            for (var call : List.of(numbers, broken, number, none)) {
                Leaving leaving = new Leaving(when);
                call.subscribe(leaving);
                assertThat(available(limiter)).as("after leaving %s", when).isEqualTo(3);
                leaving.cancel();
                assertThat(available(limiter))
                        .as("after leaving %s twice", when)
                        .isEqualTo(3);
            }
        }
        assertNobodyWaits(limiter);
    }

    @Test
    void a_call_may_start_the_next_one_from_its_own_last_signal() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        Mono<Integer> call = Mono.just(1).transform(limiter.limit());
        StepVerifier.create(call.flatMap(one -> call).then(call).concatWith(call))
                .expectNext(1, 1)
                .verifyComplete();
        assertThat(available(limiter)).isEqualTo(1);
    }

    @Test
    void an_empty_mono_stays_empty_and_an_error_stays_what_it_is() {
        RateLimiter limiter = limiter(Limit.inFlight(3), Limit.of(10, ofSeconds(10)));
        IllegalStateException error = new IllegalStateException("mine");
        StepVerifier.create(Mono.empty().transform(limiter.limit())).verifyComplete();
        StepVerifier.create(Flux.empty().transform(limiter.limit())).verifyComplete();
        StepVerifier.create(Mono.error(error).transform(limiter.limit()))
                .verifyErrorSatisfies(e -> assertThat(e).isSameAs(error));
        StepVerifier.create(Flux.error(error).transform(limiter.limit()))
                .verifyErrorSatisfies(e -> assertThat(e).isSameAs(error));
        assertThat(available(limiter)).isEqualTo(3);
        assertThat(limiter.snapshot().root().limits().get(1).available()).isEqualTo(6);
    }

    @Test
    void a_source_that_cannot_be_assembled_is_an_error_that_gives_the_permit_back() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        Mono<String> call = limiter.calls().exchange(Demand.one(), exchange -> {
            throw new IllegalStateException("no client");
        });
        StepVerifier.create(call).verifyErrorMessage("no client");
        Flux<String> calls = limiter.calls().exchangeMany(Demand.one(), exchange -> {
            throw new IllegalStateException("no client");
        });
        StepVerifier.create(calls).verifyErrorMessage("no client");
        assertThat(available(limiter)).isEqualTo(1);
    }

    @Test
    void a_consumer_that_throws_neither_keeps_the_permit_nor_stops_those_behind_it() { // B04
        RateLimiter limiter = limiter(Limit.inFlight(1));
        for (Throws when : Throws.values()) {
            Permit held = limiter.tryAcquire().permit();
            Flux.just(1).transform(limiter.<Integer>limit()).subscribe(new Throwing(when));
            Mono.just(1).transform(limiter.<Integer>limit()).subscribe(new Throwing(when));
            Flux.<Integer>error(new IllegalStateException("broken"))
                    .transform(limiter.<Integer>limit())
                    .subscribe(new Throwing(when));
            var behind = Mono.just("served").transform(limiter.<String>limit()).subscribeWith(TestSubscriber.create());
            held.release();
            assertThat(behind.getReceivedOnNext())
                    .as("behind one that throws in %s", when)
                    .containsExactly("served");
            assertThat(available(limiter)).isEqualTo(1);
        }
    }

    @Test
    void a_consumer_that_throws_when_served_at_once_does_not_stop_those_behind_it() { // B04
        RateLimiter limiter = limiter(Limit.inFlight(1));
        for (Throws when : Throws.values()) {
            TestPublisher<Integer> source = TestPublisher.create();
            source.flux().transform(limiter.<Integer>limit()).subscribe(new Throwing(when));
            var behind = Mono.just("served").transform(limiter.<String>limit()).subscribeWith(TestSubscriber.create());
            try {
                source.next(1);
                source.complete();
            } catch (IllegalStateException expected) {
                assertThat(expected).hasMessage("the consumer's fault");
                source.complete();
            }
            assertThat(behind.getReceivedOnNext())
                    .as("behind one that throws in %s", when)
                    .containsExactly("served");
            assertThat(available(limiter)).isEqualTo(1);
        }
        TestPublisher<Integer> single = TestPublisher.create();
        single.mono().transform(limiter.<Integer>limit()).subscribe(new Throwing(Throws.ON_NEXT));
        var behind = Mono.just("served").transform(limiter.<String>limit()).subscribeWith(TestSubscriber.create());
        assertThatThrownBy(() -> single.next(1)).hasMessage("the consumer's fault");
        assertThat(behind.getReceivedOnNext()).containsExactly("served");
        assertThat(available(limiter)).isEqualTo(1);
    }

    // ------------------------------------------------------------------------------------------------- demand

    @Test
    void a_flux_gives_no_more_than_was_requested() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        var call = Flux.range(1, 10)
                .transform(limiter.<Integer>limit())
                .subscribeWith(TestSubscriber.builder().initialRequest(0).<Integer>build());
        call.request(3);
        assertThat(call.getReceivedOnNext()).containsExactly(1, 2, 3);
        call.request(2);
        assertThat(call.getReceivedOnNext()).containsExactly(1, 2, 3, 4, 5);
        assertThat(available(limiter)).isZero();
        call.request(Long.MAX_VALUE);
        assertThat(call.isTerminatedComplete()).isTrue();
        assertThat(available(limiter)).isEqualTo(1);
    }

    @Test
    void requests_made_while_a_call_waits_are_not_forgotten() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        Permit held = limiter.tryAcquire().permit();
        var call = Flux.range(1, 10)
                .transform(limiter.<Integer>limit())
                .subscribeWith(TestSubscriber.builder().initialRequest(1).<Integer>build());
        call.request(1);
        call.request(2);
        held.release();
        assertThat(call.getReceivedOnNext()).containsExactly(1, 2, 3, 4);
    }

    // --------------------------------------------------------------------------------------- the attempt timeout

    @Test
    void an_attempt_without_an_answer_fails_at_its_timeout_and_gives_its_permit_back() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        TestPublisher<String> source = TestPublisher.create();
        var call = source.mono().transform(limiter.<String>limit()).subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofSeconds(20).minusNanos(1));
        assertThat(call.isTerminated()).isFalse();
        source.assertNotCancelled();
        time.advanceTimeBy(ofMillis(0).plusNanos(1));
        assertThat(call.expectTerminalError()).isInstanceOfSatisfying(AttemptTimeoutException.class, e -> {
            assertThat(e.timeout()).isEqualTo(ofSeconds(20));
            assertThat(e.mayHaveBeenSent()).isTrue();
        });
        source.assertCancelled();
        assertThat(available(limiter)).isEqualTo(1);
        assertNobodyWaits(limiter);
    }

    @Test
    void the_attempt_timeout_of_a_flux_ends_with_its_first_element() {
        RateLimiter limiter = limiter(Limit.inFlight(2));
        TestPublisher<String> source = TestPublisher.create();
        var begun = source.flux().transform(limiter.<String>limit()).subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofSeconds(19));
        source.next("a");
        time.advanceTimeBy(ofDays(1));
        assertThat(begun.isTerminated()).isFalse();
        var silent = TestPublisher.<String>create()
                .flux()
                .transform(limiter.<String>limit())
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofSeconds(20));
        assertThat(silent.expectTerminalError()).isInstanceOf(AttemptTimeoutException.class);
    }

    @Test
    void without_a_timeout_an_attempt_takes_as_long_as_it_takes() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        TestPublisher<String> source = TestPublisher.create();
        var call = source.mono()
                .transform(limiter.calls()
                        .retry(RetryPolicy.standard().noTimeout())
                        .<String>limit())
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofDays(365));
        assertThat(call.isTerminated()).isFalse();
        source.emit("at last");
        assertThat(call.getReceivedOnNext()).containsExactly("at last");
    }

    @Test
    void the_attempt_timeout_does_not_run_while_the_call_stands_in_line() { // B42
        RateLimiter limiter = limiter(Limit.of(1, ofSeconds(8)));
        limiter.tryAcquire();
        var call = Mono.just("done")
                .delayElement(ofSeconds(1), time)
                .transform(limiter.calls()
                        .retry(RetryPolicy.none().attemptTimeout(ofSeconds(2)))
                        .<String>limit())
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofSeconds(10));
        assertThat(call.getReceivedOnNext()).containsExactly("done");
    }

    @Test
    void an_answer_in_time_ends_the_timeout() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        Mono.just("done")
                .delayElement(ofSeconds(1), time)
                .transform(limiter.limit())
                .subscribe();
        assertThat(limiter.snapshot().timers()).isEqualTo(1);
        time.advanceTimeBy(ofSeconds(1));
        assertNobodyWaits(limiter);
    }

    @Test
    void a_source_whose_subscription_comes_after_the_timeout_is_cancelled() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        List<CoreSubscriber<? super String>> late = new ArrayList<>();
        Flux<String> source = new Flux<>() {
            @Override
            public void subscribe(CoreSubscriber<? super String> actual) {
                late.add(actual);
            }
        };
        var call = source.transform(limiter.<String>limit()).subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofSeconds(20));
        assertThat(call.expectTerminalError()).isInstanceOf(AttemptTimeoutException.class);
        List<String> signals = new ArrayList<>();
        late.get(0).onSubscribe(new Subscription() {
            @Override
            public void request(long n) {
                signals.add("request");
            }

            @Override
            public void cancel() {
                signals.add("cancel");
            }
        });
        assertThat(signals).containsExactly("cancel");
    }

    @Test
    void an_element_that_comes_after_a_cancel_or_a_timeout_is_discarded() {
        RateLimiter limiter = limiter(Limit.inFlight(3));
        for (boolean single : List.of(true, false)) {
            for (boolean cancelled : List.of(true, false)) {
                List<Integer> discarded = new ArrayList<>();
                List<CoreSubscriber<? super Integer>> late = new ArrayList<>();
                Flux<Integer> keeping = new Flux<>() {
                    @Override
                    public void subscribe(CoreSubscriber<? super Integer> actual) {
                        late.add(actual);
                        actual.onSubscribe(Operators.emptySubscription());
                    }
                };
                Flux<Integer> limited = single
                        ? Mono.fromDirect(keeping)
                                .transform(limiter.<Integer>limit())
                                .flux()
                        : keeping.transform(limiter.<Integer>limit());
                var call = limited.onErrorResume(AttemptTimeoutException.class, e -> Flux.empty())
                        .doOnDiscard(Integer.class, discarded::add)
                        .subscribe();
                if (cancelled) {
                    call.dispose();
                } else {
                    time.advanceTimeBy(ofSeconds(20));
                }
                late.get(0).onNext(1);
                assertThat(discarded)
                        .as("single %s, cancelled %s", single, cancelled)
                        .containsExactly(1);
                assertThat(available(limiter)).isEqualTo(3);
            }
        }
    }

    /** Notes signals and requests nothing by itself. */
    private static final class Noting extends BaseSubscriber<Integer> {

        private final List<String> events;

        Noting(List<String> events) {
            this.events = events;
        }

        @Override
        protected void hookOnSubscribe(Subscription subscription) {
            events.add("subscribed");
        }

        @Override
        protected void hookOnNext(Integer value) {
            events.add(value.toString());
        }

        @Override
        protected void hookOnComplete() {
            events.add("complete");
        }
    }

    private static final class CancelsOnSubscribe extends BaseSubscriber<Integer> {

        private final long requests;

        CancelsOnSubscribe(long requests) {
            this.requests = requests;
        }

        @Override
        protected void hookOnSubscribe(Subscription subscription) {
            subscription.cancel();
            if (requests > 0) {
                subscription.request(requests);
            }
        }
    }

    private enum Leaves {
        ON_NEXT,
        ON_COMPLETE,
        ON_ERROR,
        NEVER
    }

    /** Cancels from within a signal. */
    private static final class Leaving implements CoreSubscriber<Integer> {

        private final Leaves when;
        private final List<Subscription> subscription = new ArrayList<>();

        Leaving(Leaves when) {
            this.when = when;
        }

        void cancel() {
            subscription.get(0).cancel();
        }

        private void maybe(Leaves now) {
            if (when == now) {
                cancel();
            }
        }

        @Override
        public void onSubscribe(Subscription s) {
            subscription.add(s);
            s.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Integer value) {
            maybe(Leaves.ON_NEXT);
        }

        @Override
        public void onError(Throwable error) {
            maybe(Leaves.ON_ERROR);
        }

        @Override
        public void onComplete() {
            maybe(Leaves.ON_COMPLETE);
        }
    }

    private enum Throws {
        ON_NEXT,
        ON_END
    }

    /** Breaks the rule that a subscriber must not throw. */
    private static final class Throwing implements CoreSubscriber<Integer> {

        private final Throws when;

        Throwing(Throws when) {
            this.when = when;
        }

        @Override
        public void onSubscribe(Subscription s) {
            s.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Integer value) {
            fail(Throws.ON_NEXT);
        }

        @Override
        public void onError(Throwable error) {
            fail(Throws.ON_END);
        }

        @Override
        public void onComplete() {
            fail(Throws.ON_END);
        }

        private void fail(Throws now) {
            if (when == now) {
                throw new IllegalStateException("the consumer's fault");
            }
        }
    }
}
