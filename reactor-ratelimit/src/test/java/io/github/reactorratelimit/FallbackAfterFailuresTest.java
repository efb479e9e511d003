package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Fallback.Reason;
import io.github.reactorratelimit.RetryScript.Response;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/** Which failures go on to the next source, and what of patience they leave. */
class FallbackAfterFailuresTest extends TwoModels {

    private TestSubscriber<Response> call(
            Fallback source, RetryScript first, RetryScript second, PermitSource preferred) {
        return source.<Response>use(
                        asked -> Demand.of("method", "POST"),
                        permit -> permit.source() == preferred ? first.call() : second.call())
                .subscribeWith(TestSubscriber.create());
    }

    private TestSubscriber<Response> call(RetryScript first, RetryScript second, UnaryOperator<Fallback> how) {
        PermitSource preferred = first.on(gpt.calls()).idempotent(true);
        PermitSource next = second.on(cheap.calls());
        return call(how.apply(PermitSource.firstWithin(ofSeconds(2), preferred, next)), first, second, preferred);
    }

    @Test
    void a_refusal_that_asks_for_more_patience_than_there_is_goes_on_to_the_next() {
        RetryScript first = new RetryScript(time).then(429, "Retry-After", "20");
        RetryScript second = new RetryScript(time).then(200);
        TestSubscriber<Response> call = call(first, second, llm -> llm);
        assertThat(call.getReceivedOnNext()).extracting(Response::status).containsExactly(200);
        assertThat(first.wire()).isEqualTo(1);
        assertThat(second.times()).containsExactly(ZERO);
        pass(ofSeconds(60));
    }

    @Test
    void a_refusal_that_asks_for_little_is_waited_for() {
        RetryScript first = new RetryScript(time).then(429, "Retry-After", "1").then(200);
        TestSubscriber<Response> call = call(first, new RetryScript(time), llm -> llm);
        pass(ofSeconds(2));
        assertThat(call.getReceivedOnNext()).extracting(Response::status).containsExactly(200);
        assertThat(first.times()).containsExactly(ZERO, ofSeconds(1));
    }

    @Test
    void waits_between_attempts_use_patience_up_like_any_other() {
        RetryScript first = new RetryScript(time)
                .then(429, "Retry-After", "1")
                .then(429, "Retry-After", "1")
                .then(429, "Retry-After", "1")
                .then(200);
        RetryScript second = new RetryScript(time).then(200);
        RateLimiter wide = limiter("wide", Limit.of(100, ofSeconds(60)));
        PermitSource preferred = first.on(wide.calls());
        call(PermitSource.firstWithin(ofSeconds(2), preferred, second.on(cheap.calls())), first, second, preferred);
        pass(ofSeconds(5));
        assertThat(first.times()).containsExactly(ZERO, ofSeconds(1), ofSeconds(2));
        assertThat(second.times()).containsExactly(ofSeconds(2));
    }

    @Test
    void retries_that_are_exhausted_go_on_to_the_next_unless_that_is_switched_off() {
        RetryScript first = new RetryScript(time)
                .then(500)
                .then(500)
                .then(500)
                .then(500)
                .then(500)
                .then(500);
        RetryScript second = new RetryScript(time).then(200);
        UnaryOperator<Fallback> patient = llm -> llm;
        PermitSource preferred = first.on(limiter("wide").calls())
                .idempotent(true)
                .retry(RetryPolicy.attempts(3).backoff(ofMillis(100), ofMillis(100)));
        Fallback both = PermitSource.firstWithin(ofSeconds(2), preferred, second.on(cheap.calls()));
        TestSubscriber<Response> served = call(patient.apply(both), first, second, preferred);
        TestSubscriber<Response> failed = call(both.without(Reason.EXHAUSTED), first, second, preferred);
        pass(ofSeconds(5));
        assertThat(served.getReceivedOnNext()).extracting(Response::status).containsExactly(200);
        assertThat(failed.expectTerminalError()).isInstanceOf(RetriesExhaustedException.class);
        assertThat(first.wire()).isEqualTo(6);
    }

