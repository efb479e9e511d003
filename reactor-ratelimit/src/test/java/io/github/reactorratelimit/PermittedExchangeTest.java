package io.github.reactorratelimit;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.test.subscriber.TestSubscriber;

/** A call under a permit of somebody else's source. */
class PermittedExchangeTest {

    private final List<String> told = new ArrayList<>();
    private final Permit permit = new Permit() {
        @Override
        public void sent() {
            told.add("sent");
        }

        @Override
        public void settle(String unit, long actual) {
            told.add("settled " + actual + " " + unit);
        }

        @Override
        public void hear(RateLimitSignal signal) {
            told.add("heard " + signal.status() + " " + signal.delay());
        }

        @Override
        public void complete(RateLimitSignal signal) {
            told.add("completed");
        }

        @Override
        public void release() {
            told.add("released");
        }
    };
    private final PermitSource source = demand -> Mono.just(permit);

    private static PermitSource never() {
        return demand -> Mono.empty();
    }

    @Test
    void a_call_is_heard_by_the_standard_and_its_answer_handed_on_whatever_it_says() {
        String answer = source.<String>use(asked -> Demand.one(), exchange -> {
                    exchange.sent();
                    exchange.settle("tokens", 5);
                    boolean passes = exchange.head(429, Headers.of("Retry-After", "3")) == Verdict.PASS;
                    return Mono.just(passes ? "handed on" : "kept");
                })
                .block();
        assertThat(answer).isEqualTo("handed on");
        assertThat(told).containsExactly("sent", "settled 5 tokens", "heard 429 " + Duration.ofSeconds(3), "released");
    }

    @Test
    void a_permit_that_is_held_outlasts_the_answer_and_comes_back_once() {
        AtomicReference<Runnable> back = new AtomicReference<>();
        source.<String>use(asked -> Demand.one(), exchange -> {
                    back.set(exchange.hold());
                    return Mono.just("head");
                })
                .block();
        assertThat(told).isEmpty();
        Runnable release = requireNonNull(back.get());
        release.run();
        release.run();
        assertThat(told).containsExactly("released");
    }

    @Test
    void a_permit_is_not_held_for_a_call_that_fails_or_is_cancelled() {
        source.<String>use(asked -> Demand.one(), exchange -> {
                    exchange.hold();
                    return Mono.error(new IllegalStateException());
                })
                .subscribe(answer -> {}, error -> {});
        source.<String>useMany(asked -> Demand.one(), exchange -> {
                    exchange.hold();
                    return Flux.just("one").concatWith(Mono.never());
                })
                .subscribe()
                .dispose();
        assertThat(told).containsExactly("released", "released");
    }

    @Test
    void a_permit_is_not_held_for_a_call_without_an_answer() {
        source.<String>use(asked -> Demand.one(), exchange -> {
                    exchange.hold();
                    return Mono.empty();
                })
                .block();
        assertThat(told).containsExactly("released");
    }

    @Test
    void an_answer_is_none_the_worse_for_a_permit_that_cannot_be_given_back() {
        IllegalStateException broken = new IllegalStateException("broken");
        PermitSource clumsy = demand -> Mono.just(new Permit() {
            @Override
            public void sent() {}

            @Override
            public void settle(String unit, long actual) {}

            @Override
            public void hear(RateLimitSignal signal) {}

            @Override
            public void complete(RateLimitSignal signal) {}

            @Override
            public void release() {
                throw broken;
            }
        });
        List<Throwable> dropped = new ArrayList<>();
        Hooks.onErrorDropped(dropped::add);
        try {
            assertThat(clumsy.<String>use(asked -> Demand.one(), exchange -> Mono.just("answer"))
                            .block())
                    .isEqualTo("answer");
        } finally {
            Hooks.resetOnErrorDropped();
        }
        assertThat(dropped).containsExactly(broken);
    }

    @Test
    void a_grant_that_comes_after_the_cancel_goes_back_and_the_call_is_never_made() {
        AtomicReference<CoreSubscriber<? super Permit>> asking = new AtomicReference<>();
        // Deaf to cancels, as a source should not be.
        PermitSource late = demand -> new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super Permit> subscriber) {
                asking.set(subscriber);
                subscriber.onSubscribe(Operators.emptySubscription());
            }
        };
        TestSubscriber<String> call = late.<String>use(asked -> Demand.one(), exchange -> {
                    told.add("called");
                    return Mono.just("answer");
                })
                .subscribeWith(TestSubscriber.create());
        call.cancel();
        requireNonNull(asking.get()).onNext(permit);
        assertThat(told).containsExactly("released");
    }

    @Test
    void corrections_still_arrive_after_the_permit_went_back() {
        AtomicReference<Exchange> ended = new AtomicReference<>();
        source.<String>use(asked -> Demand.one(), exchange -> {
                    ended.set(exchange);
                    return Mono.just("answer");
                })
                .block();
        requireNonNull(ended.get()).settle("tokens", 7);
        assertThat(told).containsExactly("released", "settled 7 tokens");
    }

    @Test
    void a_source_that_gives_neither_permit_nor_error_is_an_error_and_not_an_empty_answer() {
        TestSubscriber<String> one = never().<String>use(asked -> Demand.one(), exchange -> Mono.just("answer"))
                .subscribeWith(TestSubscriber.create());
        TestSubscriber<String> many = never().<String>useMany(asked -> Demand.one(), exchange -> Flux.just("answer"))
                .subscribeWith(TestSubscriber.create());
        for (TestSubscriber<String> call : List.of(one, many)) {
            assertThat(call.expectTerminalError())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageStartingWith("a source must give a permit or an error, gave neither: ");
        }
    }

    @Test
    void a_call_that_is_none_is_told_with_its_rule_and_holds_nothing() {
        assertThatNullPointerException()
                .isThrownBy(() -> source.<String>useMany(asked -> Demand.one(), exchange -> none())
                        .blockLast())
                .withMessage("a call must give a publisher, gave null");
        assertThat(told).containsExactly("released");
    }

    @SuppressWarnings("NullAway")
    private static Flux<String> none() {
        return null;
    }

    /** Notes each signal when it arrives, among what was told of the permit. */
    private void note(Publisher<String> call) {
        Flux.from(call)
                .doFinally(end -> told.add("over"))
                .subscribe(told::add, error -> told.add("failed"), () -> told.add("complete"));
    }

    @Test
    void it_is_free_before_the_caller_has_its_answer_its_end_or_its_error() {
        note(source.<String>use(asked -> Demand.one(), exchange -> Mono.just("answer")));
        assertThat(told).containsExactly("released", "answer", "complete", "over");
        told.clear();
        note(source.<String>use(asked -> Demand.one(), exchange -> Mono.empty()));
        assertThat(told).containsExactly("released", "complete", "over");
        told.clear();
        note(source.<String>use(asked -> Demand.one(), exchange -> Mono.error(new IllegalStateException())));
        assertThat(told).containsExactly("released", "failed", "over");
        told.clear();
        note(source.<String>useMany(asked -> Demand.one(), exchange -> Flux.just("a", "b")));
        assertThat(told).containsExactly("a", "b", "released", "complete", "over");
    }
}
