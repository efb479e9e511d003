package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LanesTest {

    private static final Demand HIGH = Demand.one();
    private static final Demand LOW = Demand.one().lane("background");

    private final VirtualTime time = new VirtualTime();

    private RateLimiterSpec lanes(Limit... limits) {
        return time.spec().limit(limits).lane("background", Share.of(1));
    }

    private List<Asked> ask(RateLimiter limiter, Demand demand, int times) {
        return IntStream.range(0, times)
                .mapToObj(i -> time.ask(limiter, demand))
                .toList();
    }

    @Test
    void the_higher_lane_goes_first() {
        RateLimiter limiter =
                lanes(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0)).build();
        List<Asked> low = ask(limiter, LOW, 3);
        List<Asked> high = ask(limiter, HIGH, 3);
        time.runTo(ofSeconds(6));
        assertThat(high).extracting(Asked::turn).containsExactly(1, 2, 3);
        assertThat(low).extracting(Asked::turn).containsExactly(4, 5, 6);
    }

    @Test
    void one_call_of_the_higher_lane_waits_for_no_flood_of_the_lower() { // B37
        RateLimiter limiter =
                lanes(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0)).build();
        List<Asked> flood = ask(limiter, LOW, 1_000);
        time.runTo(ofSeconds(1));
        Asked one = time.ask(limiter, HIGH);
        time.runTo(ofSeconds(3));
        assertThat(one.at()).isEqualTo(ofSeconds(2));
        assertThat(flood.get(1).at()).isEqualTo(ofSeconds(3));
    }

    @Test
    void the_lowest_lane_is_served_once_per_ageing_bound_whatever_comes_above() { // B37
        RateLimiter limiter =
                lanes(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0)).build(); // The bound is 30 s unless said.
        Asked low = time.ask(limiter, LOW);
        for (int half = 0; half < 1_200; half++) { // twice the rate, for 10 minutes
            time.at(ofMillis(half * 500L), () -> time.ask(limiter, HIGH));
        }
        time.runTo(ofSeconds(29));
        assertThat(low.isWaiting()).isTrue();
        time.runTo(ofSeconds(30));
        assertThat(low.at()).isEqualTo(ofSeconds(30));
        List<Asked> more = ask(limiter, LOW, 4);
        time.runTo(ofMinutes(10));
        assertThat(more)
                .extracting(Asked::at)
                .containsExactly(ofSeconds(60), ofSeconds(90), ofSeconds(120), ofSeconds(150));
    }

    @Test
    void ageing_reaches_a_lane_whose_key_shares_a_wider_limit() { // B37
        RateLimiter limiter = lanes(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0))
                .scope(Scope.by("user"))
                .ageing(ofSeconds(5))
                .build();
        Asked low = time.ask(limiter, Demand.of("user", "b").lane("background"));
        ask(limiter, Demand.of("user", "a"), 100);
        time.runTo(ofSeconds(5));
        assertThat(low.at()).isEqualTo(ofSeconds(5));
    }

    @Test
    void a_heavy_demand_of_the_lowest_lane_gets_its_permits_together_once_it_has_aged() {
        RateLimiter limiter = lanes(Limit.bucket(10, 1, ofSeconds(1)).startingWith(0))
                .ageing(ofSeconds(5))
                .build();
        Asked low = time.ask(limiter, LOW.cost(8));
        ask(limiter, HIGH, 1_000);
        time.runTo(ofSeconds(12)); // the fifth permit is the first that is kept for it
        assertThat(low.at()).isEqualTo(ofSeconds(12));
    }

    @Test
    void cancelled_waiters_use_no_turn_of_their_lane() { // B37
        RateLimiter limiter =
                lanes(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0)).build();
        List<Asked> high = ask(limiter, HIGH, 50);
        Asked low = time.ask(limiter, LOW);
        high.forEach(Asked::cancel);
        time.runTo(ofSeconds(1));
        assertThat(low.at()).isEqualTo(ofSeconds(1));
    }

    @Test
    void a_lane_takes_no_more_than_its_share_of_every_limit_and_others_may_take_the_rest() {
        RateLimiter limiter = time.spec()
                .limit(Limit.of(10, ofSeconds(10)), Limit.inFlight(8))
                .lane("background", Share.of(0.5))
                .build();
        List<Asked> low = ask(limiter, LOW, 6);
        assertThat(low.stream().filter(Asked::isGranted).count()).isEqualTo(4);
        low.get(0).permit().release();
        assertThat(low.get(4).isGranted()).isTrue();
        low.get(1).permit().release();
        assertThat(low.get(5).isWaiting()).as("five of ten per period").isTrue();
        List<Asked> high = ask(limiter, HIGH, 4);
        assertThat(high).as("parked by its own share, it holds nobody up").allMatch(Asked::isGranted);
        time.runTo(ofMillis(10_010));
        assertThat(low.get(5).at()).isEqualTo(ofMillis(10_010));
    }

    @Test
    void a_higher_lane_with_a_share_holds_the_lower_up_by_what_is_everybodys_only() {
        RateLimiter limiter = time.spec()
                .limit(Limit.of(4, ofSeconds(10)))
                .lane("interactive", Share.of(0.5))
                .lane("background", Share.of(1))
                .build();
        List<Asked> high = ask(limiter, HIGH, 3);
        assertThat(high.get(2).isWaiting()).isTrue();
        assertThat(time.ask(limiter, LOW).isGranted()).isTrue();
        assertThat(limiter.tryAcquire(LOW).allowed()).isTrue();
        assertThat(limiter.tryAcquire(LOW).allowed()).isFalse();
    }

    @Test
    void a_share_may_be_of_a_scopes_limits_too() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.of(4, ofSeconds(10))))
                .lane("background", Share.of(0.25))
                .build();
        Demand user = Demand.of("user", "a");
        assertThat(limiter.tryAcquire(user.lane("background")).allowed()).isTrue();
        Decision refused = limiter.tryAcquire(user.lane("background"));
        assertThat(refused.allowed()).isFalse();
        assertThat(refused.retryAfter()).isEqualTo(ofMillis(10_010));
        assertThat(limiter.tryAcquire(user.cost(3)).allowed()).isTrue();
        assertThat(time.ask(limiter, Demand.of("user", "b").lane("background").cost(2))
                        .refusal())
                .hasMessageContaining("can never pass");
    }

    @Test
    void an_answer_at_once_does_not_overtake_its_own_lane_or_a_higher_one_but_a_lower() {
        RateLimiter limiter =
                lanes(Limit.bucket(10, 1, ofSeconds(1)).startingWith(5)).build();
        Asked low = time.ask(limiter, LOW.cost(8));
        assertThat(limiter.tryAcquire(LOW).allowed()).isFalse();
        assertThat(limiter.tryAcquire(HIGH).allowed()).isTrue();
        low.cancel();
        time.ask(limiter, HIGH.cost(9));
        assertThat(limiter.tryAcquire(LOW).allowed()).isFalse();
        assertThat(limiter.tryAcquire(HIGH).allowed()).isFalse();
    }

    @Test
    void three_lanes_go_in_their_order_and_only_the_lowest_ages() {
        RateLimiter limiter = time.spec()
                .limit(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0))
                .lane("middle", Share.of(1))
                .lane("low", Share.of(1))
                .ageing(ofSeconds(3))
                .build();
        List<Asked> low = ask(limiter, Demand.one().lane("low"), 2);
        List<Asked> middle = ask(limiter, Demand.one().lane("middle"), 2);
        List<Asked> high = ask(limiter, HIGH, 4);
        time.runTo(ofSeconds(8));
        assertThat(high).extracting(Asked::turn).containsExactly(1, 2, 4, 5);
        assertThat(low).extracting(Asked::turn).containsExactly(3, 6);
        assertThat(middle).extracting(Asked::turn).containsExactly(7, 8);
    }

    @Test
    void an_unknown_lane_is_an_error_that_names_the_lanes() {
        RateLimiter limiter = lanes().build();
        String message = "a lane must be one of [interactive, background], was 'batch'";
        assertThatThrownBy(() -> limiter.tryAcquire(Demand.one().lane("batch")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
        assertThat(time.ask(limiter, Demand.one().lane("batch")).error())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void the_reactor_context_names_the_lane_of_those_who_name_none() {
        RateLimiter limiter = time.spec()
                .limit(Limit.of(4, ofSeconds(10)))
                .lane("background", Share.of(0.25))
                .build();
        for (Demand demand : List.of(Demand.one(), Demand.one().lane("interactive"))) {
            limiter.acquire(demand)
                    .contextWrite(RateLimitContext.lane("background"))
                    .subscribe();
        }
        assertThat(limiter.estimate(LOW).allowed()).as("one of one is taken").isFalse();
        assertThat(limiter.estimate(HIGH.cost(2)).allowed()).isTrue();
    }
}