    @Test
    void an_attempt_that_takes_too_long_goes_on_unless_that_is_switched_off() {
        PermitSource preferred = gpt.calls().retry(RetryPolicy.standard().attemptTimeout(ofSeconds(3)));
        Fallback both = PermitSource.firstWithin(ofSeconds(2), preferred, cheap);
        List<TestSubscriber<String>> calls = new ArrayList<>();
        for (Fallback source : List.of(both, both.without(Reason.TIMEOUT))) {
            calls.add(source.use(
                            asked -> Demand.one(),
                            permit -> permit.source() == preferred ? Mono.<String>never() : Mono.just("cheap"))
                    .subscribeWith(TestSubscriber.create()));
        }
        pass(ofSeconds(3));
        assertThat(calls.get(0).getReceivedOnNext()).containsExactly("cheap");
        assertThat(calls.get(1).expectTerminalError()).isInstanceOf(AttemptTimeoutException.class);
    }

    @Test
    void an_error_that_is_no_reason_surfaces_unless_it_is_named() {
        IllegalStateException own = new IllegalStateException("a bug");
        AtomicInteger calls = new AtomicInteger();
        for (Fallback source : List.of(llm, llm.when(error -> error == own))) {
            TestSubscriber<String> call = source.<String>use(asked -> Demand.one(), permit -> {
                        calls.incrementAndGet();
                        return permit.source() == gpt ? Mono.error(own) : Mono.just("cheap");
                    })
                    .subscribeWith(TestSubscriber.create());
            if (source == llm) {
                assertThat(call.expectTerminalError()).isSameAs(own);
            } else {
                assertThat(call.getReceivedOnNext()).containsExactly("cheap");
            }
        }
        assertThat(calls).hasValue(3);
    }

    @Test
    void when_all_fail_the_last_failure_tells_of_the_others() {
        List<Throwable> own = List.of(new IllegalStateException("one"), new IllegalStateException("two"));
        TestSubscriber<String> call = llm.when(error -> true)
                .<String>use(asked -> Demand.one(), permit -> Mono.error(own.get(permit.source() == gpt ? 0 : 1)))
                .subscribeWith(TestSubscriber.create());
        assertThat(call.expectTerminalError()).isSameAs(own.get(1)).hasSuppressedException(own.get(0));
    }

    @Test
    void once_there_was_an_element_nothing_goes_on() {
        IllegalStateException cut = new IllegalStateException("cut off");
        TestSubscriber<String> call = llm.when(error -> true)
                .useMany(
                        asked -> Demand.one(),
                        permit -> Flux.just(name(permit.source())).concatWith(Mono.error(cut)))
                .subscribeWith(TestSubscriber.create());
        assertThat(call.getReceivedOnNext()).containsExactly("gpt");
        assertThat(call.expectTerminalError()).isSameAs(cut);
        assertThat(cheap.snapshot().root().limits().get(0).available()).isEqualTo(3);
    }

    @Test
    void a_cancel_ends_it_wherever_it_is_and_gives_back() {
        ask(gpt);
        ask(gpt);
        TestSubscriber<String> waiting = ask(PermitSource.firstWithin(ofMinutes(2), gpt, cheap));
        TestSubscriber<String> running = ask(llm);
        waiting.cancel();
        running.cancel();
        pass(ofMinutes(3));
        assertThat(served).containsExactly("gpt", "gpt");
        assertThat(cheap.snapshot().root().limits().get(0).available()).isEqualTo(3);
    }

    @Test
    void each_subscription_is_a_call_with_patience_of_its_own() {
        RateLimiter one = limiter("one", Limit.inFlight(1));
        one.tryAcquire();
        Mono<String> call = PermitSource.firstWithin(ofSeconds(2), one, cheap)
                .use(asked -> Demand.one(), permit -> Mono.just(name(permit.source())));
        call.subscribe(served::add);
        pass(ofSeconds(2));
        call.subscribe(served::add);
        assertThat(served).hasSize(1);
        pass(ofSeconds(2));
        assertThat(served).containsExactly("cheap", "cheap");
    }

