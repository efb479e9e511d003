package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Routes that turn out to share a bucket of the server, as Discord's do. */
class BucketsTest { // B44

    private static final Demand A = Demand.of("endpoint", "/a");
    private static final Demand B = Demand.of("endpoint", "/b");
    private static final Demand C = Demand.of("endpoint", "/c");

    private final VirtualTime time = new VirtualTime();

    private static RateLimitSignal bucket(String name) {
        return RateLimitSignal.of(200).bucket(name).build();
    }

    private static RateLimitSignal refused(String bucket, Duration delay) {
        return RateLimitSignal.of(429)
                .throttled(true)
                .hint(delay)
                .delay(delay)
                .bucket(bucket)
                .build();
    }

    private RateLimiter byEndpoint(Limit... limits) {
        return time.spec().scope(Scope.by("endpoint").limits(limits)).build();
    }

    private static void call(RateLimiter limiter, Demand demand, String bucket) {
        limiter.tryAcquire(demand).permit().complete(bucket(bucket));
    }

    private static List<List<String>> keys(RateLimiter limiter) {
        return limiter.snapshot().scopes().stream()
                .map(ScopeState::keys)
                .filter(key -> !key.isEmpty())
                .toList();
    }

    private static ScopeState key(RateLimiter limiter, String label) {
        return limiter.snapshot().scopes().stream()
                .filter(scope -> scope.keys().contains(label))
                .findFirst()
                .orElseThrow();
    }

    // ------------------------------------------------------------------------------------------------- one limit

    @Test
    void routes_of_one_bucket_count_as_one_from_then_on_and_what_each_took_before_counts_too() {
        RateLimiter limiter = byEndpoint(Limit.of(5, ofSeconds(10)));
        call(limiter, A, "h1");
        call(limiter, A, "h1");
        time.advance(ofSeconds(3));
        call(limiter, B, "h1");
        call(limiter, B, "h1");

        assertThat(keys(limiter)).containsExactly(List.of("endpoint=/a"));
        assertThat(limiter.tryAcquire(B).allowed()).isTrue();
        assertThat(limiter.tryAcquire(A).allowed()).isFalse();
        Decision refused = limiter.tryAcquire(B);
        assertThat(refused.allowed()).isFalse();
        assertThat(refused.retryAfter()).as("until /a's first is over").isEqualTo(ofMillis(7_010));
        time.advance(ofMillis(7_010));
        assertThat(limiter.tryAcquire(B).allowed()).isTrue();
        assertThat(limiter.tryAcquire(B).allowed()).isTrue();
        assertThat(limiter.tryAcquire(A).allowed()).isFalse();
    }

    @Test
    void routes_of_other_buckets_and_of_none_stay_apart() {
        RateLimiter limiter = byEndpoint(Limit.of(1, ofSeconds(10)));
        call(limiter, A, "h1");
        call(limiter, B, "h2");
        limiter.tryAcquire(C).permit().complete(RateLimitSignal.none(200));

        assertThat(keys(limiter)).hasSize(3);
    }

