package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.signal.Dialects;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.scheduler.Schedulers;

class ChangeTest {

    private final VirtualTime time = new VirtualTime();

    private List<Asked> ask(RateLimiter limiter, Demand demand, int times) {
        return IntStream.range(0, times)
                .mapToObj(i -> time.ask(limiter, demand))
                .toList();
    }

    private static void change(RateLimiter limiter, Limit... limits) {
        limiter.change(limiter.spec().limit(limits));
    }

    @Test
    void a_faster_limit_shortens_every_wait() { // B08
        RateLimiter limiter = time.limiter(Limit.bucket(10, 1, ofSeconds(1)).startingWith(0));
        List<Asked> asked = ask(limiter, Demand.one().cost(10), 3);
        time.runTo(ofSeconds(5));
        change(limiter, Limit.bucket(10, 10, ofSeconds(1)).startingWith(0));
        time.runTo(ofSeconds(60));
        assertThat(asked).extracting(Asked::at).containsExactly(ofMillis(5_500), ofMillis(6_500), ofMillis(7_500));
    }

    @Test
    void a_slower_limit_lengthens_every_wait() { // B08
        RateLimiter limiter = time.limiter(Limit.bucket(1, 10, ofSeconds(1)).startingWith(0));
        List<Asked> asked = ask(limiter, Demand.one(), 10);
        time.runTo(ofMillis(500));
        assertThat(asked.get(4).isGranted()).isTrue();
        change(limiter, Limit.bucket(1, 1, ofSeconds(1)));
        time.runTo(ofSeconds(60));
        assertThat(asked.subList(5, 10))
                .extracting(Asked::at)
                .containsExactly(ofMillis(1_500), ofMillis(2_500), ofMillis(3_500), ofMillis(4_500), ofMillis(5_500));
    }

    @Test
    void a_pause_grants_nothing_until_it_is_over() { // B08
        RateLimiter limiter = time.limiter(Limit.bucket(10, 1, ofSeconds(1)).startingWith(0));
        List<Asked> asked = ask(limiter, Demand.one(), 5);
        time.runTo(ofSeconds(2));
        limiter.pause(Demand.one(), ofSeconds(30));
        time.runTo(ofSeconds(60));
        assertThat(asked)
                .extracting(Asked::at)
                .containsExactly(ofSeconds(1), ofSeconds(2), ofSeconds(33), ofSeconds(34), ofSeconds(35));
    }

    @Test
    void a_wider_window_grants_at_once_what_fits_now_and_a_narrower_one_takes_nothing_back() {
        RateLimiter limiter = time.limiter(Limit.of(2, ofSeconds(10)));
        List<Asked> asked = ask(limiter, Demand.one(), 6);
        change(limiter, Limit.of(4, ofSeconds(10)));
        assertThat(asked.stream().filter(Asked::isGranted).count()).isEqualTo(4);
        change(limiter, Limit.of(1, ofSeconds(10)));
        time.runTo(ofMillis(10_010));
        assertThat(asked.get(4).at()).isEqualTo(ofMillis(10_010));
        assertThat(asked.get(5).isWaiting()).isTrue();
        time.runTo(ofMillis(20_020));
        assertThat(asked.get(5).at()).isEqualTo(ofMillis(20_020));
    }

    @Test
    void who_can_never_pass_any_more_fails_and_the_others_go_on() { // B19
        RateLimiter limiter = time.limiter(Limit.bucket(10, 1, ofSeconds(1)).startingWith(0));
        Asked heavy = time.ask(limiter, Demand.one().cost(8));
        Asked light = time.ask(limiter, Demand.one());
        time.runTo(ofSeconds(1));
        change(limiter, Limit.bucket(5, 1, ofSeconds(1)));
        assertThat(heavy.at()).isEqualTo(ofSeconds(1));
        assertThat(heavy.refusal().limit()).isEqualTo(Limit.bucket(5, 1, ofSeconds(1)));
        assertThat(light.at()).isEqualTo(ofSeconds(1));
    }

    @Test
    void calls_in_flight_keep_their_places_through_changes() {
        RateLimiter limiter = time.limiter(Limit.inFlight(2));
        Permit first = limiter.tryAcquire().permit();
        Permit second = limiter.tryAcquire().permit();
        Asked waiting = time.ask(limiter);
        change(limiter, Limit.inFlight(1));
        first.release();
        assertThat(waiting.isWaiting()).isTrue();
        second.release();
        assertThat(waiting.isGranted()).isTrue();
    }

    @Test
    void a_call_from_before_calls_in_flight_were_limited_frees_no_place() { // B20
        RateLimiter limiter = time.limiter(Limit.of(100, ofSeconds(1)));
        Permit before = limiter.tryAcquire().permit();
        change(limiter, Limit.inFlight(1));
        Permit after = limiter.tryAcquire().permit();
        before.release();
        assertThat(limiter.tryAcquire().allowed()).isFalse();
        after.release();
        assertThat(limiter.tryAcquire().allowed()).isTrue();
    }

