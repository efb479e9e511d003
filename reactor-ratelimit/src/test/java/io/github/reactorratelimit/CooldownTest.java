package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CooldownTest {

    private static final RateLimitSignal OK = RateLimitSignal.none(200);
    private static final RateLimitSignal NO_HINT =
            RateLimitSignal.of(429).throttled(true).build();

    private final VirtualTime time = new VirtualTime();

    private static RateLimitSignal hint(Duration delay) {
        return RateLimitSignal.of(429).throttled(true).hint(delay).delay(delay).build();
    }

    private static RateLimitSignal.Builder exhausted(Duration reset) {
        return RateLimitSignal.of(200)
                .delay(reset)
                .quotas(List.of(new Quota("", "requests", 5, 0, 5, reset, null, null)));
    }

    private List<Asked> ask(RateLimiter limiter, Demand demand, int times) {
        return IntStream.range(0, times)
                .mapToObj(i -> time.ask(limiter, demand))
                .toList();
    }

    private static ScopeState root(RateLimiter limiter) {
        return limiter.snapshot().root();
    }

    private static Permit take(RateLimiter limiter) {
        return limiter.tryAcquire().permit();
    }

    // ------------------------------------------------------------------------------------------------ closing

    @Test
    void a_refusal_closes_its_key_for_all_callers_and_no_other() { // B11, B64
        RateLimiter limiter =
                time.spec().scope(Scope.by("api").limits(Limit.inFlight(5))).build();
        Demand here = Demand.of("api", "L");
        List<Asked> inFlight = ask(limiter, here, 5);
        List<Asked> queued = ask(limiter, here, 10);
        complete(inFlight, 0, ofSeconds(1), hint(ofSeconds(10)));
        complete(inFlight, 1, ofMillis(1_200), hint(ofSeconds(10)));
        complete(inFlight, 2, ofMillis(1_200), hint(ofSeconds(10)));
        complete(inFlight, 3, ofSeconds(2), OK);
        complete(inFlight, 4, ofSeconds(3), hint(ofSeconds(2)));
        time.runTo(ofSeconds(4));
        assertThat(time.ask(limiter, Demand.of("api", "M")).at()).isEqualTo(ofSeconds(4));
        time.runTo(ofSeconds(20));
        assertThat(queued.get(0).at()).as("the longest, not the sum").isEqualTo(ofMillis(11_200));
        assertThat(queued).noneMatch(asked -> asked.wasAnsweredBefore(ofMillis(11_200)));
    }

    private void complete(List<Asked> inFlight, int which, Duration at, RateLimitSignal signal) {
        time.at(at, () -> inFlight.get(which).permit().complete(signal));
    }

    @Test
    void hearing_and_releasing_are_one_step() {
        RateLimiter limiter = time.limiter(Limit.inFlight(1));
        Permit held = take(limiter);
        Asked next = time.ask(limiter);
        held.complete(hint(ofSeconds(5)));
        assertThat(next.isWaiting())
                .as("the freed place did not reach it before the gate shut")
                .isTrue();
        time.runTo(ofSeconds(5));
        assertThat(next.at()).isEqualTo(ofSeconds(5));
    }

    @Test
    void what_is_heard_without_release_closes_too_and_a_permit_completes_once() {
        RateLimiter limiter = time.limiter(Limit.inFlight(2));
        Permit held = take(limiter);
        held.hear(hint(ofSeconds(5)));
        assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(5));
        assertThat(root(limiter).limits().get(0).available()).isEqualTo(1);
        held.complete(OK);
        assertThat(root(limiter).limits().get(0).available()).isEqualTo(2);
        held.complete(hint(ofSeconds(90)));
        assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(5));
    }

    @Test
    void no_credit_accrues_while_closed() { // B12
        RateLimiter limiter = time.limiter(Limit.bucket(50, 5, ofSeconds(1)).startingWith(1));
        Permit refused = take(limiter);
        List<Duration> granted = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            limiter.acquire(Demand.one()).subscribe(permit -> {
                granted.add(time.elapsed());
                permit.complete(OK);
            });
        }
        refused.complete(hint(ofSeconds(10)));
        time.runTo(ofSeconds(60));
        for (int i = 0; i < 100; i++) {
            assertThat(granted.get(i)).isEqualTo(ofMillis(10_200 + 200L * i));
        }
    }

    @Test
    void a_closed_scope_answers_at_once_with_the_time_left() {
        RateLimiter limiter = time.limiter(Limit.of(5, ofSeconds(10)));
        take(limiter).complete(hint(ofSeconds(7)));
        time.runTo(ofSeconds(3));
        Decision decision = limiter.tryAcquire();
        assertThat(decision.allowed()).isFalse();
        assertThat(decision.retryAfter()).isEqualTo(ofSeconds(4));
        assertThat(decision.limit()).isNull();
        assertThat(time.ask(limiter, Demand.one().maxWait(ofSeconds(3)))
                        .refusal()
                        .retryAfter())
                .isEqualTo(ofSeconds(4));
        Asked behind = time.ask(limiter, Demand.one().maxWait(ofSeconds(4)));
        time.runTo(ofSeconds(7));
        assertThat(behind.isGranted()).isTrue();
    }

    // ------------------------------------------------------------------------------------------------ waves

    @Test
    void ten_refusals_that_were_in_flight_are_one_wave() {
        RateLimiter limiter = time.limiter(Limit.inFlight(10));
        List<Asked> inFlight = ask(limiter, Demand.one(), 10);
        for (int i = 0; i < 10; i++) {
            complete(inFlight, i, ofMillis(100L * i), NO_HINT);
        }
        time.runTo(ofMillis(900));
        assertThat(root(limiter).waves()).isEqualTo(1);
        assertThat(root(limiter).closedFor()).as("not prolonged either").isEqualTo(ofMillis(100));
    }

    @Test
    void a_straggler_that_answers_after_the_gate_reopened_is_of_the_old_wave() {
        RateLimiter limiter = time.limiter(Limit.inFlight(10));
        Permit first = take(limiter);
        Permit straggler = take(limiter);
        first.complete(NO_HINT);
        time.runTo(ofMillis(1_500));
        straggler.complete(NO_HINT);
        assertThat(root(limiter).waves()).isEqualTo(1);
        assertThat(root(limiter).closedFor()).isZero();
    }

    @Test
    void waves_without_a_hint_double_up_to_five_minutes() {
        RateLimiter limiter = time.limiter();
        long[] seconds = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300};
        for (int wave = 1; wave <= seconds.length; wave++) {
            take(limiter).complete(NO_HINT);
            assertThat(root(limiter).waves()).isEqualTo(wave);
            assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(seconds[wave - 1]));
            time.advance(ofSeconds(seconds[wave - 1]));
        }
    }

    @Test
    void a_guess_of_the_dialect_doubles_from_wave_to_wave_and_is_waited_for_however_long() { // B39
        RateLimiter limiter = time.limiter(Limit.inFlight(2));
        RateLimitSignal guess =
                hint(ofSeconds(60)).toBuilder().hint(null).guessed(true).build();
        long[] seconds = {60, 120, 240, 300, 300};
        List<Permit> out = List.of(take(limiter), take(limiter));
        for (long wait : seconds) {
            out.get(0).complete(guess);
            time.advance(ofSeconds(1));
            out.get(out.size() - 1).complete(guess);
            assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(wait - 1));
            Asked behind = time.ask(limiter);
            time.advance(ofSeconds(wait - 1));
            out = List.of(behind.permit());
        }
        out.get(0).release();
        take(limiter).complete(OK);
        take(limiter).complete(guess);
        assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(60));
    }

    @Test
    void a_guess_is_never_cut_to_the_longest_cooldown_without_a_hint() {
        RateLimiter limiter = time.spec().cooldown(ofMillis(1), ofSeconds(5)).build();
        take(limiter).complete(hint(ofSeconds(60)).toBuilder().guessed(true).build());
        assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(60));
    }

    @Test
    void a_hundred_waves_do_not_overflow() {
        RateLimiter limiter =
                time.spec().cooldown(ofMillis(1), Duration.ofDays(200_000)).build();
        for (int wave = 0; wave < 100; wave++) {
            take(limiter).complete(NO_HINT);
            assertThat(root(limiter).closedFor()).isPositive();
            limiter.resume(Demand.one());
        }
    }

    @Test
    void an_answer_asked_for_before_the_gate_shut_ends_no_wave() {
        RateLimiter limiter = time.limiter(Limit.inFlight(2));
        Permit old = take(limiter);
        take(limiter).complete(NO_HINT);
        old.complete(OK);
        assertThat(root(limiter).waves()).isEqualTo(1);
        assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(1));
        time.advance(ofSeconds(1));
        take(limiter).complete(RateLimitSignal.none(500));
        assertThat(root(limiter).waves()).as("a failure is no clean answer").isEqualTo(1);
        take(limiter).complete(OK);
        assertThat(root(limiter).waves()).as("as wide as the limit again").isZero();
        take(limiter).complete(NO_HINT);
        assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(1));
    }

    // ------------------------------------------------------------------------------------------------ how long

    @ParameterizedTest
    @CsvSource({"0, 10000", "0.5, 11000", "0.999999, 11999"})
    void jitter_only_lengthens_a_hint_by_a_fifth_at_most(double random, long atLeastMillis) { // B12
        RateLimiter limiter = time.spec().jitter(0.2).random(() -> random).build();
        take(limiter).complete(hint(ofSeconds(10)));
        assertThat(root(limiter).closedFor()).isBetween(ofMillis(atLeastMillis), ofMillis(atLeastMillis + 1));
    }

    @Test
    void no_cooldown_is_shorter_than_its_hint_or_longer_than_a_fifth_more() { // B12
        Random random = new Random(12);
        RateLimiter limiter = time.spec().jitter(0.2).random(random::nextDouble).build();
        for (int i = 0; i < 10_000; i++) {
            take(limiter).complete(hint(ofSeconds(10)));
            assertThat(root(limiter).closedFor()).isBetween(ofSeconds(10), ofSeconds(12));
            limiter.resume(Demand.one());
        }
    }

    @Test
    void whole_second_resets_get_a_second_more() {
        RateLimiter limiter = time.limiter();
        take(limiter).complete(hint(ofSeconds(10)).toBuilder().coarse(true).build());
        assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(11));
    }

    @Test
    void a_hint_of_nothing_gets_a_floor_that_grows_with_each_wave() { // B43
        RateLimiter limiter = time.limiter();
        for (long millis : new long[] {10, 20, 40, 80, 160}) {
            take(limiter).complete(hint(Duration.ZERO));
            assertThat(root(limiter).closedFor()).isEqualTo(ofMillis(millis));
            time.advance(ofMillis(millis));
        }
    }

    @Test
    void a_hint_longer_than_is_obeyed_fails_those_who_wait_and_those_who_come_with_the_time_left() {
        RateLimiter limiter =
                time.spec().limit(Limit.inFlight(1)).scope(Scope.by("user")).build();
        Demand user = Demand.of("user", "a");
        Permit held = limiter.tryAcquire(user).permit();
        List<Asked> waiting = ask(limiter, user, 3);
        Asked other = time.ask(limiter, Demand.of("user", "b"));
        held.complete(hint(ofMillis(120_001)));
        assertThat(waiting).allSatisfy(asked -> {
            assertThat(asked.at()).isZero();
            assertThat(asked.refusal().retryAfter()).isEqualTo(ofMillis(120_001));
            assertThat(asked.refusal().keys()).containsExactly("user=a");
        });
        assertThat(other.isGranted()).as("another key").isTrue();
        time.runTo(ofMillis(1));
        Asked within = time.ask(limiter, user);
        assertThat(within.isWaiting()).as("what is left now is obeyed").isTrue();
        other.permit().release();
        time.runTo(ofMillis(120_001));
        assertThat(within.at()).isEqualTo(ofMillis(120_001));
    }

    @Test
    void the_longest_delay_obeyed_is_the_servers_own_without_our_margins() {
        RateLimiter limiter = time.spec().jitter(0.2).random(() -> 0.5).build();
        take(limiter).complete(hint(ofMinutes(2)).toBuilder().coarse(true).build());
        Asked asked = time.ask(limiter);
        assertThat(asked.isWaiting()).isTrue();
        time.runTo(ofMinutes(3));
        assertThat(asked.at()).isEqualTo(ofMillis(133_100));
    }

    @Test
    void a_longer_delay_may_be_obeyed_by_choice() {
        RateLimiter limiter = time.spec().maxServerDelay(Duration.ofHours(2)).build();
        take(limiter).complete(hint(Duration.ofHours(2)));
        Asked asked = time.ask(limiter);
        time.runTo(Duration.ofHours(2));
        assertThat(asked.at()).isEqualTo(Duration.ofHours(2));
    }

    @ParameterizedTest
    @ValueSource(longs = {9_999_999_999L, 253_402_300_799L, Long.MAX_VALUE})
    void an_absurd_hint_fails_at_once_and_overflows_nothing(long seconds) { // B02
        RateLimiter limiter = time.spec().jitter(0.2).random(() -> 0.9).build();
        take(limiter).complete(hint(ofSeconds(seconds)));
        Asked asked = time.ask(limiter);
        assertThat(asked.at()).isZero();
        assertThat(asked.refusal().retryAfter()).isGreaterThan(Duration.ofDays(100_000));
        assertThat(time.timers()).isZero();
        time.advance(Duration.ofDays(365));
        assertThat(time.ask(limiter).error()).isInstanceOf(RateLimitedException.class);
        limiter.resume(Demand.one());
        assertThat(time.ask(limiter).isGranted()).isTrue();
    }

    @Test
    void a_cooldown_of_our_own_is_waited_for_however_long() {
        RateLimiter limiter = time.spec().cooldown(ofMinutes(4), ofMinutes(4)).build();
        take(limiter).complete(NO_HINT);
        Asked asked = time.ask(limiter);
        time.runTo(ofMinutes(4));
        assertThat(asked.at()).isEqualTo(ofMinutes(4));
    }

    @Test
    void a_long_cooldown_of_our_own_after_a_short_hint_is_waited_for() {
        RateLimiter limiter = time.spec().cooldown(ofMinutes(4), ofMinutes(4)).build();
        take(limiter).complete(hint(ofSeconds(1)));
        time.runTo(ofSeconds(2));
        take(limiter).complete(NO_HINT);
        Asked asked = time.ask(limiter);
        assertThat(asked.isWaiting()).isTrue();
        time.runTo(ofMinutes(5));
        assertThat(asked.at()).isEqualTo(ofMinutes(4).plusSeconds(2));
    }

    @ParameterizedTest
    @ValueSource(longs = {500, 2_000})
    void a_long_pause_by_hand_after_a_servers_short_one_is_waited_for(long laterMillis) {
        RateLimiter limiter = time.limiter();
        take(limiter).complete(hint(ofSeconds(1)));
        time.runTo(ofMillis(laterMillis));
        limiter.pause(Demand.one(), Duration.ofHours(1));
        Asked asked = time.ask(limiter);
        assertThat(asked.isWaiting()).isTrue();
        time.advance(Duration.ofHours(1));
        assertThat(asked.isGranted()).isTrue();
    }

    // ------------------------------------------------------------------------------------------------ quotas

    @Test
    void a_quota_at_zero_on_a_success_closes_until_its_reset_without_jitter() {
        RateLimiter limiter = time.spec().jitter(0.2).random(() -> 0.9).build();
        take(limiter).complete(exhausted(ofSeconds(30)).build());
        assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(30));
        assertThat(root(limiter).waves()).isZero();
    }

    @Test
    void a_quota_with_something_left_closes_nothing() {
        RateLimiter limiter = time.limiter();
        take(limiter)
                .complete(RateLimitSignal.of(200)
                        .quotas(List.of(new Quota("", "requests", 5, 1, 4, ofSeconds(30), null, null)))
                        .build());
        assertThat(root(limiter).closedFor()).isZero();
    }

    @Test
    void a_whole_second_reset_of_a_quota_gets_a_second_more() {
        RateLimiter limiter = time.limiter();
        take(limiter).complete(exhausted(ofSeconds(30)).coarse(true).build());
        assertThat(root(limiter).closedFor()).isEqualTo(ofSeconds(31));
    }

    @Test
    void where_our_own_books_are_just_as_empty_the_finer_clock_decides() {
        RateLimiter limiter = time.limiter(Limit.of(5, ofSeconds(10)));
        for (int i = 0; i < 4; i++) {
            take(limiter);
        }
        Permit last = take(limiter);
        Asked next = time.ask(limiter);
        time.runTo(ofMillis(300));
        last.complete(exhausted(ofSeconds(10)).coarse(true).build());
        assertThat(root(limiter).closedFor()).isZero();
        time.runTo(ofMillis(10_010));
        assertThat(next.at()).isEqualTo(ofMillis(10_010));
    }

    @Test
    void an_answer_that_was_long_on_its_way_closes_no_longer_than_our_own_books() {
        RateLimiter limiter = time.limiter(Limit.of(1, ofSeconds(10)));
        Permit slow = take(limiter);
        time.runTo(ofSeconds(3));
        slow.complete(exhausted(ofSeconds(10)).coarse(true).build());
        assertThat(root(limiter).closedFor())
                .as("it may have been said at once")
                .isZero();
        assertThat(limiter.tryAcquire().retryAfter()).isEqualTo(ofMillis(7_010));
    }

    @Test
    void where_the_server_knows_more_than_our_books_its_reset_counts() {
        RateLimiter limiter = time.limiter(Limit.of(5, ofSeconds(10)));
        take(limiter).complete(exhausted(ofSeconds(10)).build());
        assertThat(root(limiter).closedFor()).as("somebody else used it up").isEqualTo(ofSeconds(10));
        RateLimiter longer = time.limiter(Limit.of(1, ofSeconds(10)));
        take(longer).complete(exhausted(ofSeconds(60)).build());
        assertThat(root(longer).closedFor())
                .as("a longer window than we know of")
                .isEqualTo(ofSeconds(60));
        RateLimiter otherUnit = time.limiter(Limit.of(1, ofSeconds(10)).unit("tokens"));
        otherUnit
                .tryAcquire(Demand.one().cost("tokens", 1))
                .permit()
                .complete(exhausted(ofSeconds(10)).build());
        assertThat(root(otherUnit).closedFor()).as("another unit").isEqualTo(ofSeconds(10));
    }
}
