package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Per minute, per hour and in flight, each per user and per application: six limits, one decision. */
class MatrixTest {

    private final VirtualTime time = new VirtualTime();
    private final RateLimiter limiter = time.spec()
            .limit(Limit.of(240, ofMinutes(1)), Limit.of(800, ofHours(1)), Limit.inFlight(20))
            .scope(Scope.by("user").limits(Limit.of(120, ofMinutes(1)), Limit.of(400, ofHours(1)), Limit.inFlight(5)))
            .build();
    private final List<Permit> held = new ArrayList<>();

    private static Demand user(int number) {
        return Demand.of("user", "u" + number);
    }

    /** Takes as long as it gets, up to so many, and releases what it took or not. */
    private int take(int user, int most, boolean release) {
        int taken = 0;
        while (taken < most) {
            Decision decision = limiter.tryAcquire(user(user));
            if (!decision.allowed()) {
                break;
            }
            taken++;
            if (release) {
                decision.permit().release();
            } else {
                held.add(decision.permit());
            }
        }
        return taken;
    }

    private void isRefusedBy(int user, Limit limit, @Nullable Duration wait) {
        Decision refused = limiter.tryAcquire(user(user));
        assertThat(refused.allowed()).isFalse();
        assertThat(refused.limit()).isEqualTo(limit);
        assertThat(refused.retryAfter()).isEqualTo(wait);
    }

    private List<Long> left(int scope) {
        return limiter.snapshot().scopes().get(scope).limits().stream()
                .map(RateLimiterSnapshot.LimitState::available)
                .toList();
    }

    @Test
    void each_of_the_six_refuses_by_itself() {
        assertThat(take(1, 1_000, false)).isEqualTo(5);
        isRefusedBy(1, Limit.inFlight(5), null);
        for (int user = 2; user <= 4; user++) {
            assertThat(take(user, 5, false)).isEqualTo(5);
        }
        isRefusedBy(5, Limit.inFlight(20), null);
        held.forEach(Permit::release);
        assertThat(take(1, 1_000, true)).isEqualTo(115);
        isRefusedBy(1, Limit.of(120, ofMinutes(1)), Duration.ofMillis(60_060));
        assertThat(take(2, 1_000, true)).isEqualTo(105);
        isRefusedBy(5, Limit.of(240, ofMinutes(1)), Duration.ofMillis(60_060));
        time.runTo(Duration.ofMillis(60_060));
        take(1, 1_000, true);
        take(2, 1_000, true);
        time.runTo(Duration.ofMillis(120_120));
        take(1, 1_000, true);
        time.runTo(Duration.ofMillis(180_180));
        assertThat(take(1, 1_000, true)).isEqualTo(40);
        isRefusedBy(1, Limit.of(400, ofHours(1)), Duration.ofMillis(3_603_600 - 180_180));
        assertThat(take(3, 1_000, true)).isEqualTo(120);
        time.runTo(Duration.ofMillis(240_240));
        take(3, 1_000, true);
        isRefusedBy(5, Limit.of(800, ofHours(1)), Duration.ofMillis(3_603_600 - 240_240));
    }

    @Test
    void the_wait_is_the_longest_of_those_that_refuse() {
        take(1, 120, true);
        for (int minute = 1; minute <= 3; minute++) {
            time.runTo(Duration.ofMillis(60_060L * minute));
            take(1, 120, true);
        }
        // Its minute is not used up, its hour is.
        isRefusedBy(1, Limit.of(400, ofHours(1)), Duration.ofMillis(3_603_600 - 180_180));
        take(2, 120, true);
        take(3, 120, true);
        // The application's minute is used up too, and the user's hour is still the longer wait.
        isRefusedBy(1, Limit.of(400, ofHours(1)), Duration.ofMillis(3_603_600 - 180_180));
        isRefusedBy(4, Limit.of(240, ofMinutes(1)), Duration.ofMillis(60_060));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void a_demand_takes_from_all_six_or_from_none(long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < 2_000; i++) {
            int user = 1 + random.nextInt(3);
            limiter.estimate(user(user)); // Now its key is known.
            List<Long> application = left(0);
            boolean allowed = limiter.estimate(user(user)).allowed();
            assertThat(take(user, 1, random.nextInt(4) > 0)).isEqualTo(allowed ? 1 : 0);
            if (!allowed) {
                assertThat(left(0)).isEqualTo(application);
            } else {
                assertThat(left(0).get(0)).isEqualTo(application.get(0) - 1);
                assertThat(left(0).get(1)).isEqualTo(application.get(1) - 1);
            }
            if (random.nextInt(3) == 0 && !held.isEmpty()) {
                held.remove(random.nextInt(held.size())).release();
            }
            time.advance(Duration.ofMillis(random.nextInt(400)));
        }
    }
}
