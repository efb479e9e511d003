package io.github.reactorratelimit;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.test.publisher.TestPublisher;
import reactor.test.subscriber.TestSubscriber;

/** How long an attempt has until its answer, and what becomes of an answer that comes too late. */
class AttemptTimeoutTest extends LimitedCalls {

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
}
