package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.publisher.TestPublisher;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** {@code limitEach()}: a permit per element. */
class LimitEachTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RateLimiter limiter = RateLimiter.named("api")
            .limit(Limit.bucket(2, 1, ofSeconds(1)))
            .scheduler(() -> time)
            .build();

    private long available() {
        return limiter.snapshot().root().limits().get(0).available();
    }

    private static TestSubscriber<Integer> requesting(long n) {
        return TestSubscriber.builder().initialRequest(n).<Integer>build();
    }

    @Test
    void each_element_takes_a_permit() {
        var paced = Flux.range(1, 5).transform(limiter.<Integer>limitEach()).subscribeWith(TestSubscriber.create());
        assertThat(paced.getReceivedOnNext()).containsExactly(1, 2);
        time.advanceTimeBy(ofSeconds(1).minusNanos(1));
        assertThat(paced.getReceivedOnNext()).hasSize(2);
        time.advanceTimeBy(Duration.ofNanos(1));
        assertThat(paced.getReceivedOnNext()).containsExactly(1, 2, 3);
        time.advanceTimeBy(ofSeconds(2));
        assertThat(paced.getReceivedOnNext()).containsExactly(1, 2, 3, 4, 5);
        assertThat(paced.isTerminatedComplete()).isTrue();
    }

    @Test
    void the_cost_is_the_demands() {
        var paced = Flux.range(1, 3)
                .transform(limiter.<Integer>limitEach(Demand.one().cost(2)))
                .subscribeWith(TestSubscriber.create());
        assertThat(paced.getReceivedOnNext()).containsExactly(1);
        time.advanceTimeBy(ofSeconds(4));
        assertThat(paced.getReceivedOnNext()).containsExactly(1, 2, 3);
    }

    @Test
    void building_and_subscribing_without_a_request_takes_nothing() {
        List<Long> requests = new ArrayList<>();
        List<Integer> taken = new ArrayList<>();
        Flux<Integer> paced =
                Flux.range(1, 5).doOnRequest(requests::add).doOnNext(taken::add).transform(limiter.limitEach());
        TestSubscriber<Integer> subscriber = requesting(0);
        paced.subscribe(subscriber);
        assertThat(requests).isEmpty();
        assertThat(taken).isEmpty();
        assertThat(available()).isEqualTo(2);
    }

    @Test
    void nothing_is_taken_beyond_the_demand() {
        List<Integer> taken = new ArrayList<>();
        TestSubscriber<Integer> subscriber = requesting(1);
        Flux.range(1, 5)
                .doOnNext(taken::add)
                .transform(limiter.<Integer>limitEach())
                .subscribe(subscriber);
        assertThat(subscriber.getReceivedOnNext()).containsExactly(1);
        assertThat(taken).containsExactly(1);
        assertThat(available()).isEqualTo(1);
        time.advanceTimeBy(ofHours(1));
        assertThat(taken).containsExactly(1);
        assertThat(available()).isEqualTo(2);
        subscriber.request(3);
        assertThat(taken).containsExactly(1, 2, 3, 4);
        assertThat(subscriber.getReceivedOnNext()).containsExactly(1, 2, 3);
        time.advanceTimeBy(ofSeconds(1));
        assertThat(subscriber.getReceivedOnNext()).containsExactly(1, 2, 3, 4);
        time.advanceTimeBy(ofHours(1));
        assertThat(taken).containsExactly(1, 2, 3, 4);
    }

    @Test
    void upstream_is_asked_for_one_at_a_time_whatever_the_demand() {
        List<Long> requests = new ArrayList<>();
        Flux.range(1, 2)
                .doOnRequest(requests::add)
                .transform(limiter.limitEach())
                .subscribe();
        assertThat(requests).isNotEmpty().allMatch(n -> n == 1);
    }

    @Test
    void an_empty_source_completes_without_a_permit_and_without_a_request() {
        TestSubscriber<Integer> subscriber = requesting(0);
        Flux.<Integer>empty().transform(limiter.<Integer>limitEach()).subscribe(subscriber);
        assertThat(subscriber.isTerminatedComplete()).isTrue();
        assertThat(available()).isEqualTo(2);
    }

    @Test
    void a_mono_is_paced_too() {
        var paced = Mono.just(1).transform(limiter.<Integer>limitEach()).subscribeWith(TestSubscriber.create());
        assertThat(paced.getReceivedOnNext()).containsExactly(1);
        assertThat(paced.isTerminatedComplete()).isTrue();
    }

    @Test
    void a_source_that_completes_while_an_element_waits_completes_after_it() {
        TestPublisher<Integer> source = TestPublisher.create();
        limiter.tryAcquire(Demand.one().cost(2));
        var paced = source.flux().transform(limiter.<Integer>limitEach()).subscribeWith(TestSubscriber.create());
        source.next(1);
        source.complete();
        assertThat(paced.isTerminated()).isFalse();
        time.advanceTimeBy(ofSeconds(1));
        assertThat(paced.getReceivedOnNext()).containsExactly(1);
        assertThat(paced.isTerminatedComplete()).isTrue();
    }

    @Test
    void a_source_that_fails_while_an_element_waits_fails_after_it() {
        TestPublisher<Integer> source = TestPublisher.create();
        limiter.tryAcquire(Demand.one().cost(2));
        var paced = source.flux().transform(limiter.<Integer>limitEach()).subscribeWith(TestSubscriber.create());
        source.next(1);
        source.error(new IllegalStateException("broken"));
        assertThat(paced.isTerminated()).isFalse();
        time.advanceTimeBy(ofSeconds(1));
        assertThat(paced.getReceivedOnNext()).containsExactly(1);
        assertThat(paced.expectTerminalError()).hasMessage("broken");
    }

    @Test
    void a_cancel_while_an_element_waits_discards_it_and_leaves_no_trace() {
        List<Object> discarded = new ArrayList<>();
        TestPublisher<Integer> source = TestPublisher.create();
        limiter.tryAcquire(Demand.one().cost(2));
        var paced = source.flux()
                .transform(limiter.<Integer>limitEach())
                .doOnDiscard(Integer.class, discarded::add)
                .subscribe();
        source.next(1);
        assertThat(limiter.snapshot().waiting()).isEqualTo(1);
        paced.dispose();
        source.assertCancelled();
        assertThat(discarded).containsExactly(1);
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().timers()).isZero();
        time.advanceTimeBy(ofSeconds(2));
        assertThat(available()).isEqualTo(2);
    }

    /** One that gives what it likes, requested or not, cancelled or not. */
    private static Flux<Integer> heedless(List<CoreSubscriber<? super Integer>> subscribers) {
        return new Flux<>() {
            @Override
            public void subscribe(CoreSubscriber<? super Integer> actual) {
                subscribers.add(actual);
                actual.onSubscribe(new Subscription() {
                    @Override
                    public void request(long n) {}

                    @Override
                    public void cancel() {}
                });
            }
        };
    }

    @Test
    void an_element_that_comes_after_a_cancel_is_discarded() {
        List<Object> discarded = new ArrayList<>();
        List<CoreSubscriber<? super Integer>> subscribers = new ArrayList<>();
        List<Object> dropped = new ArrayList<>();
        heedless(subscribers)
                .transform(limiter.<Integer>limitEach())
                .doOnDiscard(Integer.class, discarded::add)
                .contextWrite(context -> context.put("reactor.onNextDropped.local", noting(dropped)))
                .subscribe()
                .dispose();
        subscribers.get(0).onNext(1);
        assertThat(discarded).containsExactly(1);
        assertThat(dropped).isEmpty();
        assertThat(available()).isEqualTo(2);
    }

    private static java.util.function.Consumer<Object> noting(List<Object> into) {
        return into::add;
    }

    @Test
    void a_consumer_that_takes_enough_costs_no_more_permits() {
        List<Integer> taken = new ArrayList<>();
        var paced = Flux.range(1, 100)
                .doOnNext(taken::add)
                .transform(limiter.<Integer>limitEach())
                .take(1)
                .subscribeWith(TestSubscriber.create());
        assertThat(paced.getReceivedOnNext()).containsExactly(1);
        assertThat(taken).containsExactly(1);
        assertThat(available()).isEqualTo(1);
    }

    @Test
    void a_permit_that_is_refused_ends_the_flux_and_discards_the_element() {
        List<Object> discarded = new ArrayList<>();
        TestPublisher<Integer> source = TestPublisher.create();
        var paced = source.flux()
                .transform(limiter.<Integer>limitEach(Demand.one().maxWait(ofMillis(500))))
                .doOnDiscard(Integer.class, discarded::add)
                .subscribeWith(TestSubscriber.create());
        source.next(1);
        source.next(2);
        source.next(3);
        assertThat(paced.getReceivedOnNext()).containsExactly(1, 2);
        assertThat(paced.expectTerminalError()).isInstanceOf(RateLimitedException.class);
        assertThat(discarded).containsExactly(3);
        source.assertCancelled();
        assertThat(limiter.snapshot().waiting()).isZero();
    }

    @Test
    void after_a_refusal_neither_a_cancel_nor_a_late_element_discards_anything_twice() {
        List<Object> discarded = new ArrayList<>();
        List<CoreSubscriber<? super Integer>> subscribers = new ArrayList<>();
        TestSubscriber<Integer> paced = TestSubscriber.create();
        heedless(subscribers)
                .transform(limiter.<Integer>limitEach(Demand.one().maxWait(ofMillis(500))))
                .doOnDiscard(Integer.class, discarded::add)
                .subscribe(paced);
        for (int i = 1; i <= 4; i++) {
            subscribers.get(0).onNext(i);
        }
        assertThat(paced.expectTerminalError()).isInstanceOf(RateLimitedException.class);
        paced.cancel();
        assertThat(discarded).containsExactly(3, 4);
    }

    @Test
    void a_demand_that_cannot_pass_ends_the_flux() {
        var heavy = Flux.range(1, 3)
                .transform(limiter.<Integer>limitEach(Demand.one().cost(3)))
                .subscribeWith(TestSubscriber.create());
        assertThat(heavy.expectTerminalError()).isInstanceOf(RateLimitedException.class);
        var unknown = Flux.range(1, 3)
                .transform(limiter.<Integer>limitEach(Demand.one().lane("nowhere")))
                .subscribeWith(TestSubscriber.create());
        assertThat(unknown.expectTerminalError())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nowhere");
        assertThat(available()).isEqualTo(2);
    }

    @Test
    void a_limiter_that_is_disposed_ends_the_flux() { // B56
        var paced = Flux.range(1, 5).transform(limiter.<Integer>limitEach()).subscribeWith(TestSubscriber.create());
        limiter.dispose();
        assertThat(paced.getReceivedOnNext()).containsExactly(1, 2);
        assertThat(paced.expectTerminalError()).isInstanceOf(LimiterDisposedException.class);
    }

    @Test
    void an_in_flight_permit_lasts_as_long_as_the_element_is_looked_at() {
        RateLimiter inFlight = RateLimiter.named("api")
                .limit(Limit.inFlight(1))
                .scheduler(() -> time)
                .build();
        List<Long> during = new ArrayList<>();
        Flux.range(1, 3)
                .transform(inFlight.<Integer>limitEach())
                .doOnNext(n ->
                        during.add(inFlight.snapshot().root().limits().get(0).available()))
                .subscribe();
        assertThat(during).containsExactly(0L, 0L, 0L);
        assertThat(inFlight.snapshot().root().limits().get(0).available()).isEqualTo(1);
    }

    @Test
    void a_consumer_that_throws_keeps_no_permit() { // B04
        RateLimiter inFlight = RateLimiter.named("api")
                .limit(Limit.inFlight(1))
                .scheduler(() -> time)
                .build();
        TestPublisher<Integer> source = TestPublisher.create();
        source.flux().transform(inFlight.<Integer>limitEach()).subscribe(new CoreSubscriber<>() {
            @Override
            public void onSubscribe(Subscription s) {
                s.request(Long.MAX_VALUE);
            }

            @Override
            public void onNext(Integer value) {
                throw new IllegalStateException("the consumer's fault");
            }

            @Override
            public void onError(Throwable error) {}

            @Override
            public void onComplete() {}
        });
        assertThatThrownBy(() -> source.next(1)).hasMessage("the consumer's fault");
        assertThat(inFlight.snapshot().root().limits().get(0).available()).isEqualTo(1);
    }

    @Test
    void two_fluxes_on_one_limiter_share_its_permits_in_turns() {
        var a = Flux.range(1, 4).transform(limiter.<Integer>limitEach()).subscribeWith(TestSubscriber.create());
        var b = Flux.range(1, 4).transform(limiter.<Integer>limitEach()).subscribeWith(TestSubscriber.create());
        assertThat(a.getReceivedOnNext()).hasSize(2);
        assertThat(b.getReceivedOnNext()).isEmpty();
        time.advanceTimeBy(ofSeconds(1));
        assertThat(a.getReceivedOnNext()).hasSize(3);
        time.advanceTimeBy(ofSeconds(1));
        assertThat(b.getReceivedOnNext()).hasSize(1);
        time.advanceTimeBy(ofSeconds(4));
        assertThat(a.isTerminatedComplete()).isTrue();
        assertThat(b.isTerminatedComplete()).isTrue();
    }

    @Test
    void a_million_elements_without_a_wait_need_no_stack() {
        RateLimiter wide = RateLimiter.named("api").scheduler(() -> time).build();
        long[] seen = new long[1];
        Flux.range(0, 1_000_000).transform(wide.<Integer>limitEach()).subscribe(n -> seen[0]++);
        assertThat(seen[0]).isEqualTo(1_000_000);
    }

    @Test
    void the_callers_context_reaches_the_source_and_names_the_lane() { // B41
        RateLimiter lanes = RateLimiter.named("api")
                .limit(Limit.bucket(1, 1, ofSeconds(1)))
                .lane("background", Share.of(1))
                .scheduler(() -> time)
                .build();
        lanes.tryAcquire();
        List<String> order = new ArrayList<>();
        Flux.deferContextual(context -> Flux.just(context.<String>get("name")))
                .transform(lanes.<String>limitEach())
                .contextWrite(context -> RateLimitContext.lane("background").apply(context.put("name", "low")))
                .subscribe(order::add);
        Flux.just("high").transform(lanes.<String>limitEach()).subscribe(order::add);
        time.advanceTimeBy(ofSeconds(5));
        assertThat(order).containsExactly("high", "low");
    }
}
