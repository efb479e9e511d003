package io.github.reactorratelimit.test.contract;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.LimitStore;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/**
 * What a {@link LimitStore} keeps for the processes that share it: for those who write one, beside {@link
 * RateLimiterContract} and {@link LimitContract}. In those one limiter asks, whose own books bound it whatever its store
 * says; here two do, and each has to know of the other. A test of an own store extends this class and builds their limiters.
 * An answer may come later, on another thread; it is waited for up to ten seconds.
 */
public abstract class LimitStoreContract {

    private static final Duration PATIENCE = ofSeconds(10);
    private static final Duration PERIOD = ofSeconds(10);
    private static final Duration STEP = ofMillis(370);
    private static final int ROUNDS = 400;
    private static final Demand ONE = Demand.one();

    /** For subclasses. */
    protected LimitStoreContract() {}

    /**
     * The limiter of a further process, over the books of this test: nothing is written there when it begins, and what one
     * process writes is there for the next.
     *
     * @param spec what it is built from; its scheduler is for the subclass to set
     * @return a limiter that nobody has used
     */
    protected abstract RateLimiter process(RateLimiterSpec spec);

    /**
     * Lets time pass, for the limiters and for their books.
     *
     * @param span how long, whole microseconds, not negative
     */
    protected abstract void advance(Duration span);

    private RateLimiter process(Limit... limits) {
        return process(RateLimiter.named("contract").limit(limits));
    }

    private static Decision ask(RateLimiter process, Demand demand) {
        return Objects.requireNonNull(process.ask(demand).block(PATIENCE), "an answer");
    }

    private static Permit take(RateLimiter process, Demand demand, String whose) {
        Decision decision = ask(process, demand);
        assertThat(decision.allowed())
                .withFailMessage("Expecting a grant of %s, but it was %s", whose, decision)
                .isTrue();
        return decision.permit();
    }

    private static void refused(RateLimiter process, Demand demand, String whose) {
        Decision decision = ask(process, demand);
        assertThat(decision.allowed())
                .withFailMessage("Expecting a refusal of %s, but it was %s", whose, decision)
                .isFalse();
    }

    private static ScopeState status(RateLimiter process) {
        return Objects.requireNonNull(process.status(ONE).block(PATIENCE), "a status");
    }

    private static long left(RateLimiter process) {
        return status(process).limits().get(0).available();
    }