    @Test
    void a_limiter_that_is_out_of_order_is_left_and_costs_no_patience() {
        RateLimiter disposed = limiter("disposed", Limit.inFlight(1));
        pass(ofMinutes(1));
        disposed.dispose();
        RateLimiter soon = limiter("soon", Limit.of(1, ofSeconds(1)));
        soon.tryAcquire();
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ofSeconds(5), disposed, soon, cheap));
        pass(ofSeconds(3));
        assertThat(call.getReceivedOnNext()).containsExactly("another");
        TestSubscriber<String> none =
                ask(PermitSource.firstWithin(ofSeconds(5), disposed, cheap).without(Reason.UNAVAILABLE));
        assertThat(none.expectTerminalError()).isInstanceOf(LimiterDisposedException.class);
    }

    @Test
    void one_error_for_all_calls_does_not_gather_what_came_before_each() {
        IllegalStateException shared = new IllegalStateException("shared");
        for (int i = 0; i < 100; i++) {
            llm.when(error -> true)
                    .use(asked -> Demand.one().maxWait(ZERO), permit -> Mono.error(shared))
                    .subscribe(answer -> {}, error -> {});
        }
        assertThat(shared.getSuppressed()).hasSizeLessThanOrEqualTo(16);
    }

    private Throwable failing(Function<PermitSource, Throwable> error, PermitSource preferred, PermitSource... others) {
        TestSubscriber<String> call = PermitSource.firstWithin(ofSeconds(1), preferred, others)
                .when(IllegalStateException.class::isInstance)
                .<String>use(asked -> Demand.one(), exchange -> Mono.error(error.apply(exchange.source())))
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(2));
        return call.expectTerminalError();
    }

    private RateLimiter spent() {
        RateLimiter spent = RateLimiter.named("spent")
                .limit(Limit.total(1))
                .scheduler(() -> time)
                .build();
        spent.tryAcquire();
        return spent;
    }

    private RateLimiter emptyFor(Duration left) {
        RateLimiter empty = RateLimiter.named("empty")
                .limit(Limit.of(1, left))
                .scheduler(() -> time)
                .build();
        empty.tryAcquire();
        return empty;
    }

    @Test
    void a_failure_of_the_last_resort_is_told_with_all_that_came_before() {
        RateLimiter first = emptyFor(ofSeconds(20));
        RateLimiter second = emptyFor(ofSeconds(40));
        Throwable error =
                failing(source -> new IllegalStateException(source == first ? "first" : "second"), first, second);
        assertThat(error).hasMessage("second");
        assertThat(error.getSuppressed())
                .extracting(Throwable::getMessage)
                .contains("first")
                .hasSize(3);
    }

    @Test
    void an_error_with_suppressed_ones_of_its_own_is_told_with_the_earlier_ones_too() {
        Throwable error = failing(
                source -> {
                    IllegalStateException failed = new IllegalStateException(source == gpt ? "gpt" : "cheap");
                    failed.addSuppressed(new IllegalStateException("own"));
                    failed.addSuppressed(new IllegalStateException("own too"));
                    return failed;
                },
                gpt,
                cheap);
        assertThat(error).hasMessage("cheap");
        assertThat(error.getSuppressed()).extracting(Throwable::getMessage).containsExactly("own", "own too", "gpt");
    }

    @Test
    void where_a_call_failed_among_refusals_the_last_of_all_surfaces() {
        RateLimiter first = spent();
        RateLimiter last = spent();
        IllegalStateException failed = new IllegalStateException("failed");
        Throwable error = failing(source -> failed, first, cheap, last);
        assertThat(error).isInstanceOf(RateLimitedException.class).hasSuppressedException(failed);
        assertThat(error.getSuppressed()).hasSize(2).doesNotHaveDuplicates();
        assertThat(error.getSuppressed()[0]).isInstanceOf(RateLimitedException.class);
    }
}
