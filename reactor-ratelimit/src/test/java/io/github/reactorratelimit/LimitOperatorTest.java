package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.subscriber.TestSubscriber;

/** {@code limit()} around a Mono and around a Flux, without anything to try again. */
class LimitOperatorTest extends LimitedCalls {

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
}
