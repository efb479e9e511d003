package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** Who is waited for when no source serves within the longest wait. */
class LastResortTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    /** Its permits are out, for nobody knows how long. */
    private final RateLimiter busy = limiter("busy", Limit.inFlight(1));

    private final Permit held = busy.tryAcquire().permit();

    private RateLimiter limiter(String name, Limit... limits) {
        return RateLimiter.named(name)
                .limit(limits)
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5)
                .build();
    }

    private RateLimiter free(Duration after) {
        RateLimiter later = limiter("later", Limit.of(1, after));
        later.tryAcquire();
        return later;
    }

    private RateLimiter spent() {
        RateLimiter spent = limiter("spent", Limit.total(100).unit("money"));
        spent.tryAcquire(Demand.one().cost("money", 95));
        return spent;
    }

    private RateLimiter small() {
        return limiter("small", Limit.of(5, ofSeconds(1)).unit("money"));
    }

    private RateLimiter crowded() {
        RateLimiter crowded = RateLimiter.named("crowded")
                .limit(Limit.inFlight(1))
                .maxPending(1, 1)
                .scheduler(() -> time)
                .build();
        crowded.tryAcquire();
        crowded.acquire(Demand.one()).subscribe();
        return crowded;
    }

    /** For longer than any server is obeyed. */
    private RateLimiter closed() {
        RateLimiter closed = limiter("closed", Limit.of(10, ofSeconds(1)));
        closed.tryAcquire()
                .permit()
                .complete(RateLimitSignal.of(429)
                        .throttled(true)
                        .delay(ofMinutes(10))
                        .build());
        return closed;
    }

    private static Demand demand() {
        return Demand.one().cost("money", 10);
    }

    private TestSubscriber<PermitSource> ask(PermitSource first, PermitSource... others) {
        return askEach(source -> demand(), first, others);
    }

    private TestSubscriber<PermitSource> askEach(
            Function<PermitSource, Demand> demands, PermitSource first, PermitSource... others) {
        return PermitSource.firstWithin(ofSeconds(1), first, others)
                .use(demands, attempt -> Mono.just(attempt.source()))
                .subscribeWith(TestSubscriber.create());
    }

    private void isServedOnceFree(TestSubscriber<PermitSource> call) {
        time.advanceTimeBy(ofSeconds(5));
        assertThat(call.isTerminated()).isFalse();
        held.release();
        assertThat(call.getReceivedOnNext()).containsExactly(busy);
    }

    @Test
    void a_budget_that_is_spent_for_good_is_not_waited_for_where_another_has_calls_in_flight() {
        isServedOnceFree(ask(spent(), busy));
    }

    @Test
    void neither_is_a_demand_that_is_too_heavy_for_ever() {
        isServedOnceFree(ask(small(), busy));
    }

    @Test
    void neither_is_a_source_without_room_to_wait_in() {
        isServedOnceFree(ask(crowded(), busy));
    }

    @Test
    void nor_one_that_has_room_again_since_before_another_that_had_room_all_along() {
        RateLimiter narrow = RateLimiter.named("narrow")
                .limit(Limit.inFlight(1))
                .maxPending(1, 1)
                .scheduler(() -> time)
                .build();
        assertThat(narrow.tryAcquire().allowed()).isTrue();
        Disposable one = narrow.acquire(Demand.one()).subscribe();
        TestSubscriber<PermitSource> call = ask(narrow, busy);
        time.advanceTimeBy(ofMillis(500));
        one.dispose();
        isServedOnceFree(call);
    }

    @Test
    void neither_is_one_that_is_closed_for_longer_than_is_obeyed() {
        isServedOnceFree(ask(closed(), busy));
    }

    @Test
    void neither_is_one_that_takes_longer_than_its_demand_may_wait() {
        RateLimiter later = free(ofSeconds(30));
        isServedOnceFree(askEach(source -> source == later ? demand().maxWait(ofSeconds(20)) : demand(), later, busy));
    }

    @Test
    void neither_is_one_whose_demand_has_waited_already_as_long_as_it_may() {
        RateLimiter other = limiter("other", Limit.inFlight(1));
        other.tryAcquire();
        isServedOnceFree(askEach(source -> source == other ? demand().maxWait(ofMillis(500)) : demand(), other, busy));
    }

    @Test
    void it_is_the_same_for_a_bare_permit_and_for_many_elements() {
        List<Permit> permits = new ArrayList<>();
        PermitSource.firstWithin(ofSeconds(1), spent(), busy).acquire(demand()).subscribe(permits::add);
        time.advanceTimeBy(ofSeconds(5));
        held.release();
        assertThat(permits).hasSize(1);
        TestSubscriber<PermitSource> many = PermitSource.firstWithin(ofSeconds(1), spent(), busy)
                .useMany(source -> demand(), attempt -> Flux.just(attempt.source()))
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofSeconds(5));
        permits.get(0).release();
        assertThat(many.getReceivedOnNext()).containsExactly(busy);
    }

    @Test
    void whoever_would_serve_at_a_known_time_comes_first_and_the_earliest_of_those() {
        RateLimiter late = free(ofSeconds(40));
        RateLimiter early = free(ofSeconds(20));
        TestSubscriber<PermitSource> call = ask(busy, late, spent(), closed(), early);
        time.advanceTimeBy(ofSeconds(21));
        assertThat(call.getReceivedOnNext()).containsExactly(early);
    }

    @Test
    void one_that_is_closed_for_too_long_gives_way_to_one_that_comes_later() {
        RateLimiter late = free(ofMinutes(15));
        TestSubscriber<PermitSource> call = ask(closed(), late);
        time.advanceTimeBy(ofMinutes(16));
        assertThat(call.getReceivedOnNext()).containsExactly(late);
    }

    @Test
    void a_room_that_was_full_is_asked_again_when_there_is_nobody_else() {
        RateLimiter crowded = RateLimiter.named("crowded")
                .limit(Limit.of(1, ofMillis(500)))
                .maxPending(1, 1)
                .scheduler(() -> time)
                .build();
        crowded.tryAcquire();
        crowded.acquire(Demand.one()).subscribe();
        RateLimiter other = limiter("other", Limit.inFlight(1));
        other.tryAcquire();
        TestSubscriber<PermitSource> call =
                askEach(source -> source == other ? demand().maxWait(ofMillis(900)) : demand(), crowded, other);
        time.advanceTimeBy(ofSeconds(5));
        assertThat(call.getReceivedOnNext()).containsExactly(crowded);
    }

    @Test
    void a_call_that_fails_for_good_at_the_last_resort_goes_on_to_the_next_of_them() {
        RateLimiter early = free(ofSeconds(20));
        RateLimiter late = free(ofSeconds(40));
        TestSubscriber<PermitSource> call = PermitSource.firstWithin(ofSeconds(1), early, late)
                .when(error -> error instanceof IllegalStateException)
                .<PermitSource>use(
                        source -> demand(),
                        attempt -> attempt.source() == early
                                ? Mono.error(new IllegalStateException("broken"))
                                : Mono.just(attempt.source()))
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofSeconds(41));
        assertThat(call.getReceivedOnNext()).containsExactly(late);
    }

    @Test
    void nobody_waits_twice_as_long_as_a_demand_may() {
        RateLimiter other = limiter("other", Limit.inFlight(1));
        other.tryAcquire();
        List<Long> failedAt = new ArrayList<>();
        PermitSource.firstWithin(ofSeconds(1), busy, other)
                .acquire(Demand.one().maxWait(ofSeconds(3)))
                .subscribe(permit -> {}, error -> failedAt.add(time.now(TimeUnit.MILLISECONDS)));
        time.advanceTimeBy(ofMinutes(1));
        assertThat(failedAt).containsExactly(4_000L);
    }

    @Test
    void where_nobody_would_ever_serve_the_refusal_of_the_preferred_one_tells_why() {
        TestSubscriber<PermitSource> call = ask(spent(), small());
        assertThat(call.expectTerminalError()).isInstanceOfSatisfying(RateLimitedException.class, refused -> {
            assertThat(refused.limiter()).isEqualTo("spent");
            assertThat(refused.getSuppressed()).hasSize(1);
        });
    }

    @Test
    void where_somebody_would_serve_later_than_may_be_waited_that_refusal_tells_when() {
        RateLimiter later = free(ofSeconds(30));
        TestSubscriber<PermitSource> call =
                askEach(source -> demand().maxWait(ofSeconds(5)), spent(), later, crowded());
        assertThat(call.expectTerminalError())
                .isInstanceOfSatisfying(
                        RateLimitedException.class,
                        refused -> assertThat(refused.retryAfter()).isGreaterThan(ofSeconds(29)));
    }
}
