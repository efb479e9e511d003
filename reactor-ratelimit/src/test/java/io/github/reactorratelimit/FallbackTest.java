package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Fallback.Reason;
import io.github.reactorratelimit.RetryScript.Response;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** Who serves a call that several sources could serve, and when. */
class FallbackTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RateLimiter gpt = limiter("gpt", Limit.of(2, ofSeconds(60)).strict(), Limit.inFlight(5));
    private final RateLimiter cheap =
            limiter("cheap", Limit.of(3, ofSeconds(30)).strict(), Limit.inFlight(5));
    private final List<String> served = new ArrayList<>();
    private final Fallback llm = PermitSource.firstWithin(ofSeconds(2), gpt, cheap);

    private RateLimiter limiter(String name, Limit... limits) {
        return RateLimiter.named(name)
                .limit(limits)
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5)
                .build();
    }

    @AfterEach
    void nobody_is_left_and_nothing_is_held() {
        for (RateLimiter limiter : List.of(gpt, cheap)) {
            assertThat(limiter.snapshot().waiting())
                    .as("waiting at %s", limiter)
                    .isZero();
            assertThat(limiter.snapshot().timers()).as("timers of %s", limiter).isZero();
            assertThat(limiter.snapshot().root().limits().get(1).available())
                    .as("in flight at %s", limiter)
                    .isEqualTo(5);
        }
    }

    private String name(PermitSource source) {
        return source == gpt ? "gpt" : source == cheap ? "cheap" : "another";
    }

    /** A call that takes a second. */
    private TestSubscriber<String> ask(PermitSource source) {
        return ask(source, Demand.one());
    }

    private TestSubscriber<String> ask(PermitSource source, Demand demand) {
        return source.use(
                        asked -> demand,
                        permit -> Mono.delay(ofSeconds(1), time)
                                .map(tick -> name(permit.source()))
                                .doOnNext(served::add))
                .subscribeWith(TestSubscriber.create());
    }

    private void pass(Duration duration) {
        time.advanceTimeBy(duration);
    }

    // ------------------------------------------------------------------------------------------- for their waits

    @Test
    void the_preferred_source_serves_as_long_as_it_has_room_and_then_the_next() {
        for (int i = 0; i < 5; i++) {
            ask(llm);
        }
        pass(ofSeconds(1));
        assertThat(served).containsExactly("gpt", "gpt", "cheap", "cheap", "cheap");
    }

    @Test
    void when_nobody_has_room_the_one_with_the_shortest_wait_serves() {
        for (int i = 0; i < 6; i++) {
            ask(llm);
        }
        pass(ofSeconds(31));
        assertThat(served).hasSize(5);
        pass(ofSeconds(2));
        assertThat(served).hasSize(6).last().isEqualTo("cheap");
    }

    @Test
    void a_wait_that_is_short_enough_is_waited_for() {
        ask(llm);
        ask(llm);
        pass(ofSeconds(59)); // The window of gpt opens again in little more than two seconds, counted from the heads.
        TestSubscriber<String> late = ask(llm);
        pass(ofMillis(400));
        TestSubscriber<String> patient = ask(PermitSource.firstWithin(ofSeconds(3), gpt, cheap));
        pass(ofSeconds(4));
        assertThat(late.getReceivedOnNext()).containsExactly("cheap");
        assertThat(patient.getReceivedOnNext()).containsExactly("gpt");
    }

    @Test
    void waits_of_unknown_length_are_borne_for_the_longest_wait_in_all_and_no_longer() {
        RateLimiter one = limiter("one", Limit.inFlight(1));
        RateLimiter two = limiter("two", Limit.inFlight(1));
        Sinks.Empty<String> never = Sinks.empty();
        one.use(source -> Demand.one(), permit -> never.asMono()).subscribe();
        two.use(source -> Demand.one(), permit -> never.asMono()).subscribe();
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ofSeconds(2), one, two, cheap));
        pass(ofSeconds(2));
        assertThat(cheap.snapshot().root().limits().get(1).available()).isEqualTo(4);
        pass(ofSeconds(1));
        assertThat(call.getReceivedOnNext()).containsExactly("cheap");
        never.tryEmitEmpty();
        assertThat(one.snapshot().waiting() + two.snapshot().waiting()).isZero();
    }

    @Test
    void a_demands_own_bound_holds_at_the_last_resort_too() {
        for (int i = 0; i < 5; i++) {
            ask(llm);
        }
        TestSubscriber<String> call = ask(llm, Demand.one().maxWait(ofSeconds(5)));
        assertThat(call.expectTerminalError()).isInstanceOfSatisfying(RateLimitedException.class, refused -> {
            assertThat(refused.limiter()).isEqualTo("cheap");
            assertThat(refused.retryAfter()).isGreaterThan(ofSeconds(29));
            assertThat(refused.getSuppressed()).hasSize(2);
        });
        pass(ofSeconds(1));
    }

    @Test
    void without_that_reason_the_preferred_source_is_waited_for() {
        ask(gpt);
        ask(gpt);
        TestSubscriber<String> call = ask(llm.without(Reason.WAIT));
        pass(ofSeconds(63));
        assertThat(call.getReceivedOnNext()).containsExactly("gpt");
    }

    @Test
    void a_full_queue_is_a_reason_to_go_on() {
        RateLimiter narrow = RateLimiter.named("narrow")
                .limit(Limit.of(1, ofMinutes(1)))
                .maxPending(1, 1)
                .scheduler(() -> time)
                .build();
        narrow.tryAcquire();
        narrow.acquire(Demand.one()).subscribe();
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ofMinutes(5), narrow, cheap));
        pass(ofSeconds(1));
        assertThat(call.getReceivedOnNext()).containsExactly("cheap");
    }

    @Test
    void each_source_is_asked_for_what_the_call_costs_there() {
        List<PermitSource> asked = new ArrayList<>();
        TestSubscriber<String> call = llm.use(
                        source -> {
                            asked.add(source);
                            return Demand.one().cost(source == gpt ? 3 : 2); // gpt never has 3
                        },
                        permit -> Mono.just(name(permit.source())))
                .subscribeWith(TestSubscriber.create());
        assertThat(call.getReceivedOnNext()).containsExactly("cheap");
        assertThat(asked).containsExactly(gpt, cheap);
        assertThat(cheap.snapshot().root().limits().get(0).available()).isEqualTo(1);
    }

    // --------------------------------------------------------------------------------------- for their failures

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

    // ------------------------------------------------------------------------------------------------ other shapes

    @Test
    void a_bare_permit_comes_from_the_first_with_room_too() {
        List<Permit> permits = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            llm.acquire(Demand.one()).subscribe(permits::add);
        }
        assertThat(permits).hasSize(5);
        assertThat(gpt.snapshot().root().limits().get(1).available()).isEqualTo(3);
        assertThat(cheap.snapshot().root().limits().get(1).available()).isEqualTo(2);
        permits.forEach(Permit::release);
    }

    @Test
    void of_several_keys_of_one_limiter_the_one_with_room_serves() {
        RateLimiter api = RateLimiter.named("api")
                .scope(Scope.by("token").limits(Limit.of(1, ofMinutes(1))))
                .scheduler(() -> time)
                .build();
        PermitSource one = api.asking(demand -> demand.and("token", "one"));
        PermitSource two = api.asking(demand -> demand.and("token", "two"));
        Fallback keys = PermitSource.firstWithin(ZERO, one, two);
        List<PermitSource> used = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            keys.use(asked -> Demand.one(), permit -> Mono.fromRunnable(() -> used.add(permit.source())))
                    .subscribe();
        }
        assertThat(used).containsExactly(one, two);
        pass(ofMinutes(2));
        assertThat(used).containsExactly(one, two, one);
    }

    @Test
    void one_choice_within_another_is_bounded_by_both() {
        RateLimiter busy = limiter("busy", Limit.inFlight(1));
        busy.tryAcquire();
        Fallback inner = PermitSource.firstWithin(ofSeconds(10), busy, gpt);
        Fallback outer = PermitSource.firstWithin(ofSeconds(2), inner, cheap);
        TestSubscriber<String> call = ask(outer);
        pass(ofSeconds(3));
        assertThat(call.getReceivedOnNext()).containsExactly("gpt");
        ask(gpt);
        TestSubscriber<String> last = ask(outer);
        pass(ofSeconds(3));
        assertThat(last.getReceivedOnNext()).containsExactly("cheap");
    }

    @Test
    void a_source_of_somebody_elses_gives_one_permit_for_one_attempt_and_gets_it_back_however_it_ends() {
        AtomicInteger out = new AtomicInteger();
        AtomicInteger back = new AtomicInteger();
        PermitSource own = demand -> gpt.acquire(demand).map(permit -> new CountedPermit(permit, out, back));
        own.use(asked -> Demand.one(), permit -> Mono.just(permit.source() == own))
                .subscribe(same -> assertThat(same).isTrue());
        assertThat(back).hasValue(1);
        own.use(asked -> Demand.one(), permit -> Mono.error(new IllegalStateException()))
                .subscribe(x -> {}, error -> {});
        assertThat(back).hasValue(2);
        TestSubscriber<String> waits = ask(own);
        waits.cancel();
        assertThat(out).hasValue(2);
        assertThat(back).hasValue(2);
    }

    @Test
    void a_choice_within_another_stands_for_its_own_sources() {
        RateLimiter soon = limiter("soon", Limit.of(1, ofSeconds(5)));
        RateLimiter late = limiter("late", Limit.of(1, ofMinutes(9)));
        RateLimiter between = limiter("between", Limit.of(1, ofSeconds(90)));
        List.of(soon, late, between).forEach(RateLimiter::tryAcquire);
        List<PermitSource> used = new ArrayList<>();
        PermitSource.firstWithin(ofSeconds(1), PermitSource.firstWithin(ofSeconds(1), soon, late), between)
                .use(asked -> Demand.one(), permit -> Mono.fromRunnable(() -> used.add(permit.source())))
                .subscribe();
        pass(ofSeconds(6));
        assertThat(used).containsExactly(soon);
    }

    @Test
    void the_source_that_has_a_permit_first_is_the_last_resort_whenever_each_was_asked() {
        RateLimiter early = limiter("early", Limit.of(1, ofSeconds(10)));
        RateLimiter slow = limiter("slow", Limit.of(9, ofSeconds(10)));
        RateLimiter late = limiter("late", Limit.of(1, ofSeconds(12)));
        early.tryAcquire();
        late.tryAcquire();
        List<PermitSource> used = new ArrayList<>();
        PermitSource.firstWithin(ofSeconds(1), early, slow, late)
                .when(error -> error instanceof IllegalStateException)
                .<String>use(
                        asked -> Demand.one(),
                        permit -> permit.source() == slow
                                ? Mono.delay(ofSeconds(5), time).then(Mono.error(new IllegalStateException()))
                                : Mono.fromRunnable(() -> used.add(permit.source())))
                .subscribe(answer -> {}, error -> {});
        pass(ofSeconds(20));
        assertThat(used).containsExactly(early);
    }

    @Test
    void waits_at_somebody_elses_source_use_patience_up_too() {
        RateLimiter first = limiter("first", Limit.of(1, ofSeconds(4)));
        RateLimiter second = limiter("second", Limit.of(1, ofSeconds(8)));
        first.tryAcquire();
        second.tryAcquire();
        PermitSource foreign = demand -> Mono.defer(() -> first.acquire(demand));
        TestSubscriber<String> call = PermitSource.firstWithin(ofSeconds(5), foreign, second, cheap)
                .when(error -> error instanceof IllegalStateException)
                .<String>use(
                        asked -> Demand.one(),
                        permit -> permit.source() == foreign
                                ? Mono.error(new IllegalStateException())
                                : Mono.just(name(permit.source())))
                .subscribeWith(TestSubscriber.create());
        pass(ofMillis(4_100));
        assertThat(call.getReceivedOnNext()).containsExactly("cheap");
    }

    @Test
    void a_source_that_never_waits_goes_on_at_once() {
        ask(gpt);
        ask(gpt);
        List<Permit> permits = new ArrayList<>();
        PermitSource.firstWithin(ofMinutes(5), gpt.calls().failFast(), cheap)
                .acquire(Demand.one())
                .subscribe(permits::add);
        assertThat(permits).hasSize(1);
        assertThat(cheap.snapshot().root().limits().get(1).available()).isEqualTo(4);
        permits.get(0).release();
        pass(ofSeconds(1));
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
        assertThat(shared.getSuppressed()).hasSizeLessThanOrEqualTo(2);
    }

    @Test
    void no_permit_is_lost_when_a_cancel_meets_a_grant() throws InterruptedException {
        RateLimiter one = RateLimiter.of(Limit.inFlight(1));
        Fallback choice = PermitSource.firstWithin(ofMinutes(1), one, RateLimiter.of(Limit.inFlight(1)));
        PermitSource foreign = demand -> Mono.defer(() -> choice.acquire(demand));
        for (int i = 0; i < 20_000; i++) {
            Permit first = one.tryAcquire().permit();
            Releasing waits = new Releasing();
            if (i % 2 == 0) {
                choice.acquire(Demand.one()).subscribe(waits);
            } else {
                foreign.<Permit>use(asked -> Demand.one(), permit -> Mono.empty())
                        .subscribe(waits);
            }
            Thread grants = new Thread(first::release);
            grants.start();
            waits.subscription.cancel();
            grants.join();
        }
        assertThat(one.tryAcquire().allowed()).isTrue();
    }

    @Test
    void a_permit_that_was_to_be_held_is_free_where_no_answer_came() {
        PermitSource own = demand -> Mono.defer(() -> gpt.acquire(demand));
        own.<String>use(asked -> Demand.one(), permit -> {
                    permit.hold();
                    return Mono.error(new IllegalStateException());
                })
                .subscribe(answer -> {}, error -> {});
        own.<String>use(asked -> Demand.one(), permit -> {
                    permit.hold();
                    return Mono.never();
                })
                .subscribe()
                .dispose();
        assertThat(gpt.snapshot().root().limits().get(1).available()).isEqualTo(5);
    }

    @Test
    void what_is_no_choice_is_told_at_once() {
        assertThatThrownBy(() -> PermitSource.firstWithin(ofSeconds(-1), gpt, cheap))
                .hasMessageContaining("must not be negative, was PT-1S");
        assertThatThrownBy(() -> PermitSource.firstWithin(ofSeconds(1), gpt, cheap, gpt))
                .hasMessageContaining("must be named once");
    }

    @Test
    void a_demand_that_is_none_is_told_with_its_rule() {
        for (PermitSource source : List.of(gpt, gpt.asking(demand -> null), llm)) {
            TestSubscriber<String> call = source.<String>use(
                            asked -> source instanceof AskingSource ? Demand.one() : null,
                            permit -> Mono.just("served"))
                    .subscribeWith(TestSubscriber.create());
            assertThat(call.expectTerminalError()).hasMessageContaining("must give a demand, gave null");
        }
    }

    /** Gives back whatever it gets, whenever that comes. */
    private static final class Releasing implements CoreSubscriber<Permit> {

        private Subscription subscription = Operators.emptySubscription();

        @Override
        public void onSubscribe(Subscription asked) {
            subscription = asked;
            asked.request(1);
        }

        @Override
        public void onNext(Permit permit) {
            permit.release();
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onComplete() {}
    }

    private record CountedPermit(Permit permit, AtomicInteger out, AtomicInteger back) implements Permit {

        CountedPermit {
            out.incrementAndGet();
        }

        @Override
        public void sent() {
            permit.sent();
        }

        @Override
        public void settle(String unit, long actual) {
            permit.settle(unit, actual);
        }

        @Override
        public void hear(io.github.reactorratelimit.signal.RateLimitSignal signal) {
            permit.hear(signal);
        }

        @Override
        public void complete(io.github.reactorratelimit.signal.RateLimitSignal signal) {
            back.incrementAndGet();
            permit.complete(signal);
        }

        @Override
        public void release() {
            back.incrementAndGet();
            permit.release();
        }
    }
}
