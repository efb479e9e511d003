package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/** How a scope opens again after a refusal, and how a limiter starts that knows no limit. */
class RampTest {

    private static final RateLimitSignal OK = RateLimitSignal.none(200);
    private static final RateLimitSignal NO_HINT =
            RateLimitSignal.of(429).throttled(true).build();
    private static final RateLimitSignal HINT =
            RateLimitSignal.of(429).throttled(true).delay(ofSeconds(1)).build();

    private final VirtualTime time = new VirtualTime();

    private List<Asked> ask(RateLimiter limiter, int times) {
        return IntStream.range(0, times).mapToObj(i -> time.ask(limiter)).toList();
    }

    private static List<Asked> out(List<Asked> all, int from) {
        return all.subList(from, all.size()).stream().filter(Asked::isGranted).toList();
    }

    private RateLimiter refusedOnce(RateLimitSignal refusal, Limit... limits) {
        RateLimiter limiter = time.limiter(limits);
        limiter.tryAcquire().permit().complete(refusal);
        return limiter;
    }

    private static int waves(RateLimiter limiter) {
        return limiter.snapshot().root().waves();
    }

    /** Completes all that are out, round by round, and notes how many there were in each. */
    private static List<Integer> rounds(List<Asked> asked, int count) {
        List<Integer> rounds = new ArrayList<>();
        int done = 0;
        for (int round = 0; round < count; round++) {
            List<Asked> out = out(asked, done);
            rounds.add(out.size());
            done += out.size();
            out.forEach(one -> one.permit().complete(OK));
        }
        return rounds;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_scope_opens_with_one_then_two_four_eight_until_its_limit_is_the_bound(boolean hint) {
        RateLimiter limiter = refusedOnce(hint ? HINT : NO_HINT, Limit.inFlight(20));
        List<Asked> asked = ask(limiter, 100);
        time.runTo(ofSeconds(1));
        assertThat(rounds(asked, 7)).containsExactly(1, 2, 4, 8, 16, 20, 20);
        assertThat(waves(limiter)).isZero();
    }

    @Test
    void the_waves_are_over_when_the_ramp_is() {
        RateLimiter limiter = refusedOnce(NO_HINT, Limit.inFlight(4));
        List<Asked> asked = ask(limiter, 10);
        time.runTo(ofSeconds(1));
        out(asked, 0).get(0).permit().complete(OK);
        asked.get(1).permit().complete(OK);
        assertThat(waves(limiter)).as("two at once are not four").isEqualTo(1);
        asked.get(2).permit().complete(OK);
        assertThat(waves(limiter)).isZero();
    }

    @Test
    void the_ramp_is_over_when_it_held_up_nobody_for_a_whole_round() {
        RateLimiter limiter = refusedOnce(NO_HINT, Limit.of(1_000, ofSeconds(1)));
        time.runTo(ofSeconds(1));
        for (int i = 0; i < 3; i++) {
            assertThat(waves(limiter)).isEqualTo(1);
            limiter.tryAcquire().permit().complete(OK);
        }
        assertThat(waves(limiter)).isZero();
        assertThat(out(ask(limiter, 100), 0)).hasSize(100);
    }

    @Test
    void where_no_limit_is_known_it_grows_no_wider_than_it_was_tried() {
        RateLimiter limiter = time.limiter();
        for (int i = 0; i < 1_000; i++) {
            limiter.tryAcquire().permit().complete(OK);
        }
        assertThat(out(ask(limiter, 100), 0)).hasSize(2);
    }

    @Test
    void a_refusal_in_the_ramp_is_the_next_wave_and_the_ramp_begins_anew() {
        RateLimiter limiter = refusedOnce(NO_HINT, Limit.inFlight(20));
        List<Asked> asked = ask(limiter, 30);
        time.runTo(ofSeconds(1));
        assertThat(rounds(asked, 2)).containsExactly(1, 2);
        asked.get(3).permit().complete(NO_HINT);
        assertThat(waves(limiter)).isEqualTo(2);
        assertThat(limiter.snapshot().root().closedFor()).isEqualTo(ofSeconds(2));
        asked.subList(4, 7).forEach(one -> one.permit().complete(NO_HINT));
        assertThat(waves(limiter)).as("of the same wave").isEqualTo(2);
        time.runTo(ofSeconds(3));
        assertThat(out(asked, 7)).hasSize(1);
        asked.get(7).permit().complete(OK);
        assertThat(out(asked, 8)).hasSize(2);
    }

    @Test
    void answers_asked_for_before_the_gate_shut_widen_nothing_and_their_ends_free_no_place() {
        RateLimiter limiter = time.limiter(Limit.inFlight(8));
        List<Asked> before = ask(limiter, 6);
        before.get(0).permit().complete(HINT);
        List<Asked> asked = ask(limiter, 20);
        time.runTo(ofSeconds(1));
        assertThat(out(asked, 0)).hasSize(1);
        before.subList(1, 6).forEach(one -> one.permit().complete(OK));
        assertThat(out(asked, 0)).hasSize(1);
    }

    @Test
    void a_failure_gives_its_place_back_and_widens_nothing() {
        RateLimiter limiter = refusedOnce(HINT, Limit.inFlight(8));
        List<Asked> asked = ask(limiter, 20);
        time.runTo(ofSeconds(1));
        asked.get(0).permit().complete(RateLimitSignal.none(502));
        assertThat(out(asked, 1)).hasSize(1);
    }

    @Test
    void a_probe_that_is_cancelled_fails_or_times_out_gives_its_place_back() {
        RateLimiter limiter = refusedOnce(HINT, Limit.inFlight(8));
        List<Integer> started = new ArrayList<>();
        RateLimitOperator once = limiter.calls().retry(RetryPolicy.none().attemptTimeout(ofSeconds(5)));
        Mono<Object> hangs = Mono.never().doOnSubscribe(s -> started.add(started.size()));
        time.runTo(ofSeconds(1));
        Disposable cancelled = hangs.transform(once.limit()).subscribe();
        hangs.transform(once.limit()).subscribe(v -> {}, e -> {});
        Mono.error(new IllegalStateException("broken"))
                .doOnSubscribe(s -> started.add(started.size()))
                .transform(once.limit())
                .subscribe(v -> {}, e -> {});
        hangs.transform(once.limit()).subscribe(v -> {}, e -> {});
        assertThat(started).hasSize(1);
        cancelled.dispose();
        assertThat(started).as("the next one hangs").hasSize(2);
        time.advance(ofMillis(4_999));
        assertThat(started).hasSize(2);
        time.advance(ofMillis(1));
        assertThat(started).as("timed out, and the next one failed at once").hasSize(4);
    }

    @Test
    void a_bare_permit_that_vanishes_is_taken_for_answered_after_the_attempt_timeout() {
        RateLimiter limiter = refusedOnce(HINT, Limit.of(100, ofSeconds(1)));
        time.runTo(ofSeconds(1));
        assertThat(limiter.tryAcquire().allowed()).isTrue();
        Decision refused = limiter.tryAcquire();
        assertThat(refused.allowed()).isFalse();
        assertThat(refused.retryAfter()).isEqualTo(ofSeconds(20));
        List<Asked> asked = ask(limiter, 5);
        time.runTo(ofMillis(20_999));
        assertThat(out(asked, 0)).isEmpty();
        time.runTo(ofSeconds(21));
        assertThat(out(asked, 0)).hasSize(2);
    }

    @Test
    void a_bare_permit_that_is_released_without_a_word_was_answered_well() {
        RateLimiter limiter = refusedOnce(HINT, Limit.inFlight(8));
        List<Asked> asked = ask(limiter, 20);
        time.runTo(ofSeconds(1));
        asked.get(0).permit().release();
        assertThat(out(asked, 1)).hasSize(2);
    }

    // ------------------------------------------------------------------------------------------------ without limits

    @Test
    void a_limiter_that_knows_no_limit_starts_in_the_ramp() {
        List<Asked> asked = ask(time.limiter(), 100);
        assertThat(rounds(asked, 5)).containsExactly(1, 2, 4, 8, 16);
    }

    @Test
    void so_does_each_of_its_keys() {
        RateLimiter limiter = time.spec().scope(Scope.by("user")).build();
        List<Asked> a = IntStream.range(0, 9)
                .mapToObj(i -> time.ask(limiter, Demand.of("user", "a")))
                .toList();
        List<Asked> b = IntStream.range(0, 9)
                .mapToObj(i -> time.ask(limiter, Demand.of("user", "b")))
                .toList();
        assertThat(out(a, 0)).hasSize(1);
        assertThat(out(b, 0)).hasSize(1);
    }

    @Test
    void a_key_without_limits_of_a_limiter_that_has_some_does_not() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("endpoint").limit("/a", Limit.inFlight(1)))
                .build();
        List<Asked> others = IntStream.range(0, 9)
                .mapToObj(i -> time.ask(limiter, Demand.of("endpoint", "/b")))
                .toList();
        assertThat(out(others, 0)).hasSize(9);
    }

    @Test
    void where_no_limit_is_known_a_refusal_teaches_half_of_what_was_out() {
        RateLimiter limiter = time.limiter();
        List<Asked> asked = ask(limiter, 2_000);
        assertThat(rounds(asked, 4)).containsExactly(1, 2, 4, 8);
        asked.get(15).permit().complete(NO_HINT); // the first of sixteen
        asked.subList(16, 31).forEach(one -> one.permit().complete(OK));
        time.advance(ofSeconds(1));
        assertThat(rounds(asked.subList(31, asked.size()), 3)).containsExactly(1, 2, 4);
        assertThat(waves(limiter)).as("as wide as it gets").isZero();
        List<Asked> later = asked.subList(38, asked.size());
        assertThat(rounds(later, 64)).containsOnly(8);
        assertThat(out(later, 64 * 8)).as("widening slowly").hasSize(9);
    }

    @Test
    void a_probe_that_is_refused_teaches_no_width() {
        RateLimiter limiter = time.limiter();
        List<Asked> asked = ask(limiter, 100);
        for (int wave = 0; wave < 3; wave++) {
            asked.get(wave).permit().complete(NO_HINT);
            assertThat(waves(limiter)).isEqualTo(wave + 1);
            time.advance(ofSeconds(1L << wave));
        }
        assertThat(rounds(asked.subList(3, 100), 4)).containsExactly(1, 2, 4, 8);
    }

    @Test
    void a_scope_that_opens_by_hand_still_lets_one_go_first() {
        RateLimiter limiter = refusedOnce(HINT, Limit.inFlight(8));
        List<Asked> asked = ask(limiter, 20);
        limiter.resume(Demand.one());
        assertThat(out(asked, 0)).hasSize(1);
    }

    @Test
    void a_pause_by_hand_and_a_quota_at_zero_are_followed_by_no_ramp() {
        RateLimiter limiter = time.limiter(Limit.inFlight(8));
        limiter.pause(Demand.one(), Duration.ofSeconds(3));
        List<Asked> asked = ask(limiter, 20);
        time.advance(ofSeconds(3));
        assertThat(out(asked, 0)).hasSize(8);
    }

    @Test
    void what_was_taken_for_answered_under_the_limits_of_before_counts_by_them() {
        Demand user = Demand.of("user", "a");
        RateLimiter limiter = time.spec()
                .limit(Limit.of(1, ofSeconds(2)))
                .scope(Scope.by("user"))
                .build();
        limiter.tryAcquire(user).permit().complete(HINT);
        time.runTo(ofSeconds(5));
        assertThat(limiter.tryAcquire(user).allowed()).isTrue();
        time.runTo(ofSeconds(25));
        limiter.change(limiter.spec().limit(Limit.of(5, ofSeconds(2)).unit("tokens")));
        assertThat(limiter.snapshot().scopes().get(1).waves())
                .as("one at a time was as wide as its limits")
                .isZero();
    }
}
