package io.github.reactorratelimit.test.contract;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSpec;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * What every kind of {@link Limit} keeps, wherever its books are: for those who write a store, beside
 * {@link RateLimiterContract}. A test of an own one extends this class, builds limiters over empty books, and lets the time
 * pass that the books go by. An answer may come later, on another thread; it is waited for up to ten seconds.
 */
public abstract class LimitContract {

    private static final Duration PATIENCE = ofSeconds(10);
    private static final Duration STEP = Duration.ofNanos(777_777_000);
    private static final Duration FINEST = Duration.ofNanos(1_000);
    private static final int ROUNDS = 60;

    /** For subclasses. */
    protected LimitContract() {}

    /**
     * The limiter under test.
     *
     * @param spec what it is built from; its scheduler is for the subclass to set
     * @return a limiter that nobody has used, over books in which nothing is written
     */
    protected abstract RateLimiter limiter(RateLimiterSpec spec);

    /**
     * Lets time pass, for the limiter and for its books.
     *
     * @param span how long, whole microseconds, not negative
     */
    protected abstract void advance(Duration span);

    /**
     * The limits that are tried: of every kind that several processes may share, unless a subclass knows others.
     *
     * @return limits of one unit, with 4 permits or more
     */
    protected Stream<Limit> limits() {
        return Stream.of(
                Limit.of(7, ofSeconds(3)),
                Limit.of(5, ofMillis(100)).strict(),
                Limit.of(60, ofSeconds(60)).headroom(0.9),
                Limit.of(1_200, ofSeconds(2)).unit("points"),
                Limit.of(7, ofSeconds(3)).burst(4),
                Limit.of(7, ofSeconds(3)).burst(7),
                Limit.of(7, ofSeconds(3)).smooth(),
                Limit.bucket(10, 7, ofSeconds(3)),
                Limit.bucket(4, 1, ofSeconds(7)).borrowing(),
                Limit.bucket(20, 3_000_000, ofSeconds(1)),
                Limit.inFlight(6),
                Limit.total(100));
    }

    /** One limiter with one limit, whose time is this test's. */
    private final class Books {

        private final RateLimiter limiter;
        private final String unit;

        Books(Limit limit) {
            limiter = limiter(RateLimiter.named("contract").limit(limit));
            unit = limit.unit();
        }

        Decision ask(long cost) {
            Demand demand = unit.equals(Limit.REQUESTS)
                    ? Demand.one().cost(cost)
                    : Demand.one().cost(unit, cost);
            return Objects.requireNonNull(limiter.ask(demand).block(PATIENCE));
        }

        /** When, or where, it is granted. */
        Permit take(long cost, String when) {
            Decision decision = ask(cost);
            assertThat(decision.allowed())
                    .withFailMessage("Expecting a grant of %s %s, but it was %s", cost, when, decision)
                    .isTrue();
            return decision.permit();
        }

        void refuses(long cost, String when) {
            Decision decision = ask(cost);
            assertThat(decision.allowed())
                    .withFailMessage("Expecting a refusal of %s %s, but it was %s", cost, when, decision)
                    .isFalse();
        }

        LimitState state() {
            return Objects.requireNonNull(limiter.status(Demand.one()).block(PATIENCE))
                    .limits()
                    .get(0);
        }

