package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Cooldowns of routes that share a bucket, and of the whole account. */
class BucketCooldownsTest extends RoutesOfBuckets { // B44

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
    void listeners_are_told_that_a_bucket_is_closed_because_one_of_its_routes_was() {
        Told told = new Told();
        RateLimiter limiter = time.spec()
                .scope(Scope.by("endpoint").limits(Limit.inFlight(2)))
                .listener(told)
                .build();
        Permit first = limiter.tryAcquire(B).permit();
        Permit second = limiter.tryAcquire(B).permit();
        call(limiter, A, "h1");
        limiter.pause(A, ofSeconds(5));
        first.complete(refused("h1", ofSeconds(20)).toBuilder().bucket(null).build());
        time.advance(ofSeconds(2));
        told.take();
        second.complete(bucket("h1"));
        assertThat(told.take()).contains("closed [endpoint=/a] for PT18S, PT15S more, REFUSED");
        time.advance(ofSeconds(17));
        assertThat(told.take()).isEmpty();
        time.advance(ofSeconds(1));
        assertThat(told.take()).contains("opened [endpoint=/a]");
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
}