    @Test
    void a_call_that_outlived_a_limit_on_calls_in_flight_frees_no_place_of_the_next() { // B20
        RateLimiter limiter = time.limiter(Limit.inFlight(1));
        Permit old = limiter.tryAcquire().permit();
        change(limiter, Limit.of(100, ofSeconds(1)));
        change(limiter, Limit.inFlight(1));
        limiter.tryAcquire().permit();
        old.release();
        assertThat(limiter.tryAcquire().allowed()).isFalse();
    }

    @Test
    void a_use_settled_after_a_change_counts_against_the_new_limit() {
        RateLimiter limiter = time.limiter(Limit.of(10, ofSeconds(10)).unit("tokens"));
        Permit permit = limiter.tryAcquire(Demand.one().cost("tokens", 5)).permit();
        change(limiter, Limit.of(20, ofSeconds(20)).unit("tokens"));
        permit.settle("tokens", 15);
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(5);
    }

    @Test
    void limits_by_key_are_reckoned_anew_for_known_keys() {
        AtomicLong plan = new AtomicLong(1);
        Scope scope = Scope.by("user").limitsBy(key -> List.of(Limit.of(plan.get(), ofSeconds(10))));
        RateLimiter limiter = time.spec().scope(scope).build();
        Demand user = Demand.of("user", "a");
        List<Asked> asked = ask(limiter, user, 3);
        plan.set(3);
        assertThat(asked.get(1).isWaiting()).isTrue();
        limiter.change(limiter.spec());
        assertThat(asked).allMatch(Asked::isGranted);
    }

    @Test
    void only_limits_may_change() {
        RateLimiter limiter = time.spec().scope(Scope.by("user")).build();
        for (RateLimiterSpec other : List.of(
                limiter.spec().scope(Scope.by("more")),
                limiter.spec().lane("background", Share.of(0.5)),
                limiter.spec().dialect(Dialects.microsoftGraph()),
                limiter.spec().scheduler(Schedulers::immediate),
                time.spec().scope(Scope.by("token")),
                limiter.spec().replace(Scope.by("user").limit("/a", Limit.inFlight(1))),
                RateLimiter.named("other").scope(Scope.by("user")))) {
            assertThatThrownBy(() -> limiter.change(other))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("can change its limits only");
        }
        limiter.change(limiter.spec().replace(Scope.by("user").limits(Limit.of(1, ofSeconds(1)))));
        limiter.tryAcquire(Demand.of("user", "a"));
        assertThat(limiter.tryAcquire(Demand.of("user", "a")).allowed()).isFalse();
    }

    // ------------------------------------------------------------------------------------------------ pausing

    @Test
    void the_longest_of_several_pauses_wins() {
        RateLimiter limiter = time.limiter();
        limiter.pause(Demand.one(), ofSeconds(10));
        limiter.pause(Demand.one(), ofSeconds(3));
        Asked asked = time.ask(limiter);
        time.runTo(ofSeconds(4));
        limiter.pause(Demand.one(), ofSeconds(7));
        time.runTo(ofSeconds(20));
        assertThat(asked.at()).isEqualTo(ofSeconds(11));
    }

    @Test
    void no_credit_accrues_while_paused_however_often_it_is_prolonged() {
        RateLimiter limiter = time.limiter(Limit.bucket(50, 5, ofSeconds(1)).startingWith(3));
        for (int i = 0; i < 5; i++) {
            limiter.pause(Demand.one(), ofSeconds(10));
            time.advance(ofSeconds(5));
        }
        limiter.resume(Demand.one());
        assertThat(limiter.estimate(Demand.one()).remaining()).isEqualTo(2);
        time.advance(ofSeconds(1));
        assertThat(limiter.estimate(Demand.one()).remaining()).isEqualTo(7);
    }

    @Test
    void resuming_opens_at_once() {
        RateLimiter limiter = time.limiter();
        limiter.pause(Demand.one(), ofSeconds(1_000));
        Asked asked = time.ask(limiter);
        Decision decision = limiter.tryAcquire();
        assertThat(decision.retryAfter()).isEqualTo(ofSeconds(1_000));
        assertThat(decision.limit()).isNull();
        time.runTo(ofSeconds(5));
        limiter.resume(Demand.one());
        assertThat(asked.at()).isEqualTo(ofSeconds(5));
        limiter.resume(Demand.one());
        assertThat(time.timers()).isZero();
    }

    @Test
    void a_pause_by_hand_is_waited_for_however_long() {
        RateLimiter limiter = time.limiter();
        limiter.pause(Demand.one(), Duration.ofHours(1));
        Asked asked = time.ask(limiter);
        time.runTo(Duration.ofHours(1));
        assertThat(asked.at()).isEqualTo(Duration.ofHours(1));
    }

