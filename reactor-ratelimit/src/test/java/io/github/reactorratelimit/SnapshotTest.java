package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSnapshot.LineState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SnapshotTest {

    private static final Limit WINDOW = Limit.of(2, ofSeconds(10));
    private static final Limit IN_FLIGHT = Limit.inFlight(5);

    private final VirtualTime time = new VirtualTime();

    @Test
    void it_shows_every_key_its_limits_its_cooldown_and_its_lines() {
        RateLimiter limiter = time.spec()
                .limit(IN_FLIGHT)
                .scope(Scope.by("user").limits(WINDOW))
                .lane("background", Share.of(1))
                .build();
        Demand a = Demand.of("user", "a");
        limiter.tryAcquire(a);
        time.runTo(ofSeconds(4));
        limiter.tryAcquire(a);
        time.ask(limiter, a);
        time.ask(limiter, a.maxWait(ofSeconds(60)));
        time.ask(limiter, a.lane("background"));
        limiter.pause(Demand.of("user", "b"), ofSeconds(3));
        time.ask(limiter, Demand.of("user", "b"));

        RateLimiterSnapshot snapshot = limiter.snapshot();

        assertThat(snapshot.limiter()).isEqualTo("test");
        assertThat(snapshot.waiting()).isEqualTo(4);
        assertThat(snapshot.root())
                .isEqualTo(new ScopeState(
                        List.of(),
                        null,
                        List.of(),
                        List.of(new LimitState(IN_FLIGHT, 3, null)),
                        Duration.ZERO,
                        0,
                        List.of()));
        assertThat(snapshot.scopes().subList(1, 3))
                .containsExactly(
                        new ScopeState(
                                List.of("user"),
                                null,
                                List.of("user=a"),
                                List.of(new LimitState(WINDOW, 0, ofMillis(10_010))),
                                Duration.ZERO,
                                0,
                                List.of(
                                        new LineState("interactive", 2, WINDOW, ofMillis(6_010)),
                                        new LineState("background", 1, WINDOW, ofMillis(6_010)))),
                        new ScopeState(
                                List.of("user"),
                                null,
                                List.of("user=b"),
                                List.of(new LimitState(WINDOW, 2, Duration.ZERO)),
                                ofSeconds(3),
                                0,
                                List.of(new LineState("interactive", 1, null, ofSeconds(3)))));
    }

    @Test
    void a_wait_that_is_no_matter_of_time_has_no_expected_end() {
        RateLimiter limiter = time.limiter(Limit.inFlight(1));
        limiter.tryAcquire();
        time.ask(limiter);
        assertThat(limiter.snapshot().root().lines())
                .containsExactly(new LineState("interactive", 1, Limit.inFlight(1), null));
    }

    @Test
    void a_bucket_in_debt_shows_it() {
        RateLimiter limiter = time.limiter(Limit.bucket(10, 1, ofSeconds(1)));
        limiter.tryAcquire(Demand.one().cost(10)).permit().settle("requests", 15);
        assertThat(limiter.snapshot().root().limits())
                .containsExactly(new LimitState(Limit.bucket(10, 1, ofSeconds(1)), -5, ofSeconds(15)));
    }

    @Test
    void many_keys_are_looked_at_a_few_at_a_time_so_that_others_go_on_meanwhile() {
        AtomicInteger passes = new AtomicInteger(); // Each looks for its scheduler before it has the monitor.
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.inFlight(1)))
                .scheduler(() -> {
                    passes.incrementAndGet();
                    return time.scheduler();
                })
                .build();
        for (int user = 0; user < 1_000; user++) {
            limiter.tryAcquire(Demand.of("user", Integer.toString(user)));
        }
        passes.set(0);
        assertThat(limiter.snapshot().scopes()).hasSize(1_001);
        assertThat(passes).hasValueGreaterThanOrEqualTo(4);
    }

    @Test
    void taking_one_grants_what_has_become_due() {
        RateLimiter limiter = time.limiter(Limit.of(1, ofSeconds(10)));
        limiter.tryAcquire();
        Asked asked = time.ask(limiter);
        time.at(ofMillis(10_010), () -> assertThat(limiter.snapshot().waiting()).isZero());
        time.runTo(ofMillis(10_010));
        assertThat(asked.isGranted()).isTrue();
    }
}
