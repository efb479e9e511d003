package io.github.reactorratelimit.test.contract;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.Scope;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.assertj.core.api.AbstractIntegerAssert;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * What a {@link RateLimiter} decides, wherever it keeps its books: for those who write a store. A test of an own one extends
 * this class, builds limiters over empty books, and lets the time pass that the books go by. An answer may come later, on
 * another thread; it is waited for up to ten seconds.
 */
public abstract class RateLimiterContract {

    private static final Duration PATIENCE = ofSeconds(10);
    private static final Duration PERIOD = ofSeconds(10);
    private static final Demand NOW = Demand.one().maxWait(Duration.ZERO);
    private static final int ROUNDS = 200;

    /** For subclasses. */
    protected RateLimiterContract() {}

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
     * @param span how long, not negative
     */
    protected abstract void advance(Duration span);

    private RateLimiter limiter(Limit... limits) {
        return limiter(RateLimiter.named("contract").limit(limits));
    }

    /** A permit, or a refusal. */
    private record Answer(@Nullable Permit permit, @Nullable RateLimitedException refusal) {

        boolean granted() {
            return permit != null;
        }

        Permit held() {
            if (permit == null) {
                throw new AssertionError("Expecting a permit, but it was refused: " + refusal);
            }
            return permit;
        }

        @Nullable
        Duration retryAfter() {
            if (refusal == null) {
                throw new AssertionError("Expecting a refusal, but a permit was granted");
            }
            return refusal.retryAfter();
        }
    }

    private static Answer ask(RateLimiter limiter, Demand demand) {
        AtomicReference<@Nullable RateLimitedException> refusal = new AtomicReference<>();
        Permit permit = limiter.acquire(demand.maxWait(Duration.ZERO))
                .doOnError(RateLimitedException.class, refusal::set)
                .onErrorComplete(RateLimitedException.class)
                .block(PATIENCE);
        return new Answer(permit, refusal.get());
    }

    private static AbstractIntegerAssert<?> assertGrants(RateLimiter limiter, int asks, String of) {
        int granted = 0;
        for (int i = 0; i < asks; i++) {
            granted += ask(limiter, NOW).granted() ? 1 : 0;
        }
        return assertThat(granted).as("permits that %s gave to %s who asked", of, asks);
    }

    private static void assertRefused(RateLimiter limiter, Demand demand, String what) {
        assertThat(ask(limiter, demand).granted())
                .as("whether %s was granted", what)
                .isFalse();
    }

    @Test
    void never_more_than_the_limit_in_any_span() {
        RateLimiter limiter = limiter(Limit.of(5, PERIOD));
        Random random = new Random(1);
        List<Duration> granted = new ArrayList<>();
        Duration now = Duration.ZERO;
        for (int i = 0; i < ROUNDS; i++) {
            if (ask(limiter, NOW).granted()) {
                granted.add(now);
            }
            Duration span = ofMillis(random.nextInt(1_500));
            advance(span);
            now = now.plus(span);
        }
        assertThat(granted).as("permits in some 150 s of 5 per 10 s").hasSizeGreaterThan(20);
        for (int i = 5; i < granted.size(); i++) {
            assertThat(granted.get(i).minus(granted.get(i - 5)))
                    .as("between grants %s and %s", i - 5, i)
                    .isGreaterThanOrEqualTo(PERIOD);
        }
    }

    @Test
    void a_window_gives_all_it_has_and_then_says_when_there_is_more() {
        RateLimiter limiter = limiter(Limit.of(5, PERIOD));
        assertGrants(limiter, 7, "5 per 10 s").isEqualTo(5);

        Duration wait = ask(limiter, NOW).retryAfter();

        assertThat(wait).as("the wait where 5 of 5 per 10 s are taken").isBetween(PERIOD, PERIOD.plusSeconds(2));
        advance(Objects.requireNonNull(wait));
        assertGrants(limiter, 7, "5 per 10 s, after " + wait + ",").isBetween(1, 5);
    }

