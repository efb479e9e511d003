package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Routes that turn out to share a bucket of the server, as Discord's do. */
class BucketsTest extends RoutesOfBuckets { // B44

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
}
