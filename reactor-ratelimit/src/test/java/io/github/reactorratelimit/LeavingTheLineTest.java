package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.subscriber.TestSubscriber;

/** A call that leaves its line, or can never pass: it takes nothing and holds nobody up. */
class LeavingTheLineTest extends LimitedCalls {

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
}
