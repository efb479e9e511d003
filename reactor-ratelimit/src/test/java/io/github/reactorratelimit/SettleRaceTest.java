package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Sinks;

/** One permit that two threads correct, give back and cancel at once. */
class SettleRaceTest {

    private static final int ROUNDS = 20_000;
    private static final long BUDGET = 1L << 40;

    private final ExecutorService threads = Executors.newFixedThreadPool(2);
    private final CyclicBarrier together = new CyclicBarrier(2);
    private final RateLimiter limiter = RateLimiter.named("race")
            .limit(
                    Limit.inFlight(1),
                    Limit.total(BUDGET).unit("money"),
                    Limit.bucket(BUDGET, 1, ofMinutes(1_000_000)).unit("money"))
            .build();

    @AfterEach
    void stop() {
        threads.shutdownNow();
    }

    private void both(Runnable one, Runnable other) throws Exception {
        List<Future<?>> running = List.of(threads.submit(() -> meet(one)), threads.submit(() -> meet(other)));
        for (Future<?> each : running) {
            each.get();
        }
    }

    private void meet(Runnable act) {
        try {
            together.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        act.run();
    }

    private long left(int limit) {
        return limiter.snapshot().root().limits().get(limit).available();
    }

    @Test
    void of_two_corrections_one_counts_in_every_limit_and_the_place_is_free_again() throws Exception {
        long expected = BUDGET;
        for (int i = 0; i < ROUNDS; i++) {
            Permit permit = limiter.tryAcquire(Demand.one().cost("money", 100)).permit();
            both(
                    () -> {
                        permit.settle("money", 30);
                        permit.release();
                    },
                    () -> {
                        permit.complete(RateLimitSignal.none(200));
                        permit.settle("money", 170);
                    });
            long used = expected - left(1);
            assertThat(used).isIn(30L, 170L);
            expected -= used;
            assertThat(left(2)).isEqualTo(expected);
            assertThat(left(0)).isOne();
        }
    }

    @Test
    void a_correction_and_a_cancel_leave_what_was_corrected_or_what_was_asked() throws Exception {
        long expected = BUDGET;
        for (int i = 0; i < ROUNDS; i++) {
            AtomicReference<Exchange> attempt = new AtomicReference<>();
            Sinks.One<String> answer = Sinks.one();
            Disposable call = limiter.use(source -> Demand.one().cost("money", 100), exchange -> {
                        attempt.set(exchange);
                        return answer.asMono();
                    })
                    .subscribe();
            boolean ends = i % 2 == 0;
            both(call::dispose, () -> {
                Objects.requireNonNull(attempt.get()).settle("money", 30);
                if (ends) {
                    answer.tryEmitValue("answer");
                }
            });
            expected -= 30; // Before or after the cancel: it was sent.
            assertThat(left(1)).isEqualTo(expected);
            assertThat(left(2)).isEqualTo(expected);
            assertThat(left(0)).isOne();
        }
    }

    @Test
    void a_cancel_of_what_is_surely_not_sent_gives_back_what_is_charged_whichever_comes_first() throws Exception {
        for (int i = 0; i < ROUNDS; i++) {
            AtomicReference<Exchange> attempt = new AtomicReference<>();
            Disposable call = limiter.calls()
                    .<String>exchange(Demand.one().cost("money", 100), exchange -> {
                        attempt.set(exchange);
                        return Sinks.<String>one().asMono();
                    })
                    .subscribe();
            long actual = i % 2 == 0 ? 30 : Long.MAX_VALUE;
            both(call::dispose, () -> Objects.requireNonNull(attempt.get()).settle("money", actual));
            assertThat(left(1)).isEqualTo(BUDGET);
            assertThat(left(2)).isEqualTo(BUDGET);
            assertThat(left(0)).isOne();
        }
    }
}
