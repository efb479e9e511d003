package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Resets in whole seconds, which lie up to a second before or after what they say. */
class LearnedResetTest {

    private static final long SECOND = 1_000_000_000L;

    private final VirtualTime time = new VirtualTime();
    private final Random random = new Random(7);
    private final List<Duration> refusedAt = new ArrayList<>();

    /** How a server tells the time to its reset. */
    private enum Told {
        CUT_OFF {
            @Override
            Duration of(long nanos) {
                return ofSeconds(nanos / SECOND);
            }
        },
        ROUNDED {
            @Override
            Duration of(long nanos) {
                return ofSeconds((nanos + SECOND / 2) / SECOND);
            }
        },
        ROUNDED_UP {
            @Override
            Duration of(long nanos) {
                return ofSeconds((nanos + SECOND - 1) / SECOND);
            }
        },
        IN_MILLISECONDS {
            @Override
            Duration of(long nanos) {
                return ofMillis((nanos + 999_999) / 1_000_000);
            }
        };

        abstract Duration of(long nanos);
    }

    /** Five in windows of ten seconds, aligned to its clock or from the first request on. */
    private final class Server {

        private final Told told;
        private final boolean aligned;
        private long resetAt;
        private int used;

        Server(Told told, boolean aligned) {
            this.told = told;
            this.aligned = aligned;
            this.resetAt = aligned ? 3_370_000_000L : 0;
        }

        RateLimitSignal answer() {
            long now = time.elapsed().toNanos();
            if (now >= resetAt) {
                resetAt = aligned ? resetAt + (1 + (now - resetAt) / (10 * SECOND)) * 10 * SECOND : now + 10 * SECOND;
                used = 0;
            }
            boolean refused = used == 5;
            used += refused ? 0 : 1;
            if (refused) {
                refusedAt.add(time.elapsed());
            }
            Duration reset = told.of(resetAt - now);
            Quota quota = new Quota("", "requests", 5, 5 - used, -1, reset, null, null);
            RateLimitSignal.Builder signal =
                    RateLimitSignal.of(refused ? 429 : 200).throttled(refused).quotas(List.of(quota));
            return used < 5 ? signal.build() : signal.delay(reset).build();
        }
    }

    /** Sends what the limiter lets go, each way taking 10 to 40 ms; when the last of so many was answered. */
    private Duration send(RateLimiter limiter, Server server, int calls) {
        List<Duration> answered = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            limiter.acquire(Demand.one())
                    .subscribe(permit -> way(() -> {
                        RateLimitSignal signal = server.answer();
                        way(() -> {
                            answered.add(time.elapsed());
                            permit.complete(signal);
                        });
                    }));
        }
        time.runTo(ofSeconds(400));
        assertThat(answered).hasSize(calls);
        return answered.get(calls - 1);
    }

    private void way(Runnable then) {
        time.at(time.elapsed().plusMillis(10 + random.nextInt(31)), then);
    }

    @ParameterizedTest
    @CsvSource({
        "CUT_OFF, false",
        "ROUNDED, false",
        "ROUNDED_UP, false",
        "CUT_OFF, true",
        "ROUNDED, true",
        "ROUNDED_UP, true"
    })
    void whole_seconds_cost_no_refusal_and_at_most_a_second_per_window_however_they_come_about(
            Told told, boolean aligned) {
        Duration last = send(time.spec().learn().build(), new Server(told, aligned), 60);
        assertThat(refusedAt).isEmpty();
        assertThat(last).isLessThan(ofMillis(11 * 11_100));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void milliseconds_cost_nothing_even_where_they_are_whole_seconds_by_chance(boolean aligned) {
        Server server = new Server(Told.IN_MILLISECONDS, aligned);
        Duration last = send(time.spec().learn().build(), server, 60);
        assertThat(refusedAt).isEmpty();
        assertThat(last).isLessThan(ofMillis(11 * 10_150));
    }

    private static RateLimitSignal left(long remaining, Duration reset, @Nullable Duration window) {
        Quota quota = new Quota("", "requests", 5, remaining, -1, reset, window, null);
        RateLimitSignal.Builder signal = RateLimitSignal.of(200).quotas(List.of(quota));
        return remaining > 0 ? signal.build() : signal.delay(reset).build();
    }

    private Duration reopens(RateLimitSignal... answers) {
        RateLimiter limiter = time.spec().learn().build();
        List<Permit> permits = new ArrayList<>();
        limiter.tryAcquire().permit().complete(left(4, ofSeconds(9), null));
        for (int i = 0; i < answers.length; i++) {
            permits.add(limiter.tryAcquire().permit());
        }
        for (int i = 0; i < answers.length; i++) {
            time.advance(ofMillis(300));
            permits.get(i).complete(answers[i]);
        }
        Decision refused = limiter.tryAcquire();
        return time.elapsed().plus(refused.retryAfter());
    }

    @Test
    void every_answer_of_a_window_narrows_it_down_in_any_order() {
        assertThat(reopens(left(0, ofSeconds(8), null), left(2, ofSeconds(8), null)))
                .as("less than 10 at 0.0, and less than 9 at 0.3")
                .isEqualTo(ofMillis(9_300));
    }

    @Test
    void no_reset_is_later_than_a_window_that_begins_now() {
        assertThat(reopens(left(0, ofSeconds(9), ofSeconds(9)))).isEqualTo(ofMillis(9_300));
    }

    @Test
    void a_reset_of_no_seconds_may_still_be_a_second_away() {
        RateLimiter limiter = time.spec().learn().build();
        limiter.tryAcquire().permit().complete(left(0, Duration.ZERO, null));
        assertThat(limiter.tryAcquire().retryAfter()).isEqualTo(ofSeconds(1));
    }
}
