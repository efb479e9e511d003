package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;

/** Limits that nobody configured, learned from what responses say. */
class LearningTest {

    private static final RateLimitSignal SILENT = RateLimitSignal.none(200);

    private final VirtualTime time = new VirtualTime();

    private static RateLimitSignal left(long remaining, Duration reset) {
        return quota("", 5, remaining, reset, false);
    }

    private static RateLimitSignal quota(String name, long limit, long remaining, Duration reset, boolean coarse) {
        Quota quota = new Quota(name, "requests", limit, remaining, -1, reset, coarse ? null : reset, null, coarse);
        RateLimitSignal.Builder signal = RateLimitSignal.of(200).quotas(List.of(quota));
        return remaining > 0
                ? signal.build()
                : signal.delay(reset).coarse(coarse).build();
    }

    private RateLimiter learning(Limit... limits) {
        return time.spec().limit(limits).learn().build();
    }

    /** A call of an adapter, answered by hand. */
    private static final class Call extends Ticket {

        private final Admission admission;
        private boolean granted;

        Call(Admission admission) {
            super(Demand.one());
            this.admission = admission;
            admission.acquire(this, null, 0, Exact.NEVER);
        }

        @Override
        Tells tells() {
            return Tells.HEAD;
        }

        @Override
        void emit() {
            granted = true;
        }

        void answer(RateLimitSignal signal) {
            admission.answers().hear(this, signal, 0, true);
        }

        void fail() {
            admission.release(this);
        }
    }

    private static long out(List<Call> calls) {
        return calls.stream().filter(call -> call.granted).count();
    }

    private List<Call> call(RateLimiter limiter, int times) {
        Admission admission = limiter.calls().admission();
        return IntStream.range(0, times).mapToObj(i -> new Call(admission)).toList();
    }

    @Test
    void one_call_finds_out_and_then_no_more_go_than_it_says_are_left() {
        List<Call> calls = call(learning(), 20);
        assertThat(out(calls)).isEqualTo(1);
        calls.get(0).answer(left(4, ofSeconds(10)));
        assertThat(out(calls)).isEqualTo(5);
    }

    @Test
    void it_is_closed_until_the_reset_and_then_one_finds_out_again() {
        List<Call> calls = call(learning(), 20);
        calls.get(0).answer(left(4, ofMillis(9_500)));
        for (int i = 1; i < 5; i++) {
            calls.get(i).answer(left(4 - i, ofMillis(9_500)));
        }
        time.runTo(ofMillis(9_499));
        assertThat(out(calls)).isEqualTo(5);
        time.runTo(ofMillis(9_500));
        assertThat(out(calls)).isEqualTo(6);
        calls.get(5).answer(left(2, ofSeconds(10)));
        assertThat(out(calls)).isEqualTo(8);
    }

    @Test
    void every_key_has_a_probe_of_its_own() {
        RateLimiter limiter = time.spec().scope(Scope.by("token")).learn().build();
        Demand a = Demand.of("token", "a");
        Demand b = Demand.of("token", "b");
        assertThat(limiter.tryAcquire(a).allowed()).isTrue();
        assertThat(limiter.tryAcquire(a).allowed()).isFalse();
        assertThat(limiter.tryAcquire(b).allowed()).isTrue();
    }

    @Test
    void answers_out_of_order_leave_the_lowest_figure() {
        List<Call> calls = call(learning(), 20);
        calls.get(0).answer(quota("", 10, 9, ofSeconds(10), false));
        assertThat(out(calls)).isEqualTo(10);
        calls.get(3).answer(quota("", 10, 5, ofSeconds(10), false));
        calls.get(1).answer(quota("", 10, 8, ofSeconds(10), false));
        calls.get(2).answer(quota("", 10, 7, ofSeconds(10), false));
        assertThat(out(calls)).as("six are still in flight, and five are left").isEqualTo(10);
    }

    @Test
    void an_answer_of_the_last_window_does_not_touch_the_new_one() {
        List<Call> calls = call(learning(), 20);
        calls.get(0).answer(left(4, ofSeconds(10)));
        for (int i = 2; i < 5; i++) {
            calls.get(i).answer(left(1, ofSeconds(10)));
        }
        time.runTo(ofSeconds(10));
        calls.get(5).answer(left(4, ofSeconds(10)));
        assertThat(out(calls)).as("beside the one that is still in flight").isEqualTo(9);
        calls.get(1).answer(left(0, ofMillis(1)));
        assertThat(out(calls)).isEqualTo(10);
    }