        /** How they answer, now and later, whoever asks for all there can be: taken by that in the end. */
        List<@Nullable Object> answers(long most) {
            List<@Nullable Object> answers = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                Decision all = ask(most);
                answers.add(all.allowed());
                answers.add(all.retryAfter());
                answers.add(all.remaining());
                advance(STEP);
            }
            return answers;
        }
    }

    /** The most that can be taken of it at once without a debt. */
    private long most(Limit limit) {
        long most = new Books(limit).state().available();
        assertThat(most)
                .as("what is available of %s before anything is taken", limit)
                .isPositive();
        return most;
    }

    private Stream<DynamicTest> each(Consumer<Limit> check) {
        return limits().map(limit -> DynamicTest.dynamicTest(limit.toString(), () -> check.accept(limit)));
    }

    private static List<Long> costs(long most) {
        return Stream.of(1L, 2L, most / 2, most - 1, most)
                .filter(cost -> cost > 0 && cost <= most)
                .distinct()
                .toList();
    }

    @TestFactory
    Stream<DynamicTest> nothing_taken_is_all_available() {
        return each(limit -> {
            Books books = new Books(limit);
            assertThat(books.state().available())
                    .as("what is available before anything is taken")
                    .isBetween(1L, limit.permits());
            assertThat(books.state().fullAfter())
                    .as("when it is full of which nothing is taken")
                    .isIn(Duration.ZERO, null);
            books.take(most(limit), "where nothing is taken");
        });
    }

    @TestFactory
    Stream<DynamicTest> what_is_available_fits_and_one_more_does_not() {
        return each(limit -> {
            long most = most(limit);
            for (long cost : costs(most)) {
                Books books = new Books(limit);
                books.take(cost, "of " + most);
                long left = most - cost;
                assertThat(books.state().available())
                        .as("what is available after %s of %s", cost, most)
                        .isEqualTo(left);
                books.refuses(left + 1, "of " + left);
                if (left > 0) {
                    books.take(left, "of " + left);
                }
                books.refuses(1, "where all is taken");
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> a_refused_attempt_changes_nothing() {
        return each(limit -> {
            long most = most(limit);
            assertThat(granted(limit, most, true))
                    .as("who is granted where others are refused in between, as where they don't ask")
                    .isEqualTo(granted(limit, most, false));
        });
    }

    private List<Boolean> granted(Limit limit, long most, boolean refusedBesides) {
        Books books = new Books(limit);
        Random random = new Random(2);
        List<Boolean> granted = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) {
            advance(ofMillis(random.nextInt(1_000)));
            if (refusedBesides && books.state().available() < most) {
                books.refuses(most, "where less is available");
            }
            granted.add(books.ask(1 + most / 4).allowed());
        }
        return granted;
    }

    @TestFactory
    Stream<DynamicTest> n_times_one_is_once_n() {
        return each(limit -> {
            long most = Math.min(20, most(limit));
            for (long n : costs(most)) {
                Books once = new Books(limit);
                once.take(n, "of " + most);
                List<@Nullable Object> expected = once.answers(most);
                Books ones = new Books(limit);
                for (int i = 0; i < n; i++) {
                    ones.take(1, "behind " + i + " times one");
                }
                assertThat(ones.answers(most))
                        .as("how it answers after %s times one, as after once %s", n, n)
                        .isEqualTo(expected);
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> what_was_not_used_is_there_again() {
        return each(limit -> {
            long most = most(limit);
            for (long cost : costs(most)) {
                Books books = new Books(limit);
                Permit permit = books.take(cost, "of " + most);
                permit.settle(limit.unit(), 0);
                permit.release();
                books.take(most, "after " + cost + " that were not used");
                books.refuses(1, "where all is taken");
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> a_corrected_cost_is_as_one_of_that_cost() {
        return each(limit -> {
            long most = Math.min(20, most(limit));
            for (long actual : costs(most)) {
                Books taken = new Books(limit);
                taken.take(actual, "of " + most).release();
                List<@Nullable Object> expected = taken.answers(most);
                Books corrected = new Books(limit);
                Permit permit = corrected.take(Math.min(2, most), "of " + most);
                permit.settle(limit.unit(), actual);
                permit.release();
                assertThat(corrected.answers(most))
                        .as("how it answers after a cost that became %s, as after one that was", actual)
                        .isEqualTo(expected);
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> a_wait_is_never_zero_and_over_when_it_said_and_not_before() {
        return each(limit -> {
            Books books = new Books(limit);
            long most = most(limit);
            Random random = new Random(3);
            Deque<Permit> out = new ArrayDeque<>();
            for (int i = 0; i < ROUNDS; i++) {
                long cost = 1L + random.nextInt((int) most);
                Decision decision = books.ask(cost);
                Duration wait = decision.retryAfter();
                if (wait == null && out.isEmpty()) {
                    return; // A budget is spent: nothing makes room any more.
                } else if (wait == null) {
                    out.remove().release();
                    continue;
                }
                if (!decision.allowed()) {
                    assertThat(wait).as("the wait for %s", cost).isPositive();
                    advance(Duration.ofNanos((wait.toNanos() - 1) / 1_000 * 1_000));
                    books.refuses(cost, "just before the " + wait + " that were said");
                    advance(FINEST);
                    decision = books.ask(cost);
                    Duration more = decision.retryAfter();
                    if (!decision.allowed()
                            && more != null
                            && limit.permits() > 1_000) { // Such a window may count in thousandths of its period.
                        assertThat(more).isLessThanOrEqualTo(limit.period().dividedBy(500));
                        advance(more);
                        decision = books.ask(cost);
                    }
                    assertThat(decision.allowed())
                            .withFailMessage(
                                    "Expecting a grant of %s after the %s that were said, but it was %s",
                                    cost, wait, decision)
                            .isTrue();
                }
                out.add(decision.permit());
            }
        });
    }

    @TestFactory
    Stream<DynamicTest> what_can_never_pass_is_refused_for_good_and_takes_nothing() {
        return each(limit -> {
            Books books = new Books(limit);
            long most = most(limit);
            Decision never = books.ask(1L << 40);
            if (!never.allowed()) { // A bucket that borrows goes into debt.
                assertThat(never.retryAfter())
                        .as("the wait for more than there ever is")
                        .isNull();
                books.take(most, "where nothing is taken");
            }
        });
    }
}
