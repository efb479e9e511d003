package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.Response;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

class BreakerTest { // B53

    private static final Demand SEARCH = Demand.of("endpoint", "/search").and("method", "GET");
    private static final Demand ITEMS = Demand.of("endpoint", "/items").and("method", "GET");

    private final VirtualTime time = new VirtualTime();
    private final RetryScript server = new RetryScript(time.scheduler());
    /** With a limit, for a limiter without one begins with one call anyway. */
    private final RateLimiterSpec spec = time.spec()
            .limit(Limit.of(1_000_000, ofSeconds(1)))
            .scope(Scope.by("endpoint"))
            .random(() -> 0.5)
            .breaker();

    private RateLimiter limiter = spec.build();
    private RetryPolicy policy = RetryPolicy.none();
    private final List<String> ends = new ArrayList<>();

    private Disposable call(Demand demand) {
        return server.call()
                .transform(server.on(limiter.calls()).retry(policy).<Response>limit(demand))
                .subscribe(
                        response -> ends.add(Integer.toString(response.status())),
                        error -> ends.add(error.getClass().getSimpleName()));
    }

    private void calls(int times) {
        for (int i = 0; i < times; i++) {
            call(SEARCH);
        }
    }

    private void answers(int times, int status) {
        for (int i = 0; i < times; i++) {
            server.then(status);
        }
    }

    private boolean letsThrough() {
        return limiter.estimate(SEARCH).allowed();
    }

    private Duration restsFor() {
        return Objects.requireNonNull(limiter.estimate(SEARCH).retryAfter());
    }

    // ------------------------------------------------------------------------------------------ as a pure function

    private static int failuresUntilItOpens(Breaker breaker, long at) {
        int failures = 1;
        while (failures < 1_000 && !breaker.over(at, true, 0)) {
            failures++;
        }
        return failures;
    }

    @Test
    void ten_calls_at_least_decide() {
        assertThat(failuresUntilItOpens(new Breaker(), 0)).isEqualTo(10);
    }

    @Test
    void half_of_the_calls_have_to_fail() {
        Breaker breaker = new Breaker();
        for (int i = 0; i < 20; i++) {
            assertThat(breaker.over(0, false, 0)).isFalse();
        }
        assertThat(failuresUntilItOpens(breaker, 0)).isEqualTo(20);
    }

    @Test
    void only_the_last_hundred_calls_count() {
        Breaker breaker = new Breaker();
        for (int i = 0; i < 4_000; i++) {
            breaker.over(0, false, 0);
        }
        assertThat(failuresUntilItOpens(breaker, 0)).isEqualTo(50);
    }

    @Test
    void only_the_last_sixty_seconds_count() {
        Breaker breaker = new Breaker();
        for (int i = 0; i < 90; i++) {
            breaker.over(i, false, 0);
        }
        long minute = ofMinutes(1).toNanos();
        assertThat(breaker.over(minute + 80, true, 0)).isFalse();
        // Of the ninety, nine are younger than a minute; so is the failure.
        assertThat(failuresUntilItOpens(breaker, minute + 80)).isEqualTo(8);
    }

    @Test
    void a_success_never_opens_it() {
        Breaker breaker = new Breaker();
        for (int i = 0; i < 9; i++) {
            breaker.over(0, true, 0);
        }
        assertThat(breaker.over(0, false, 0)).isFalse();
        assertThat(breaker.over(0, true, 0)).isTrue();
    }

    @Test
    void what_was_sent_before_it_opened_says_nothing_any_more() {
        Breaker breaker = new Breaker();
        breaker.open(7);
        assertThat(breaker.over(0, true, 6)).isFalse();
        assertThat(breaker.over(0, false, 6)).isFalse();
        assertThat(breaker.over(0, true, 7)).isTrue();
        assertThat(breaker.over(0, false, 7)).isFalse();
        assertThat(breaker.over(0, true, 7)).isFalse();
    }

    // ------------------------------------------------------------------------------------------------ in a limiter

    @Test
    void it_is_off_unless_said() {
        limiter = time.spec()
                .limit(Limit.of(1_000_000, ofSeconds(1)))
                .scope(Scope.by("endpoint"))
                .build();
        server.then(500);
        calls(100);
        assertThat(server.wire()).isEqualTo(100);
        assertThat(letsThrough()).isTrue();
    }