    @Test
    void somebody_else_who_uses_the_quota_is_noticed() {
        List<Call> calls = call(learning(), 20);
        calls.get(0).answer(quota("", 100, 12, ofSeconds(10), false));
        assertThat(out(calls)).isEqualTo(13);
        calls.get(1).answer(quota("", 100, 3, ofSeconds(10), false));
        calls.subList(2, 13).forEach(call -> call.answer(quota("", 100, 2, ofSeconds(10), false)));
        assertThat(out(calls)).isEqualTo(15);
    }

    @Test
    void whole_second_resets_are_narrowed_by_every_answer() {
        List<Call> calls = call(learning(), 20);
        time.runTo(ofMillis(900)); // The server's seconds turn at .950, and its window ends at 10.020.
        calls.get(0).answer(quota("", 5, 4, ofSeconds(10), true));
        time.runTo(ofMillis(960));
        calls.get(1).answer(quota("", 5, 3, ofSeconds(9), true));
        calls.subList(2, 5).forEach(call -> call.answer(quota("", 5, 0, ofSeconds(9), true)));
        time.runTo(ofMillis(10_959));
        assertThat(out(calls)).isEqualTo(5);
        time.runTo(ofMillis(10_960));
        assertThat(out(calls))
                .as("not 11.900, as the first answer alone would have it")
                .isEqualTo(6);
    }

    @Test
    void a_host_with_several_quotas_under_one_name_keeps_them_apart() {
        List<Call> calls = call(learning(), 40);
        calls.get(0).answer(quota("", 60, 59, Duration.ofMinutes(50), true));
        calls.get(1).answer(quota("", 5_000, 4_999, ofSeconds(2_000), true));
        calls.get(2).answer(quota("", 30, 3, ofSeconds(50), true));
        calls.get(3).answer(quota("", 5_000, 4_990, ofSeconds(2_000), true));
        for (int i = 4; i < 40; i++) {
            calls.get(i).answer(quota("", 5_000, 4_980, ofSeconds(2_000), true));
        }
        List<Call> more = call(calls.get(0), 20);
        assertThat(out(more)).as("the tightest of three").isEqualTo(3);
    }

    private List<Call> call(Call like, int times) {
        return IntStream.range(0, times).mapToObj(i -> new Call(like.admission)).toList();
    }

    @Test
    void a_call_that_fails_without_an_answer_may_have_been_counted() {
        List<Call> calls = call(learning(), 20);
        calls.get(0).answer(left(4, ofSeconds(10)));
        calls.get(1).fail();
        assertThat(out(calls)).isEqualTo(5);
    }

    @Test
    void an_answer_that_says_nothing_is_counted_and_the_next_figure_corrects_downwards_only() {
        List<Call> calls = call(learning(), 3);
        calls.get(0).answer(left(4, ofSeconds(10)));
        calls.get(1).answer(SILENT);
        calls.get(2).answer(left(3, ofSeconds(10)));
        assertThat(out(call(calls.get(0), 9))).isEqualTo(3);
    }

    @Test
    void a_permit_that_is_cancelled_between_its_grant_and_its_emission_is_given_back() {
        RateLimiter limiter = learning();
        Permit first = limiter.tryAcquire().permit();
        Asked releasing = time.ask(limiter);
        Disposable[] doomed = new Disposable[1];
        List<Asked> last = new ArrayList<>();
        // Both are granted by one pass; the first of them cancels the second before that is told.
        limiter.acquire(Demand.one()).subscribe(permit -> doomed[0].dispose());
        doomed[0] = limiter.acquire(Demand.one()).subscribe();
        first.complete(left(3, ofSeconds(10)));
        assertThat(releasing.isGranted()).isTrue();
        last.add(time.ask(limiter));
        last.add(time.ask(limiter));
        assertThat(last.stream().filter(Asked::isGranted))
                .as("three were left, and two are used")
                .hasSize(1);
    }

    @Test
    void configured_limits_stay_the_bound() {
        List<Call> calls = call(learning(Limit.of(3, ofSeconds(10))), 20);
        assertThat(out(calls)).isEqualTo(1);
        calls.get(0).answer(quota("", 100, 99, ofSeconds(10), false));
        assertThat(out(calls)).isEqualTo(3);
    }