    @Test
    void pausing_a_key_closes_that_key_and_those_below_it() {
        RateLimiter limiter =
                time.spec().scope(Scope.by("tenant")).scope(Scope.by("user")).build();
        limiter.pause(Demand.of("tenant", "A"), ofSeconds(10));
        limiter.pause(Demand.of("tenant", "B").and("user", "1"), ofSeconds(10));
        Map<String, Boolean> allowed = new TreeMap<>();
        for (String tenant : List.of("A", "B", "C")) {
            for (String user : List.of("1", "2")) {
                Demand demand = Demand.of("tenant", tenant).and("user", user);
                allowed.put(tenant + user, limiter.tryAcquire(demand).allowed());
            }
        }
        assertThat(allowed)
                .isEqualTo(Map.of("A1", false, "A2", false, "B1", false, "B2", true, "C1", true, "C2", true));
    }

    @Test
    void a_key_that_comes_while_limits_change_gets_the_new_ones() {
        AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});
        AtomicInteger plan = new AtomicInteger(9);
        Scope scope = Scope.by("user").limitsBy(key -> {
            Limit limit = Limit.of(plan.get(), ofSeconds(10));
            meanwhile.getAndSet(() -> {}).run();
            return List.of(limit);
        });
        RateLimiter limiter = time.spec().scope(scope).build();
        meanwhile.set(() -> {
            plan.set(1);
            limiter.change(limiter.spec());
        });
        Demand user = Demand.of("user", "a");
        assertThat(limiter.tryAcquire(user).allowed()).isTrue();
        assertThat(limiter.tryAcquire(user).allowed()).isFalse();
    }

    @Test
    void a_key_that_comes_to_be_known_while_limits_are_asked_for_is_changed_too() {
        AtomicReference<Runnable> meanwhile = new AtomicReference<>(() -> {});
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.of(9, ofSeconds(10))))
                .build();
        limiter.tryAcquire(Demand.of("user", "known"));
        meanwhile.set(() -> limiter.tryAcquire(Demand.of("user", "new")));
        Scope tighter = Scope.by("user").limitsBy(key -> {
            meanwhile.getAndSet(() -> {}).run();
            return List.of(Limit.of(1, ofSeconds(10)));
        });
        limiter.change(limiter.spec().replace(tighter));
        assertThat(limiter.tryAcquire(Demand.of("user", "known")).allowed()).isFalse();
        assertThat(limiter.tryAcquire(Demand.of("user", "new")).allowed()).isFalse();
        assertThat(limiter.tryAcquire(Demand.of("user", "later")).allowed()).isTrue();
        assertThat(limiter.tryAcquire(Demand.of("user", "later")).allowed()).isFalse();
    }

    @Test
    void a_change_whose_function_throws_changes_nothing() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.of(1, ofSeconds(10))))
                .build();
        Demand user = Demand.of("user", "a");
        limiter.tryAcquire(user);
        RateLimiterSpec before = limiter.spec();
        Scope broken = Scope.by("user").limitsBy(key -> {
            throw new IllegalStateException("no plan for " + key);
        });
        assertThatThrownBy(() -> limiter.change(limiter.spec().replace(broken)))
                .isInstanceOf(IllegalStateException.class);
        assertThat(limiter.spec()).isSameAs(before);
        assertThat(limiter.tryAcquire(user).allowed()).isFalse();
        assertThat(limiter.tryAcquire(Demand.of("user", "b")).allowed()).isTrue();
    }

    // ------------------------------------------------------------------------------------------------ disposing

    @Test
    void disposing_fails_all_who_wait_and_whoever_comes_later() { // B56
        RateLimiter limiter =
                time.spec().limit(Limit.inFlight(1)).scope(Scope.by("user")).build();
        Permit held = limiter.tryAcquire(Demand.of("user", "a")).permit();
        List<Asked> asked = ask(limiter, Demand.of("user", "b").maxWait(ofSeconds(60)), 10);
        time.runTo(ofSeconds(1));
        limiter.dispose();
        assertThat(asked).allSatisfy(one -> {
            assertThat(one.at()).isEqualTo(ofSeconds(1));
            assertThat(one.error())
                    .isInstanceOf(LimiterDisposedException.class)
                    .hasMessage("Limiter 'test' is disposed.");
        });
        assertThat(time.timers()).isZero();
        assertThat(limiter.isDisposed()).isTrue();
        held.release();
        held.release();
        limiter.dispose();
        assertThat(time.ask(limiter, Demand.of("user", "c")).error()).isInstanceOf(LimiterDisposedException.class);
        Decision decision = limiter.tryAcquire(Demand.of("user", "c"));
        assertThat(decision.allowed()).isFalse();
        assertThat(decision.retryAfter()).isNull();
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().timers()).isZero();
    }

    @Test
    void a_waiter_that_asks_again_when_disposed_is_told_so_and_does_not_loop() {
        RateLimiter limiter = time.limiter(Limit.inFlight(1));
        limiter.tryAcquire();
        Asked again = new Asked(time);
        limiter.acquire(Demand.one())
                .onErrorResume(LimiterDisposedException.class, e -> limiter.acquire(Demand.one()))
                .subscribe(again);
        limiter.dispose();
        assertThat(again.error()).isInstanceOf(LimiterDisposedException.class);
    }
}