    /** When both, by turns and whenever they are let, take one. */
    private List<Duration> greedy(Limit limit) {
        RateLimiter[] processes = {process(limit), process(limit)};
        List<Duration> granted = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) {
            while (ask(processes[granted.size() % 2], ONE).allowed()) {
                granted.add(STEP.multipliedBy(i));
            }
            advance(STEP);
        }
        return granted;
    }

    @Test
    void both_together_get_no_more_than_a_window_gives_and_no_less() {
        List<Duration> granted = greedy(Limit.of(5, PERIOD));
        for (int i = 5; i < granted.size(); i++) {
            assertThat(granted.get(i).minus(granted.get(i - 5)))
                    .as("from the first to the last of six, of 5 per %s: %s", PERIOD, granted.subList(i - 5, i + 1))
                    .isGreaterThanOrEqualTo(PERIOD);
        }
        long periods = STEP.multipliedBy(ROUNDS).dividedBy(PERIOD.plus(STEP)); // Each may end a step late.
        assertThat(granted).as("grants in %s periods", periods).hasSizeGreaterThanOrEqualTo((int) (5 * periods));
    }

    @Test
    void both_together_get_what_a_bucket_holds_and_then_its_rate() {
        List<Duration> granted = greedy(Limit.bucket(7, 3, ofSeconds(4)));
        long refilled = STEP.multipliedBy(ROUNDS).toMillis() * 3 / 4_000;
        assertThat(granted.stream().filter(Duration::isZero)).as("at the start").hasSize(7);
        assertThat(granted)
                .as("of a bucket of 7, and %s refilled", refilled)
                .hasSizeBetween((int) refilled + 5, (int) refilled + 7);
    }

    @Test
    void both_together_go_as_evenly_as_one() {
        List<Duration> granted = greedy(Limit.of(5, PERIOD).smooth());
        for (int i = 1; i < granted.size(); i++) {
            assertThat(granted.get(i).minus(granted.get(i - 1)))
                    .as("between two that came at %s, of 5 per %s, evenly", granted.subList(i - 1, i + 1), PERIOD)
                    .isGreaterThanOrEqualTo(ofSeconds(2));
        }
    }

    @Test
    void what_one_took_the_other_is_told() {
        RateLimiter one = process(Limit.of(5, PERIOD));
        RateLimiter other = process(Limit.of(5, PERIOD));
        take(one, ONE.cost(3), "three of five");

        assertThat(left(other)).as("what is left of five").isEqualTo(2);
        refused(other, ONE.cost(3), "three where two are left");
        assertThat(left(one)).as("what is left after the refusal").isEqualTo(2);
        take(other, ONE.cost(2), "the two that are left");
    }

    @Test
    void what_one_is_given_ahead_counts_for_all_and_comes_back() {
        for (Limit limit : List.of(Limit.of(200, PERIOD), Limit.bucket(200, 1, PERIOD))) {
            RateLimiter one = process(limit);
            RateLimiter other = process(limit);
            for (int taken = 1; taken <= 20; taken++) { // At once, so that the store is asked for some more.
                Objects.requireNonNull(one.acquire(ONE).block(PATIENCE), "a permit");
                assertThat(left(other))
                        .as("what is left of %s after %s were taken", limit, taken)
                        .isLessThanOrEqualTo(200 - taken);
            }
            advance(ofMillis(10)); // Nothing is kept for so long.
            left(one); // Asks, so that all is told before.

            assertThat(left(other))
                    .as("what is left of %s after 20 were used", limit)
                    .isEqualTo(180);
        }
    }

    @Test
    void a_wait_is_over_when_it_was_said_and_not_before() {
        for (Limit limit : List.of(Limit.of(5, PERIOD), Limit.bucket(5, 1, ofSeconds(2)))) {
            take(process(limit), ONE.cost(5), "all of " + limit);
            RateLimiter other = process(limit);
            Duration wait = ask(other, ONE).retryAfter();
            assertThat(wait).as("the wait for one of %s", limit).isNotNull().isPositive();
            advance(Objects.requireNonNull(wait).minus(ofMillis(1)));
            refused(process(limit), ONE, "one of " + limit + ", 1 ms before the " + wait + " that were said");
            advance(ofMillis(2));
            take(other, ONE, "one of " + limit + ", after the " + wait + " that were said");
            advance(ofSeconds(1_000));
        }
    }

    @Test
    void a_budget_is_spent_for_all_and_for_good() {
        RateLimiter one = process(Limit.total(3));
        RateLimiter other = process(Limit.total(3));
        take(one, ONE.cost(2), "two of three");
        take(other, ONE, "the third of three");

        advance(Duration.ofDays(365));

        refused(process(Limit.total(3)), ONE, "a fourth of three, a year later");
    }

    @Test
    void what_one_has_in_flight_the_other_cannot_have_until_it_is_released() {
        RateLimiter one = process(Limit.inFlight(2));
        RateLimiter other = process(Limit.inFlight(2));
        Permit first = take(one, ONE, "the first of two in flight");
        take(one, ONE, "the second of two in flight");
        refused(other, ONE, "a third in flight of two");

        first.release();
        left(one); // Asks, so that what was released is told.
        advance(ofSeconds(1)); // Who was refused what is in flight asks again in a moment.

        take(other, ONE, "one in flight, after one was released");
        refused(other, ONE, "a second, where one was released");
    }

    @Test
    void what_one_did_not_use_the_other_can_have() {
        RateLimiter one = process(Limit.total(10).unit("tokens"));
        RateLimiter other = process(Limit.total(10).unit("tokens"));
        Permit permit = take(one, ONE.cost("tokens", 10), "ten tokens of ten");
        permit.settle("tokens", 4);
        permit.release();
        ask(one, ONE.cost("tokens", 10)); // So that it is told.

        refused(other, ONE.cost("tokens", 7), "seven tokens, where four of ten were used");
        take(other, ONE.cost("tokens", 6), "six tokens, where four of ten were used");
    }

    @Test
    void of_several_limits_all_give_or_none() {
        Limit[] limits = {Limit.total(3), Limit.bucket(10, 1, ofSeconds(1)).unit("points")};
        RateLimiter one = process(limits);
        RateLimiter other = process(limits);
        take(one, ONE.cost("points", 8), "the first of three, for 8 points of 10");

        refused(other, ONE.cost("points", 5), "5 points, where 2 are left");
        assertThat(left(one))
                .as("what is left of three, of which one was given")
                .isEqualTo(2);
        take(other, ONE.cost("points", 2), "the second of three, for 2 points");
        refused(one, ONE.cost("points", 1), "a point, where none is left");
    }

    @Test
    void keys_have_books_of_their_own_below_those_of_all() {
        RateLimiterSpec spec = RateLimiter.named("contract")
                .limit(Limit.total(3))
                .scope(Scope.by("user").limits(Limit.total(2)));
        RateLimiter one = process(spec);
        RateLimiter other = process(spec);
        Demand anna = ONE.and("user", "anna");
        take(one, anna, "anna's first of two");
        take(other, anna, "anna's second of two");
        refused(one, anna, "anna's third of two");
        take(other, ONE.and("user", "ben"), "ben's first of two, the third of all");
        refused(one, ONE.and("user", "ben"), "the fourth of all three");
    }

    @Test
    void what_was_refused_to_one_is_closed_for_all_until_then() {
        RateLimiter one = process(Limit.of(5, PERIOD));
        RateLimiter other = process(Limit.of(5, PERIOD));
        Permit permit = take(one, ONE, "the first of five");
        permit.complete(RateLimitSignal.of(429)
                .throttled(true)
                .hint(ofSeconds(30))
                .delay(ofSeconds(30))
                .build());
        status(one); // Asks, so that it is told.

        refused(other, ONE, "one, while the server's 30 s last");
        assertThat(status(other).closedFor()).as("for how long it is closed").isBetween(ofSeconds(30), ofSeconds(36));
        advance(ofSeconds(37));
        take(other, ONE, "one, after the server's 30 s");
    }

    @Test
    void what_one_makes_it_forget_is_forgotten_for_all() {
        RateLimiter one = process(Limit.total(3));
        RateLimiter other = process(Limit.total(3));
        take(one, ONE.cost(3), "three of three");

        other.reset(ONE).block(PATIENCE);

        assertThat(left(one)).as("what is left of three that were forgotten").isEqualTo(3);
        take(process(Limit.total(3)), ONE.cost(3), "three of three that were forgotten");
    }
}
