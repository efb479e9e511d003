package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.test.subscriber.TestSubscriber;

/** Choices within choices, sources of somebody else's, and bare permits. */
class FallbackShapesTest extends TwoModels {

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
    void a_changed_choice_within_another_shows_its_sources_as_they_were_handed_over() {
        List<PermitSource> shown = new ArrayList<>();
        PermitSource keyed = llm.asking(demand -> demand.and("key", "one"));
        RateLimiter keyless = limiter("third", Limit.of(1, ofSeconds(5)));
        PermitSource.firstWithin(ofSeconds(1), keyed, keyless)
                .use(
                        asked -> {
                            shown.add(asked);
                            return Demand.one();
                        },
                        permit -> {
                            shown.add(permit.source());
                            return Mono.empty();
                        })
                .subscribe();
        assertThat(shown).containsExactly(gpt, gpt);
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