    @Test
    void where_our_own_books_are_as_empty_their_finer_clock_decides() {
        List<Call> calls = call(learning(Limit.of(5, ofSeconds(10))), 20);
        calls.get(0).answer(quota("", 5, 4, ofSeconds(10), true));
        for (int i = 1; i < 5; i++) {
            calls.get(i).answer(quota("", 5, 4 - i, ofSeconds(10), true));
        }
        time.runTo(ofMillis(10_010));
        assertThat(out(calls)).isEqualTo(10);
    }

    @Test
    void where_headers_never_come_the_configured_limits_apply() {
        List<Call> calls = call(learning(Limit.inFlight(7)), 20);
        assertThat(out(calls)).isEqualTo(1);
        calls.get(0).answer(SILENT);
        assertThat(out(calls)).isEqualTo(8);
    }

    @Test
    void where_headers_never_come_and_nothing_is_configured_the_ramp_applies() {
        List<Call> calls = call(learning(), 20);
        calls.get(0).answer(SILENT);
        assertThat(out(calls)).isEqualTo(3);
        calls.subList(1, 3).forEach(call -> call.answer(SILENT));
        assertThat(out(calls)).isEqualTo(7);
    }

    @Test
    void where_headers_stop_coming_what_was_learned_is_forgotten() {
        List<Call> calls = call(learning(Limit.inFlight(7)), 20);
        calls.get(0).answer(left(0, ofSeconds(10)));
        time.runTo(ofSeconds(10));
        assertThat(out(calls)).isEqualTo(2);
        calls.get(1).answer(RateLimitSignal.none(503));
        assertThat(out(calls)).as("a failure tells nothing").isEqualTo(3);
        calls.get(2).answer(SILENT);
        assertThat(out(calls)).isEqualTo(10);
    }

    @Test
    void a_reset_longer_than_is_obeyed_fails_those_who_wait() {
        RateLimiter limiter = learning();
        limiter.tryAcquire().permit().complete(left(0, Duration.ofHours(1)));
        Asked asked = time.ask(limiter);
        assertThat(asked.refusal().retryAfter()).isEqualTo(Duration.ofHours(1));
        limiter.resume(Demand.one());
        assertThat(time.ask(limiter).isGranted()).isTrue();
    }

    @Test
    void the_learned_limit_is_shown_and_says_so() {
        RateLimiter limiter = learning();
        limiter.tryAcquire().permit().complete(left(0, ofSeconds(10)));
        Decision refused = limiter.tryAcquire();
        assertThat(refused.limit()).hasToString("5 requests per PT10S, learned from responses");
        assertThat(refused.retryAfter()).isEqualTo(ofSeconds(10));
        assertThat(limiter.snapshot().root().limits()).hasSize(1);
    }

