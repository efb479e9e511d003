package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Who waits at a route that turns out to share a bucket is moved to it, and loses nothing. */
class BucketWaitersTest extends RoutesOfBuckets { // B44

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
}
