package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;
import reactor.test.subscriber.TestSubscriber;

/** How long a call holds its permit, and that it comes back once, whatever the consumer does. */
class PermitInFlightTest extends LimitedCalls {

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