    @Test
    void pacing_spreads_what_is_left_over_what_is_left_of_the_window() {
        RateLimiter limiter = time.spec().learnPaced().build();
        List<Duration> at = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            limiter.acquire(Demand.one()).subscribe(permit -> {
                at.add(time.elapsed());
                permit.complete(left(5 - at.size(), ofSeconds(10).minus(time.elapsed())));
            });
        }
        time.runTo(ofSeconds(10));
        assertThat(at).containsExactly(ofSeconds(0), ofSeconds(2), ofSeconds(4), ofSeconds(6), ofSeconds(8));
    }

    // ------------------------------------------------------------------------------------------------ shared quotas

    private static final Demand A = Demand.of("route", "/a").and("token", "t");
    private static final Demand B = Demand.of("route", "/b").and("token", "t");

    private RateLimiter routes() {
        return time.spec().scope(Scope.by("route", "token")).learn().build();
    }

    private static RateLimitSignal bucket(String name, long remaining) {
        Quota quota = new Quota("", "requests", 5, remaining, -1, ofSeconds(10), ofSeconds(10), name);
        RateLimitSignal.Builder signal = RateLimitSignal.of(200).quotas(List.of(quota));
        return remaining > 0 ? signal.build() : signal.delay(ofSeconds(10)).build();
    }

    @Test
    void routes_that_are_told_of_the_same_bucket_share_it_from_then_on() { // B44
        RateLimiter limiter = routes();
        limiter.tryAcquire(A).permit().complete(bucket("h1", 4));
        limiter.tryAcquire(B).permit().complete(bucket("h1", 3));
        assertThat(limiter.tryAcquire(A).allowed()).isTrue();
        assertThat(limiter.tryAcquire(B).allowed()).isTrue();
        assertThat(limiter.tryAcquire(A).allowed()).isTrue();
        assertThat(limiter.tryAcquire(A).allowed()).isFalse();
        assertThat(limiter.tryAcquire(B).allowed()).isFalse();
    }

    @Test
    void those_who_wait_when_a_bucket_turns_out_to_be_shared_are_all_served() { // B44
        RateLimiter limiter = routes();
        List<Asked> asked = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            asked.add(time.ask(limiter, i % 2 == 0 ? A : B));
        }
        asked.get(0).permit().complete(bucket("h1", 4));
        asked.get(1).permit().complete(bucket("h1", 0));
        long before = asked.stream().filter(Asked::isGranted).count();
        assertThat(before).as("what went out by the first answer, and no more").isEqualTo(6);
        time.runTo(ofSeconds(10));
        assertThat(asked.stream().filter(Asked::isGranted))
                .as("one of the two routes asks")
                .hasSize(7);
        asked.stream()
                .filter(one -> one.isGranted() && ofSeconds(10).equals(one.at()))
                .toList()
                .forEach(one -> one.permit().complete(bucket("h1", 4)));
        assertThat(asked).allMatch(Asked::isGranted);
    }

    @Test
    void another_token_on_the_same_route_has_a_bucket_of_its_own() { // B44
        RateLimiter limiter = routes();
        limiter.tryAcquire(A).permit().complete(bucket("h1", 0));
        Demand other = A.and("token", "u");
        limiter.tryAcquire(other).permit().complete(bucket("h1", 4));
        assertThat(limiter.tryAcquire(A).allowed()).isFalse();
        assertThat(limiter.tryAcquire(other).allowed()).isTrue();
    }

    @Test
    void a_bucket_that_no_route_counts_against_any_more_is_forgotten() {
        RateLimiter limiter = routes();
        limiter.tryAcquire(A).permit().complete(bucket("h1", 0));
        limiter.tryAcquire(B).permit().complete(bucket("h1", 0));
        limiter.resume(A);
        limiter.tryAcquire(A).permit().complete(bucket("h1", 3));
        assertThat(limiter.tryAcquire(A).allowed()).as("as B knows").isFalse();
        limiter.resume(A);
        limiter.resume(B);
        limiter.tryAcquire(A).permit().complete(bucket("h1", 3));
        assertThat(limiter.tryAcquire(A).allowed()).as("nobody knows").isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void two_tokens_never_share_what_is_learned_of_a_resource(boolean tokenFirst) {
        Scope scope = tokenFirst ? Scope.by("token", "route") : Scope.by("token");
        RateLimiter limiter = time.spec().scope(scope).learn().build();
        Demand other = A.and("token", "u");
        limiter.tryAcquire(A).permit().complete(bucket("core", 4));
        limiter.tryAcquire(other).permit().complete(bucket("core", 0));
        assertThat(limiter.tryAcquire(A).allowed()).isTrue();
        assertThat(limiter.tryAcquire(other).allowed()).isFalse();
        limiter.tryAcquire(B).permit().complete(bucket("core", 0));
        assertThat(limiter.tryAcquire(A).allowed())
                .as("routes of one token share it")
                .isFalse();
    }

    @Test
    void a_refusal_holds_up_its_bucket_only_and_a_global_one_every_route() { // B44
        RateLimiter limiter = routes();
        Demand c = A.and("route", "/c");
        limiter.tryAcquire(A).permit().complete(bucket("h1", 4));
        limiter.tryAcquire(B).permit().complete(bucket("h1", 3));
        limiter.tryAcquire(c).permit().complete(bucket("h2", 4));
        RateLimitSignal refusal = bucket("h1", 0).toBuilder().throttled(true).build();
        limiter.tryAcquire(A).permit().complete(refusal);
        assertThat(limiter.estimate(A).allowed()).isFalse();
        assertThat(limiter.estimate(B).allowed()).isFalse();
        Decision allowed = limiter.tryAcquire(c);
        assertThat(allowed.allowed()).isTrue();
        allowed.permit()
                .complete(RateLimitSignal.of(429)
                        .throttled(true)
                        .scope("global")
                        .delay(ofSeconds(1))
                        .build());
        assertThat(limiter.estimate(c).allowed()).isFalse();
        assertThat(limiter.estimate(A.and("route", "/d")).allowed()).isFalse();
    }
}