    @Test
    void keys_share_a_bucket_only_if_nothing_but_their_route_differs() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("endpoint", "method", "token").limits(Limit.of(5, ofSeconds(10))))
                .build();
        Demand ann = A.and("method", "GET").and("token", "ann");
        call(limiter, ann, "h1");
        call(limiter, ann.and("token", "bob"), "h1");
        assertThat(keys(limiter)).hasSize(2);

        call(limiter, ann.and("method", "PUT").and("endpoint", "/b"), "h1");
        assertThat(keys(limiter)).hasSize(2);
        assertThat(limiter.estimate(ann).remaining()).isEqualTo(2);
        assertThat(limiter.estimate(ann.and("token", "bob")).remaining()).isEqualTo(3);
    }

    @Test
    void keys_below_another_key_stay_apart_and_a_scope_without_routes_has_none_to_join() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("channel"))
                .scope(Scope.by("endpoint").limits(Limit.of(5, ofSeconds(10))))
                .build();
        call(limiter, A.and("channel", "1"), "h1");
        call(limiter, A.and("channel", "2"), "h1");
        call(limiter, B.and("channel", "2"), "h1");
        assertThat(keys(limiter)).hasSize(4);
        assertThat(limiter.estimate(B.and("channel", "1")).remaining()).isEqualTo(4);
        assertThat(limiter.estimate(B.and("channel", "2")).remaining()).isEqualTo(2);

        RateLimiter perUser = time.spec().scope(Scope.by("user")).build();
        call(perUser, Demand.of("user", "1"), "h1");
        call(perUser, Demand.of("user", "2"), "h1");
        assertThat(keys(perUser)).hasSize(2);
    }

    @Test
    void every_kind_of_limit_counts_what_both_took() {
        Limit window = Limit.of(9, ofSeconds(10));
        Limit spaced = Limit.of(8, ofSeconds(10)).burst(6);
        Limit bucket = Limit.bucket(7, 1, ofSeconds(10));
        Limit inFlight = Limit.inFlight(6);
        Limit total = Limit.total(20);
        RateLimiter limiter = byEndpoint(window, spaced, bucket, inFlight, total);
        Permit[] held = new Permit[4];
        for (int i = 0; i < 4; i++) {
            held[i] = limiter.tryAcquire(i < 2 ? A : B).permit();
            held[i].hear(bucket("h1"));
        }

        assertThat(key(limiter, "endpoint=/a").limits())
                .extracting(limit -> limit.available())
                .containsExactly(5L, 2L, 3L, 2L, 16L);
        for (Permit permit : held) {
            permit.release();
        }
        assertThat(key(limiter, "endpoint=/a").limits().get(3).available()).isEqualTo(6);
    }

    @Test
    void where_two_routes_have_different_limits_all_of_them_hold() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("endpoint")
                        .limit("/a", Limit.of(3, ofSeconds(10)), Limit.inFlight(9))
                        .limit("/b", Limit.of(5, ofMinutes(1)), Limit.inFlight(7), Limit.total(100)))
                .build();
        Permit one = limiter.tryAcquire(A).permit();
        Permit other = limiter.tryAcquire(B).permit();
        one.hear(bucket("h1"));
        other.hear(bucket("h1"));

        assertThat(key(limiter, "endpoint=/a").limits())
                .extracting(limit -> limit.available())
                .containsExactly(1L, 7L, 3L, 5L, 99L);
        one.release();
        other.release();
        assertThat(limiter.tryAcquire(B).allowed()).isTrue();
        assertThat(limiter.tryAcquire(B).allowed()).isFalse();
        time.advance(ofSeconds(11));
        assertThat(limiter.tryAcquire(A).allowed()).isTrue();
        assertThat(limiter.tryAcquire(A).allowed()).isTrue();
        assertThat(limiter.tryAcquire(A).limit()).isEqualTo(Limit.of(5, ofMinutes(1)));
    }

    @Test
    void permits_that_one_route_was_granted_without_a_limit_do_not_upset_the_books_of_the_other() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("endpoint").limit("/a", Limit.inFlight(2), Limit.of(3, ofSeconds(10))))
                .build();
        Asked held = time.ask(limiter, A);
        Asked free = time.ask(limiter, B);
        held.permit().hear(bucket("h1"));
        free.permit().complete(bucket("h1"));
        held.permit().release();

        assertThat(key(limiter, "endpoint=/a").limits())
                .extracting(limit -> limit.available())
                .containsExactly(2L, 2L);
        time.advance(ofSeconds(12));
        assertThat(limiter.estimate(B).remaining()).isEqualTo(1);
    }

    // --------------------------------------------------------------------------------------------------- waiters

    @Test
    void those_who_wait_are_moved_and_served_in_the_order_in_which_they_asked() {
        RateLimiter limiter = byEndpoint(Limit.inFlight(1));
        Permit onA = time.ask(limiter, A).permit();
        Permit onB = time.ask(limiter, B).permit();
        List<Asked> waiting = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            time.advance(ofMillis(1));
            waiting.add(time.ask(limiter, i % 3 == 0 ? A : B));
        }
        onA.hear(bucket("h1"));
        onB.hear(bucket("h1"));
        assertThat(waiting).allMatch(Asked::isWaiting);
        onA.release();
        assertThat(waiting).as("the other call is still in flight").allMatch(Asked::isWaiting);
        onB.release();
        for (Asked asked : waiting) {
            assertThat(asked.isGranted()).isTrue();
            asked.permit().release();
        }

        assertThat(waiting).extracting(Asked::turn).isSorted();
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(time.timers()).isZero();
        assertThat(key(limiter, "endpoint=/a").limits().get(0).available()).isEqualTo(1);
    }

    @Test
    void one_who_was_moved_can_still_cancel_and_still_runs_out_of_patience() {
        RateLimiter limiter = byEndpoint(Limit.inFlight(1));
        Permit onA = time.ask(limiter, A).permit();
        Permit onB = time.ask(limiter, B).permit();
        Asked leaving = time.ask(limiter, B);
        Asked impatient = time.ask(limiter, B.maxWait(ofSeconds(5)));
        Asked patient = time.ask(limiter, B);
        onA.hear(bucket("h1"));
        onB.complete(bucket("h1"));

        leaving.cancel();
        time.advance(ofSeconds(5));
        assertThat(impatient.error()).isInstanceOf(RateLimitedException.class);
        assertThat(impatient.at()).isEqualTo(ofSeconds(5));
        onA.release();
        assertThat(patient.isGranted()).isTrue();
        patient.permit().release();
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(time.timers()).isZero();
    }

    @Test
    void lanes_keep_their_order_when_they_are_moved() {
        RateLimiter limiter = time.spec()
                .lane("background", Share.of(0.5))
                .scope(Scope.by("endpoint").limits(Limit.inFlight(2)))
                .build();
        List<Permit> held = new ArrayList<>();
        for (Demand demand : List.of(A, A, B, B)) {
            held.add(limiter.tryAcquire(demand).permit());
        }
        Asked low = time.ask(limiter, A.lane("background"));
        Asked high = time.ask(limiter, B);
        Asked higher = time.ask(limiter, A);
        held.forEach(permit -> permit.hear(bucket("h1")));
        held.forEach(Permit::release);

        assertThat(List.of(high, higher)).allMatch(Asked::isGranted);
        assertThat(low.isWaiting()).isTrue();
        high.permit().release();
        assertThat(low.isGranted()).isTrue();
    }

    @Test
    void one_who_can_never_pass_the_limits_of_the_bucket_fails_at_once() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("endpoint")
                        .limit("/a", Limit.of(3, ofSeconds(10)))
                        .limit("/b", Limit.of(8, ofSeconds(10))))
                .build();
        call(limiter, A, "h1");
        Permit onB = limiter.tryAcquire(B).permit();
        Asked heavy = time.ask(limiter, B.cost(8));
        assertThat(heavy.isWaiting()).isTrue();
        onB.complete(bucket("h1"));

        assertThat(heavy.error()).hasMessageContaining("a limit of 3");
    }

    @Test
    void a_call_that_backs_off_while_its_route_is_moved_comes_back_to_the_bucket() {
        RateLimiter limiter = byEndpoint(Limit.inFlight(1));
        Permit onA = time.ask(limiter, A).permit();
        onA.hear(bucket("h1"));
        RetryScript script = new RetryScript(time.scheduler())
                .then("reset", Failure.interrupted())
                .then(200);
        RateLimitOperator calls = script.on(limiter.calls())
                .idempotent(true)
                .retry(RetryPolicy.attempts(2).backoff(ofSeconds(4), ofSeconds(4)));
        List<Integer> done = new ArrayList<>();
        script.call().transform(calls.limit(B)).subscribe(answer -> done.add(answer.status()));
        call(limiter, B, "h1");

        time.advance(ofSeconds(5));
        assertThat(done).as("/a still holds the only place").isEmpty();
        onA.release();
        time.advance(ofSeconds(5));
        assertThat(done).containsExactly(200);
        assertThat(key(limiter, "endpoint=/a").limits().get(0).available()).isEqualTo(1);
    }

    // ------------------------------------------------------------------------------------------------- cooldowns

    @Test
    void a_refusal_of_one_route_holds_all_of_its_bucket_and_nobody_else() {
        RateLimiter limiter = byEndpoint();
        call(limiter, A, "h1");
        call(limiter, B, "h1");
        limiter.tryAcquire(B).permit().complete(refused("h1", ofSeconds(7)));

        Asked a = time.ask(limiter, A);
        Asked b = time.ask(limiter, B);
        assertThat(limiter.tryAcquire(C).allowed()).isTrue();
        time.advance(ofSeconds(7).minusNanos(1));
        assertThat(List.of(a, b)).allMatch(Asked::isWaiting);
        time.advance(Duration.ofNanos(1));
        assertThat(a.isGranted()).as("one goes first").isTrue();
        a.permit().release();
        assertThat(b.isGranted()).isTrue();
    }

    @Test
    void of_two_cooldowns_that_meet_the_longer_one_stays_and_no_credit_accrues_in_it() {
        RateLimiter limiter = byEndpoint(Limit.bucket(10, 1, ofSeconds(1)).startingWith(4));
        limiter.tryAcquire(A).permit().complete(refused("h1", ofSeconds(20)));
        limiter.tryAcquire(B).permit().complete(refused("h1", ofSeconds(5)));

        assertThat(key(limiter, "endpoint=/a").closedFor()).isEqualTo(ofSeconds(20));
        time.advance(ofSeconds(20));
        assertThat(key(limiter, "endpoint=/a").limits().get(0).available())
                .as("10 - 7 - 7")
                .isEqualTo(-4);
    }

    @Test
    void a_route_that_is_closed_closes_the_bucket_that_it_turns_out_to_share() {
        RateLimiter limiter = byEndpoint(Limit.inFlight(2));
        Permit first = limiter.tryAcquire(B).permit();
        Permit second = limiter.tryAcquire(B).permit();
        call(limiter, A, "h1");
        first.complete(refused("h1", ofSeconds(20)).toBuilder().bucket(null).build());
        assertThat(limiter.tryAcquire(A).allowed()).isTrue();
        second.complete(bucket("h1"));

        assertThat(key(limiter, "endpoint=/a").closedFor()).isEqualTo(ofSeconds(20));
        assertThat(limiter.tryAcquire(A).retryAfter()).isEqualTo(ofSeconds(20));
        time.advance(ofSeconds(20));
        assertThat(limiter.tryAcquire(A).allowed()).isTrue();
    }

    @Test
    void a_wait_that_is_too_long_to_be_obeyed_turns_away_those_who_were_moved_into_it() {
        RateLimiter limiter = byEndpoint(Limit.inFlight(2));
        Permit onB = limiter.tryAcquire(B).permit();
        limiter.tryAcquire(B);
        Asked waiting = time.ask(limiter, B);
        limiter.tryAcquire(A).permit().complete(refused("h1", ofMinutes(10)));
        onB.complete(bucket("h1"));

        assertThat(waiting.refusal().retryAfter()).isEqualTo(ofMinutes(10));
    }

    @Test
    void a_global_refusal_holds_every_route_of_its_account_and_no_other_account() {
        RateLimiter limiter = time.spec()
                .lane("background", Share.of(0.5))
                .scope(Scope.by("host", "token"))
                .scope(Scope.by("endpoint"))
                .build();
        Demand ann = A.and("host", "x").and("token", "ann");
        limiter.tryAcquire(ann)
                .permit()
                .complete(
                        refused("h1", ofSeconds(3)).toBuilder().scope("global").build());

        for (Demand held : List.of(ann, ann.and("endpoint", "/b"), ann.lane("background"))) {
            assertThat(limiter.tryAcquire(held).retryAfter()).isEqualTo(ofSeconds(3));
        }
        assertThat(limiter.tryAcquire(ann.and("token", "bob")).allowed()).isTrue();
        time.advance(ofSeconds(3));
        assertThat(limiter.tryAcquire(ann).allowed()).isTrue();
    }

    @Test
    void a_global_refusal_holds_everything_where_accounts_are_not_told_apart_above_the_routes() {
        for (Scope scope : List.of(Scope.by("endpoint"), Scope.by("endpoint", "token"), Scope.by("user"))) {
            RateLimiter limiter = time.spec().scope(scope).build();
            Demand one = A.and("token", "ann").and("user", "1");
            limiter.tryAcquire(one)
                    .permit()
                    .complete(refused("h1", ofSeconds(3)).toBuilder()
                            .scope("global")
                            .build());
            Demand other = B.and("token", "bob").and("user", "2");
            assertThat(limiter.tryAcquire(other).retryAfter()).as("" + scope).isEqualTo(ofSeconds(3));
        }
    }

    @Test
    void global_refusals_without_a_time_double_and_good_answers_end_their_row() {
        RateLimiter limiter = byEndpoint();
        RateLimitSignal global =
                RateLimitSignal.of(429).throttled(true).scope("global").build();
        for (int seconds : new int[] {1, 2, 4}) {
            limiter.tryAcquire(A).permit().complete(global);
            assertThat(limiter.snapshot().root().closedFor()).isEqualTo(ofSeconds(seconds));
            time.advance(ofSeconds(seconds));
        }
        for (int answer = 0; answer < 3; answer++) { // One, then two, which nobody else wanted to join.
            call(limiter, B, "h1");
        }
        limiter.tryAcquire(A).permit().complete(global);
        assertThat(limiter.snapshot().root().closedFor()).isEqualTo(ofSeconds(1));
    }

    // -------------------------------------------------------------------------------------------- buckets change

    @Test
    void a_route_that_moves_on_to_another_bucket_counts_there() {
        RateLimiter limiter = byEndpoint(Limit.of(5, ofSeconds(10)));
        call(limiter, A, "h1");
        call(limiter, B, "h1");
        call(limiter, B, "h2"); // heard at /a's key: from its next call on it is on its own
        call(limiter, B, "h2");
        assertThat(keys(limiter)).containsExactlyInAnyOrder(List.of("endpoint=/a"), List.of("endpoint=/b"));
        assertThat(limiter.estimate(A).remaining()).isEqualTo(1);
        assertThat(limiter.estimate(B).remaining()).isEqualTo(3);

        call(limiter, C, "h2");
        assertThat(limiter.estimate(B).remaining()).isEqualTo(2);
        call(limiter, B, "h1"); // it is /b itself whose key stood for h2: it goes back to /a, and /c stays on its own
        assertThat(limiter.estimate(B).allowed()).isFalse();
        assertThat(limiter.estimate(A).allowed()).isFalse();
        call(limiter, C, "h2");
        assertThat(limiter.estimate(C).remaining()).isEqualTo(3);
    }

    @Test
    void a_key_that_is_forgotten_takes_its_routes_with_it() {
        RateLimiter limiter = time.spec()
                .forgetAfter(ofMinutes(1))
                .scope(Scope.by("endpoint").limits(Limit.of(5, ofSeconds(10))))
                .build();
        call(limiter, A, "h1");
        call(limiter, B, "h1");
        time.advance(ofMinutes(2));
        call(limiter, C, "h1");
        assertThat(keys(limiter)).containsExactly(List.of("endpoint=/c"));
        assertThat(limiter.tryAcquire(B).allowed()).isTrue();
        assertThat(keys(limiter)).hasSize(2);
        call(limiter, B, "h1");
        assertThat(keys(limiter)).containsExactly(List.of("endpoint=/c"));
    }

    @Test
    void no_more_routes_are_remembered_than_are_bounded_and_those_beyond_come_back_with_their_next_answer() {
        RateLimiter limiter = byEndpoint(Limit.of(1_000_000, ofSeconds(10)));
        for (int i = 0; i < 3_000; i++) {
            call(limiter, Demand.of("endpoint", "/" + i), "h1");
        }
        assertThat(keys(limiter)).containsExactly(List.of("endpoint=/0"));
        assertThat(limiter.estimate(Demand.of("endpoint", "/2999")).remaining()).isEqualTo(1_000_000 - 3_001);

        assertThat(limiter.estimate(Demand.of("endpoint", "/7")).remaining()).isEqualTo(1_000_000 - 1);
        call(limiter, Demand.of("endpoint", "/7"), "h1");
        assertThat(keys(limiter)).containsExactly(List.of("endpoint=/0"));
        assertThat(limiter.estimate(Demand.of("endpoint", "/7")).remaining()).isEqualTo(1_000_000 - 3_002);
    }

    @Test
    void limits_can_be_changed_under_a_bucket_and_its_permits_still_come_back() {
        RateLimiter limiter = byEndpoint(Limit.inFlight(2));
        Permit onA = limiter.tryAcquire(A).permit();
        Permit onB = limiter.tryAcquire(B).permit();
        onA.hear(bucket("h1"));
        onB.hear(bucket("h1"));
        limiter.change(limiter.spec().replace(Scope.by("endpoint").limits(Limit.inFlight(3))));
        assertThat(limiter.estimate(B).remaining()).isZero();
        onB.release();
        onA.release();

        assertThat(limiter.estimate(B).remaining()).isEqualTo(2);
    }

    // ---------------------------------------------------------------------------------------------------- at random

    @Test
    void whatever_is_joined_nobody_is_forgotten_and_no_bucket_gets_more_than_its_limit() {
        int joined = 0;
        for (long seed = 0; seed < 200; seed++) {
            joined += new Program(seed).run() ? 1 : 0;
        }
        assertThat(joined)
                .as("programs in which both buckets came to be one key each")
                .isGreaterThan(150);
    }

    /** Random calls to routes whose buckets are fixed; from the time on when all are known, each bucket is one limit. */
    private static final class Program {

        private static final int ROUTES = 6;
        private static final int BUCKETS = 2;
        private static final int PERMITS = 4;
        private static final long SPAN = ofSeconds(10).toNanos();

        private final VirtualTime time = new VirtualTime();
        private final SplittableRandom random;
        private final RateLimiter limiter;
        private final List<Asked> open = new ArrayList<>();
        private final List<Integer> routes = new ArrayList<>();
        private final List<Asked> all = new ArrayList<>();
        private final List<Integer> allRoutes = new ArrayList<>();
        private final List<Asked> cancelled = new ArrayList<>();

        Program(long seed) {
            random = new SplittableRandom(seed);
            limiter = time.spec()
                    .lane("low", Share.of(0.5))
                    .scope(Scope.by("endpoint").limits(Limit.of(PERMITS, ofSeconds(10)), Limit.inFlight(3)))
                    .build();
        }

        /** Whether each bucket was one key in the end. */
        boolean run() {
            for (int step = 0; step < 120; step++) {
                switch (random.nextInt(4)) {
                    case 0, 1 -> ask(random.nextInt(ROUTES));
                    case 2 -> answer();
                    default -> time.advance(ofMillis(random.nextInt(3_000)));
                }
            }
            while (!open.isEmpty()) {
                answer();
                time.advance(ofSeconds(1));
            }
            assertThat(limiter.snapshot().waiting()).isZero();
            for (int i = 0; i < all.size(); i++) {
                assertThat(all.get(i).isWaiting()).isEqualTo(cancelled.contains(all.get(i)));
            }
            time.advance(ofMinutes(1));
            assertThat(time.timers()).isZero();
            limiter.snapshot()
                    .scopes()
                    .forEach(scope -> scope.limits()
                            .forEach(limit -> assertThat(limit.available())
                                    .isEqualTo(limit.limit().permits())));
            return everyRouteAsksOnceMore();
        }

        private void ask(int route) {
            Demand demand = Demand.of("endpoint", "/" + route);
            Asked asked = time.ask(limiter, random.nextInt(3) == 0 ? demand.lane("low") : demand);
            open.add(asked);
            routes.add(route);
            all.add(asked);
            allRoutes.add(route);
        }

        private void answer() {
            if (open.isEmpty()) {
                return;
            }
            int which = random.nextInt(open.size());
            Asked asked = open.get(which);
            if (asked.isGranted()) {
                asked.permit().complete(bucket("h" + routes.get(which) % BUCKETS));
            } else if (random.nextInt(8) == 0) {
                asked.cancel();
                cancelled.add(asked);
            } else {
                return;
            }
            open.remove(which);
            routes.remove(which);
        }

        /** Now that all buckets are known: all routes at once. */
        private boolean everyRouteAsksOnceMore() {
            int from = all.size();
            while (all.size() < from + 40 || !open.isEmpty()) {
                if (all.size() < from + 40) {
                    ask((all.size() - from) % ROUTES);
                }
                answer();
                time.advance(ofMillis(random.nextInt(500)));
            }
            boolean joined = limiter.snapshot().scopes().size() == 1 + BUCKETS;
            for (int bucket = 0; bucket < BUCKETS && joined; bucket++) {
                neverMoreThanTheLimit(from, bucket);
            }
            return joined;
        }

        private void neverMoreThanTheLimit(int from, int bucket) {
            List<Long> grants = new ArrayList<>();
            for (int i = from; i < all.size(); i++) {
                Duration at = all.get(i).at();
                if (allRoutes.get(i) % BUCKETS == bucket
                        && at != null
                        && all.get(i).isGranted()) {
                    grants.add(at.toNanos());
                }
            }
            grants.sort(null);
            for (int i = PERMITS; i < grants.size(); i++) {
                assertThat(grants.get(i) - grants.get(i - PERMITS)).isGreaterThanOrEqualTo(SPAN);
            }
        }
    }
}
