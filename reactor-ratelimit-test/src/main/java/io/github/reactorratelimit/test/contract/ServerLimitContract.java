package io.github.reactorratelimit.test.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.test.ServerLimit;
import io.github.reactorratelimit.test.ServerLimit.Counter;
import io.github.reactorratelimit.test.ServerLimit.Standing;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * What a {@link ServerLimit} keeps, however it counts. A test of an own one extends this class and gives the limit; each
 * test counts with counters of its own.
 */
public abstract class ServerLimitContract {

    private static final long START = 1_767_225_600_000L;
    private static final long LONG_MILLIS = 400L * 24 * 3_600_000;
    private static final int ROUNDS = 1_000;

    /** For subclasses. */
    protected ServerLimitContract() {}

    /**
     * The limit under test.
     *
     * @return a limit that refuses at some time, for less than a year
     */
    protected abstract ServerLimit limit();

    /** Takes what there is. */
    private static void empty(Counter counter, long nowMillis) {
        for (int i = 0; counter.look(nowMillis).remaining() > 0; i++) {
            assertThat(i).as("a limit that never refuses").isLessThan(1_000_000);
            counter.take(nowMillis);
        }
    }

    @Test
    void a_fresh_counter_lets_a_request_through() {
        assertThat(limit().newCounter().look(START).remaining())
                .as("what remains before the first request")
                .isPositive();
    }

    @Test
    void looking_changes_nothing() {
        Counter counter = limit().newCounter();
        Random random = new Random(1);
        long now = START;
        for (int i = 0; i < ROUNDS; i++) {
            Standing standing = counter.look(now);
            assertThat(counter.look(now)).as("a second look at the same time").isEqualTo(standing);
            if (standing.remaining() > 0) {
                counter.take(now);
            }
            now += random.nextInt(2_000);
        }
    }

    @Test
    void each_request_takes_at_least_one_of_what_remains() {
        Counter counter = limit().newCounter();
        long before = counter.look(START).remaining();
        while (before > 0) {
            counter.take(START);
            long after = counter.look(START).remaining();
            assertThat(after).as("what remains after a request, of %s", before).isLessThan(before);
            before = after;
        }
    }

    @Test
    void its_figures_fit_together() {
        Counter counter = limit().newCounter();
        Random random = new Random(2);
        long now = START;
        for (int i = 0; i < ROUNDS; i++) {
            Standing standing = counter.look(now);
            assertThat(standing.remaining()).as("what remains in %s", standing).isNotNegative();
            if (standing.limit() != ServerLimit.UNTOLD) {
                assertThat(standing.remaining())
                        .as("what remains in %s", standing)
                        .isLessThanOrEqualTo(standing.limit());
            }
            assertThat(standing.resetMillis())
                    .as("the reset in %s, at %s", standing, now)
                    .isGreaterThanOrEqualTo(now);
            if (standing.remaining() > 0) {
                assertThat(standing.retryMillis())
                        .as("when a request passes of which there are some left, in %s", standing)
                        .isEqualTo(now);
                counter.take(now);
            } else {
                assertThat(standing.retryMillis())
                        .as("when a request passes that is refused now, in %s", standing)
                        .isGreaterThan(now);
            }
            now += random.nextInt(500);
        }
    }

    @Test
    void a_refused_request_passes_at_the_time_that_it_is_told_and_not_before() {
        Counter counter = limit().newCounter();
        long now = START;
        for (int i = 0; i < 10; i++) {
            empty(counter, now);
            long retry = counter.look(now).retryMillis();
            assertThat(counter.look(retry - 1).remaining())
                    .as("what remains a millisecond before the time %s that a refused request was told", retry)
                    .isZero();
            assertThat(counter.look(retry).remaining())
                    .as("what remains at the time %s that a refused request was told", retry)
                    .isPositive();
            now = retry;
        }
    }

    @Test
    void after_a_long_time_all_is_there_again() {
        Counter counter = limit().newCounter();
        long fresh = counter.look(START).remaining();
        empty(counter, START);

        assertThat(counter.look(START + LONG_MILLIS).remaining())
                .as("what remains 400 days after it was empty")
                .isEqualTo(fresh);
    }

    @Test
    void counters_know_nothing_of_each_other() {
        ServerLimit limit = limit();
        Counter other = limit.newCounter();
        Standing before = other.look(START);

        empty(limit.newCounter(), START);

        assertThat(other.look(START))
                .as("another counter, after one was emptied")
                .isEqualTo(before);
    }
}