    @Test
    void ten_failures_let_the_key_rest_thirty_seconds_and_others_go_on() {
        server.then(500);
        calls(12);
        assertThat(server.wire()).isEqualTo(10);
        assertThat(restsFor()).isEqualTo(ofSeconds(30));
        assertThat(limiter.estimate(ITEMS).allowed()).isTrue();
    }

    @Test
    void the_rest_is_jittered_upwards_only() {
        limiter = spec.jitter(0.2).build();
        server.then(502);
        calls(10);
        assertThat(restsFor()).isEqualTo(ofSeconds(33));
    }

    @Test
    void one_call_finds_out_and_then_two_and_four() {
        answers(10, 500);
        List<Mono<Response>> slow = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            slow.add(Mono.delay(ofMillis(100), time.scheduler()).thenReturn(Response.of(200)));
        }
        slow.forEach(server::then);
        calls(10);
        calls(20);
        time.runTo(ofMillis(29_999));
        assertThat(server.wire()).isEqualTo(10);
        time.runTo(ofSeconds(30));
        assertThat(server.wire()).isEqualTo(11);
        time.runTo(ofMillis(30_100));
        assertThat(server.wire()).isEqualTo(13);
        time.runTo(ofMillis(30_200));
        assertThat(server.wire()).isEqualTo(17);
        time.runTo(ofMinutes(2));
        assertThat(ends).hasSize(30).endsWith("200");
    }

    @Test
    void a_call_that_finds_out_that_nothing_is_better_lets_the_key_rest_again() {
        server.then(500);
        calls(10);
        calls(3);
        time.runTo(ofSeconds(30));
        assertThat(server.wire()).isEqualTo(11);
        assertThat(restsFor()).isEqualTo(ofSeconds(30));
        time.runTo(ofSeconds(60));
        assertThat(server.wire()).isEqualTo(12);
    }

    @Test
    void a_call_that_finds_out_and_is_cancelled_gives_its_place_to_the_next() {
        answers(10, 500);
        server.then(Mono.never());
        server.then(200);
        calls(10);
        Disposable probe = call(SEARCH);
        calls(2);
        time.runTo(ofSeconds(30));
        assertThat(server.wire()).isEqualTo(11);
        probe.dispose();
        assertThat(server.wire()).isEqualTo(13);
        assertThat(ends).endsWith("200", "200");
    }

    @Test
    void a_call_that_finds_out_and_never_ends_is_a_failure_when_its_time_is_over() {
        answers(10, 500);
        server.then(Mono.never());
        server.then(200);
        calls(11);
        calls(1);
        time.runTo(ofSeconds(49));
        assertThat(server.wire()).isEqualTo(11);
        time.runTo(ofSeconds(50));
        assertThat(restsFor()).isEqualTo(ofSeconds(30));
        time.runTo(ofSeconds(80));
        assertThat(ends).hasSize(12).endsWith("200");
    }

    @Test
    void a_call_that_finds_out_and_fails_for_another_reason_gives_its_place_to_the_next() {
        answers(10, 500);
        server.then("no route", Failure.notSent());
        server.then(200);
        calls(12);
        time.runTo(ofSeconds(30));
        assertThat(server.wire()).isEqualTo(12);
        assertThat(ends).endsWith("ClientError", "200");
    }

    @Test
    void permits_in_the_callers_own_hands_find_out_too_and_lose_nothing() {
        server.then(500);
        calls(10);
        time.runTo(ofSeconds(30));
        Decision probe = limiter.tryAcquire(SEARCH);
        assertThat(probe.allowed()).isTrue();
        assertThat(limiter.tryAcquire(SEARCH).allowed()).isFalse();
        probe.permit().release();
        assertThat(limiter.tryAcquire(SEARCH).allowed()).isTrue();
    }

    @Test
    void a_limiter_that_is_disposed_while_a_call_finds_out_fails_those_who_wait() {
        answers(10, 500);
        server.then(Mono.never());
        calls(12);
        time.runTo(ofSeconds(30));
        limiter.dispose();
        assertThat(ends).hasSize(11).endsWith("LimiterDisposedException");
    }

    @ParameterizedTest
    @ValueSource(ints = {429, 404, 501, 505, 408, 200})
    void what_is_no_failure_of_the_server_does_not_count(int status) {
        limiter = spec.cooldown(ofMillis(1), ofMillis(1)).build();
        server.then(status);
        for (int i = 0; i < 100; i++) {
            call(SEARCH);
            time.advance(ofMillis(2));
        }
        assertThat(ends).hasSize(100);
        assertThat(letsThrough()).isTrue();
    }

    @Test
    void a_503_that_says_it_is_a_limit_does_not_count() {
        server.then(503, "Retry-After", "0");
        for (int i = 0; i < 20; i++) {
            call(SEARCH);
            time.advance(ofMinutes(5));
        }
        assertThat(ends).hasSize(20);
        assertThat(letsThrough()).isTrue();
    }

    @Test
    void cancels_and_failures_before_sending_do_not_count() {
        server.then(Mono.never());
        for (int i = 0; i < 20; i++) {
            call(SEARCH).dispose();
        }
        assertThat(letsThrough()).isTrue();
        RetryScript other = new RetryScript(time.scheduler()).then("refused", Failure.notSent());
        for (int i = 0; i < 20; i++) {
            other.call()
                    .transform(other.on(limiter.calls()).retry(policy).<Response>limit(SEARCH))
                    .subscribe(response -> {}, error -> {});
        }
        assertThat(letsThrough()).isTrue();
    }

    @Test
    void timeouts_count() {
        server.then(Mono.never());
        calls(10);
        time.runTo(ofMillis(19_999));
        assertThat(letsThrough()).isTrue();
        time.runTo(ofSeconds(20));
        assertThat(ends).hasSize(10).containsOnly("AttemptTimeoutException");
        assertThat(restsFor()).isEqualTo(ofSeconds(30));
    }

    @Test
    void a_deadline_of_the_callers_own_does_not_count() {
        policy = RetryPolicy.none().deadline(ofSeconds(1));
        server.then(Mono.never());
        calls(10);
        time.runTo(ofSeconds(5));
        assertThat(ends).hasSize(10);
        assertThat(letsThrough()).isTrue();
    }

    @Test
    void a_call_that_is_tried_again_waits_for_the_key_like_everybody() {
        policy = RetryPolicy.standard();
        answers(18, 500);
        server.then(200);
        calls(9);
        time.advance(ofSeconds(1));
        time.runTo(ofMinutes(3));
        assertThat(ends).hasSize(9).containsOnly("200");
        // The nine that are tried again at one instant go together: the first of them opens it.
        assertThat(server.times().stream()
                        .filter(at ->
                                at.minusNanos(server.times().get(0).toNanos()).compareTo(ofSeconds(29)) < 0))
                .hasSize(18);
    }

    @Test
    void its_window_starts_anew_once_it_is_closed_again() {
        answers(10, 500);
        server.then(200);
        answers(9, 500);
        server.then(200);
        calls(10);
        calls(1);
        time.runTo(ofSeconds(31));
        for (int i = 0; i < 9; i++) {
            call(SEARCH);
        }
        assertThat(ends).hasSize(20);
        assertThat(letsThrough()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void listeners_hear_that_a_key_rests_and_that_it_opens_again(boolean byTimeouts) {
        List<String> told = new ArrayList<>();
        limiter = spec.listener(new RateLimitListener() {
                    @Override
                    public void closed(Closing closing) {
                        told.add(closing.cause() + " for " + closing.remaining());
                    }

                    @Override
                    public void opened(String name, List<String> keys) {
                        told.add("opened");
                    }
                })
                .jitter(0)
                .build();
        if (byTimeouts) {
            policy = RetryPolicy.none().attemptTimeout(ofSeconds(2));
            server.then(Mono.never());
        } else {
            server.then(500);
        }
        calls(10);
        time.advance(ofSeconds(2));
        assertThat(told).containsExactly("FAILING for PT30S");
        time.advance(ofSeconds(30));
        assertThat(told).containsExactly("FAILING for PT30S", "opened");
    }
}
