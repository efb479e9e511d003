package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;

class OrderOfGrantsTest {

    private final VirtualTime time = new VirtualTime();

    private static Demand user(String name) {
        return Demand.of("user", name);
    }

    private List<Asked> ask(RateLimiter limiter, Demand demand, int times) {
        return IntStream.range(0, times)
                .mapToObj(i -> time.ask(limiter, demand))
                .toList();
    }

    @Test
    void the_first_to_come_is_the_first_served() {
        RateLimiter limiter = time.limiter(Limit.bucket(2, 1, ofSeconds(1)));
        List<Asked> asked = ask(limiter, Demand.one(), 10);
        time.runTo(ofSeconds(8));
        for (int i = 0; i < 10; i++) {
            assertThat(asked.get(i).at()).isEqualTo(ofSeconds(Math.max(0, i - 1)));
            assertThat(asked.get(i).turn()).isEqualTo(i + 1);
        }
    }

    @Test
    void keys_take_turns_whoever_has_the_longer_line() { // B37
        RateLimiter limiter = time.spec()
                .limit(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0))
                .scope(Scope.by("user"))
                .build();
        List<Asked> many = ask(limiter, user("a"), 1_000);
        time.runTo(ofMillis(500));
        List<Asked> few = ask(limiter, user("b"), 3);
        List<Asked> one = ask(limiter, user("c"), 1);
        time.runTo(ofSeconds(8));
        assertThat(many.get(0).turn()).isEqualTo(1);
        assertThat(turns(few)).containsExactly(2, 5, 7);
        assertThat(turns(one)).containsExactly(3);
        assertThat(turns(many.subList(0, 5))).containsExactly(1, 4, 6, 8, 0);
    }

    private static List<Integer> turns(List<Asked> asked) {
        return asked.stream().map(Asked::turn).toList();
    }

    @Test
    void keys_take_turns_on_every_level_of_the_tree() {
        RateLimiter limiter = time.spec()
                .limit(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0))
                .scope(Scope.by("tenant"))
                .scope(Scope.by("user"))
                .build();
        List<Asked> a1 = ask(limiter, Demand.of("tenant", "A").and("user", "1"), 4);
        List<Asked> a2 = ask(limiter, Demand.of("tenant", "A").and("user", "2"), 4);
        List<Asked> b3 = ask(limiter, Demand.of("tenant", "B").and("user", "3"), 4);
        time.runTo(ofSeconds(8));
        assertThat(turns(b3)).as("half of all").containsExactly(2, 4, 6, 8);
        assertThat(turns(a1)).containsExactly(1, 5, 0, 0);
        assertThat(turns(a2)).containsExactly(3, 7, 0, 0);
    }

    @Test
    void a_key_that_cannot_go_holds_nobody_else_up() {
        RateLimiter limiter = time.spec()
                .limit(Limit.of(100, ofSeconds(1)))
                .scope(Scope.by("user").limits(Limit.of(1, ofSeconds(10))))
                .build();
        List<Asked> a = ask(limiter, user("a"), 5);
        List<Asked> b = ask(limiter, user("b"), 1);
        assertThat(a.get(0).isGranted()).isTrue();
        assertThat(a.get(1).isWaiting()).isTrue();
        assertThat(b.get(0).at()).isZero();
    }

    @Test
    void a_heavy_demand_keeps_its_turn_until_its_permits_are_together() {
        RateLimiter limiter = time.spec()
                .limit(Limit.bucket(10, 1, ofSeconds(1)).startingWith(0))
                .scope(Scope.by("user"))
                .build();
        Asked heavy = time.ask(limiter, user("a").cost(10));
        List<Asked> light = ask(limiter, user("b"), 3);
        time.runTo(ofSeconds(9));
        assertThat(light).allMatch(Asked::isWaiting);
        time.runTo(ofSeconds(13));
        assertThat(heavy.at()).isEqualTo(ofSeconds(10));
        assertThat(light).extracting(Asked::at).containsExactly(ofSeconds(11), ofSeconds(12), ofSeconds(13));
    }

    @Test
    void a_cancelled_waiter_leaves_and_those_behind_are_reconsidered_at_once() {
        RateLimiter limiter = time.limiter(Limit.bucket(10, 1, ofSeconds(1)).startingWith(3));
        Asked heavy = time.ask(limiter, Demand.one().cost(10));
        List<Asked> behind = ask(limiter, Demand.one(), 4);
        time.runTo(ofMillis(100));
        heavy.cancel();
        assertThat(behind.subList(0, 3)).allMatch(asked -> ofMillis(100).equals(asked.at()));
        assertThat(behind.get(3).isWaiting()).isTrue();
        assertThat(limiter.snapshot().waiting()).isEqualTo(1);
        time.runTo(ofSeconds(1));
        assertThat(behind.get(3).at()).isEqualTo(ofSeconds(1));
    }

    @Test
    void a_cancelled_waiter_of_another_key_gives_its_turn_back() {
        RateLimiter limiter = time.spec()
                .limit(Limit.bucket(10, 1, ofSeconds(1)).startingWith(1))
                .scope(Scope.by("user"))
                .build();
        Asked heavy = time.ask(limiter, user("a").cost(5));
        Asked light = time.ask(limiter, user("b"));
        assertThat(light.isWaiting()).isTrue();
        heavy.cancel();
        assertThat(light.at()).isZero();
    }

    @Test
    void cancelling_all_who_wait_leaves_no_trace() { // B38
        RateLimiter limiter = time.limiter(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0));
        List<Asked> asked = ask(limiter, Demand.one(), 100);
        List<Asked> reversed = new ArrayList<>(asked);
        Collections.reverse(reversed);
        reversed.forEach(Asked::cancel);
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().timers()).isZero();
        assertThat(time.timers()).isZero();
        time.runTo(ofSeconds(5));
        assertThat(limiter.tryAcquire().allowed()).isTrue();
        assertThat(asked).allMatch(Asked::isWaiting);
    }

    @Test
    void a_permit_that_nobody_got_is_as_if_never_granted() { // B48
        RateLimiter limiter = time.limiter(Limit.bucket(5, 1, ofSeconds(1)), Limit.inFlight(5));
        limiter.acquire(Demand.one()).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                subscription.cancel();
                subscription.request(1);
            }
        });
        limiter.acquire(Demand.one()).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                // requests nothing
            }
        });
        assertThat(limiter.estimate(Demand.one().cost(5)).allowed()).isTrue();
    }

    @Test
    void nothing_happens_until_it_is_subscribed_and_each_subscription_is_one_act() { // B16
        RateLimiter limiter = time.limiter(Limit.bucket(5, 1, ofSeconds(1)));
        var acquire = limiter.acquire(Demand.one());
        assertThat(limiter.estimate(Demand.one().cost(5)).allowed()).isTrue();
        acquire.subscribe();
        acquire.subscribe();
        assertThat(limiter.estimate(Demand.one()).remaining()).isEqualTo(2);
    }

    @Test
    void an_answer_at_once_does_not_overtake_those_who_wait() {
        RateLimiter limiter = time.limiter(Limit.bucket(10, 1, ofSeconds(1)).startingWith(5));
        Asked heavy = time.ask(limiter, Demand.one().cost(8));
        Decision decision = limiter.tryAcquire();
        assertThat(decision.allowed()).isFalse();
        assertThat(limiter.estimate(Demand.one()).allowed()).isFalse();
        heavy.cancel();
        assertThat(limiter.tryAcquire().allowed()).isTrue();
    }

    @Test
    void an_answer_at_once_passes_those_who_wait_for_another_key_only() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.of(1, ofSeconds(10))))
                .build();
        ask(limiter, user("a"), 3);
        assertThat(limiter.tryAcquire(user("a")).allowed()).isFalse();
        assertThat(limiter.tryAcquire(user("b")).allowed()).isTrue();
    }

    @Test
    void an_estimate_takes_nothing() {
        RateLimiter limiter = time.limiter(Limit.of(2, ofSeconds(10)), Limit.inFlight(1));
        for (int i = 0; i < 10; i++) {
            Decision estimate = limiter.estimate(Demand.one());
            assertThat(estimate.allowed()).isTrue();
            assertThat(estimate.remaining()).isZero();
            assertThat(estimate.limit()).isEqualTo(Limit.inFlight(1));
        }
        assertThat(limiter.snapshot().root().limits())
                .extracting(RateLimiterSnapshot.LimitState::available)
                .containsExactly(2L, 1L);
    }

    @Test
    void those_who_wait_are_served_by_the_thread_of_a_release_without_a_timer() {
        RateLimiter limiter = time.limiter(Limit.inFlight(1));
        Permit held = limiter.tryAcquire().permit();
        Asked next = time.ask(limiter);
        assertThat(time.timers()).isZero();
        held.release();
        assertThat(next.at()).isZero();
    }

    @Test
    void one_alarm_serves_any_number_of_waiters_and_deadlines() {
        RateLimiter limiter = time.limiter(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0));
        for (int i = 1; i <= 500; i++) {
            time.ask(limiter, Demand.one().maxWait(ofSeconds(600 + i)));
        }
        assertThat(time.timers()).isEqualTo(1);
        time.runTo(ofSeconds(250));
        assertThat(limiter.snapshot().waiting()).isEqualTo(250);
        assertThat(time.timers()).isEqualTo(1);
        time.runTo(ofSeconds(500));
        assertThat(time.timers()).isZero();
        assertThat(limiter.snapshot().timers()).isZero();
    }

    @Test
    void a_permit_released_twice_or_by_both_ways_frees_once() { // B20
        RateLimiter limiter = time.limiter(Limit.inFlight(3));
        Permit permit = limiter.tryAcquire().permit();
        permit.release();
        permit.release();
        permit.complete(RateLimitSignal.none(200));
        Asked asked = time.ask(limiter);
        asked.permit().release();
        asked.cancel();
        asked.permit().release();
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(3);
    }
}