    @Test
    void a_bucket_gives_what_it_holds_and_then_its_rate() {
        RateLimiter limiter = limiter(Limit.bucket(7, 3, ofSeconds(4)));

        assertGrants(limiter, 9, "a bucket of 7").isEqualTo(7);
        advance(ofSeconds(4));
        assertGrants(limiter, 9, "a bucket into which 3 came").isEqualTo(3);
        advance(ofSeconds(400));
        assertGrants(limiter, 9, "a bucket of 7, full again,").isEqualTo(7);
    }

    @Test
    void a_budget_never_comes_back() {
        RateLimiter limiter = limiter(Limit.total(3));

        assertGrants(limiter, 5, "a budget of 3").isEqualTo(3);
        advance(Duration.ofDays(365));
        assertGrants(limiter, 5, "a budget that was spent a year ago").isZero();
    }

    @Test
    void what_is_in_flight_comes_back_once_when_it_is_released() {
        RateLimiter limiter = limiter(Limit.inFlight(2));
        Permit first = ask(limiter, NOW).held();
        ask(limiter, NOW).held();
        assertRefused(limiter, NOW, "a third in flight of 2");

        first.release();
        first.release();

        assertGrants(limiter, 3, "2 in flight, of which one was released twice,")
                .isEqualTo(1);
    }

    @Test
    void of_several_limits_all_give_or_none() {
        RateLimiter limiter =
                limiter(Limit.total(3), Limit.bucket(10, 1, ofSeconds(1)).unit("points"));
        ask(limiter, NOW.cost("points", 8)).held();

        assertRefused(limiter, NOW.cost("points", 5), "5 points where 2 are left");
        assertRefused(limiter, NOW.cost("points", 5), "5 points where 2 are left");

        advance(ofSeconds(100));
        ask(limiter, NOW.cost("points", 5)).held();
        ask(limiter, NOW.cost("points", 5)).held();
        assertRefused(limiter, NOW, "the fourth of three");
    }

    @Test
    void one_demand_for_several_takes_as_much_as_several_for_one() {
        RateLimiter limiter = limiter(Limit.of(5, PERIOD));
        ask(limiter, NOW.cost(3)).held();

        assertRefused(limiter, NOW.cost(3), "three where two are left");
        assertGrants(limiter, 5, "two that are left").isEqualTo(2);
    }

    @Test
    void a_demand_that_can_never_pass_is_refused_for_good_and_takes_nothing() {
        RateLimiter limiter = limiter(Limit.of(5, PERIOD));

        assertThat(ask(limiter, NOW.cost(6)).retryAfter())
                .as("the wait for six of five")
                .isNull();

        assertGrants(limiter, 7, "5 per 10 s, of which none was taken,").isEqualTo(5);
    }

    @Test
    void keys_have_books_of_their_own_below_those_of_all() {
        RateLimiter limiter = limiter(RateLimiter.named("contract")
                .limit(Limit.total(3))
                .scope(Scope.by("user").limits(Limit.total(2))));
        Demand anna = NOW.and("user", "anna");
        Demand ben = NOW.and("user", "ben");

        ask(limiter, anna).held();
        ask(limiter, anna).held();
        assertRefused(limiter, anna, "anna's third of two");
        ask(limiter, ben).held();
        assertRefused(limiter, ben, "the fourth of all three");
    }

    @Test
    void what_was_not_used_is_given_back() {
        RateLimiter limiter = limiter(Limit.total(10).unit("tokens"));
        Permit permit = ask(limiter, NOW.cost("tokens", 10)).held();
        assertRefused(limiter, NOW.cost("tokens", 1), "an eleventh token of ten");

        permit.settle("tokens", 4);
        permit.release();

        assertRefused(limiter, NOW.cost("tokens", 7), "seven tokens, where four of ten were used,");
        ask(limiter, NOW.cost("tokens", 6)).held();
    }

    @Test
    void one_who_waits_longer_than_allowed_is_told_before() {
        RateLimiter limiter = limiter(Limit.of(1, PERIOD));
        ask(limiter, NOW).held();

        Answer answer = ask(limiter, NOW);

        assertThat(answer.retryAfter())
                .as("the wait for the second of one per 10 s")
                .isGreaterThanOrEqualTo(PERIOD);
    }
}
