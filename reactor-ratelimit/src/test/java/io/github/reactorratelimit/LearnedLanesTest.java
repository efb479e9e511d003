package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The lanes' shares of a quota that responses told of. */
class LearnedLanesTest {

    private static final Demand HIGH = Demand.one();
    private static final Demand LOW = Demand.one().lane("background");

    private final VirtualTime time = new VirtualTime();

    private RateLimiter limiter(double share) {
        return time.spec().lane("background", Share.of(share)).learn().build();
    }

    private static RateLimitSignal left(long remaining, long limit) {
        Quota quota = new Quota("", "requests", limit, remaining, -1, ofSeconds(10), ofSeconds(10), null);
        return RateLimitSignal.of(200).quotas(List.of(quota)).build();
    }

    private static RateLimitSignal left(long remaining, long limit, int second) {
        Quota quota = new Quota("", "requests", limit, remaining, -1, ofSeconds(10 - second), ofSeconds(10), null);
        return RateLimitSignal.of(200).quotas(List.of(quota)).build();
    }

    private List<Asked> ask(RateLimiter limiter, Demand demand, int times) {
        return IntStream.range(0, times)
                .mapToObj(i -> time.ask(limiter, demand))
                .toList();
    }

    private static long out(List<Asked> all) {
        return all.stream().filter(Asked::isGranted).count();
    }

    @ParameterizedTest
    @CsvSource({"0.5, 10, 5", "0.34, 10, 3", "0.05, 10, 1", "0.5, 1, 1", "0.99, 10, 9"})
    void a_lane_takes_its_share_rounded_down_and_at_least_one(double share, long limit, long expected) {
        RateLimiter limiter = limiter(share);
        limiter.tryAcquire(HIGH).permit().complete(left(limit, limit));
        assertThat(out(ask(limiter, LOW, 20))).isEqualTo(expected);
    }

    @Test
    void what_a_lane_is_not_to_have_is_there_for_the_others() {
        RateLimiter limiter = limiter(0.5);
        limiter.tryAcquire(LOW).permit().complete(left(9, 10));
        List<Asked> low = ask(limiter, LOW, 20);
        assertThat(out(low)).as("the one that asked is of its share").isEqualTo(4);
        assertThat(out(ask(limiter, HIGH, 20))).isEqualTo(5);
    }

    @Test
    void answers_give_nothing_back_but_the_reset_does() {
        RateLimiter limiter = limiter(0.5);
        limiter.tryAcquire(HIGH).permit().complete(left(9, 10));
        List<Asked> low = ask(limiter, LOW, 20);
        time.runTo(ofSeconds(1));
        low.subList(0, 5).forEach(one -> one.permit().complete(left(4, 10, 1)));
        assertThat(out(low)).isEqualTo(5);
        time.runTo(ofSeconds(10));
        assertThat(out(low)).as("one asks").isEqualTo(6);
        low.get(5).permit().complete(left(9, 10));
        assertThat(out(low)).isEqualTo(10);
    }

    @Test
    void a_lane_at_its_share_tells_when_it_is_more_and_which_limit_it_is() {
        RateLimiter limiter = limiter(0.5);
        limiter.tryAcquire(HIGH).permit().complete(left(9, 10));
        ask(limiter, LOW, 5);
        Decision refused = limiter.tryAcquire(LOW);
        assertThat(refused.retryAfter()).isEqualTo(ofSeconds(10));
        assertThat(refused.remaining()).isZero();
        assertThat(refused.limit()).hasToString("5 requests per PT10S, learned from responses");
        assertThat(limiter.tryAcquire(HIGH).allowed()).isTrue();
    }

    @Test
    void one_that_is_given_back_goes_to_the_next_of_its_lane() {
        RateLimiter limiter = limiter(0.5);
        limiter.tryAcquire(HIGH).permit().complete(left(9, 10));
        Admission admission = limiter.calls().admission();
        List<Call> low =
                IntStream.range(0, 6).mapToObj(i -> new Call(admission)).toList();
        assertThat(low.stream().filter(one -> one.granted)).hasSize(5);
        admission.abort(low.get(2));
        assertThat(low.get(5).granted).isTrue();
    }

    @Test
    void routes_that_share_a_bucket_share_the_lanes_share_of_it() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("route"))
                .lane("background", Share.of(0.5))
                .learn()
                .build();
        Quota bucket = new Quota("", "requests", 10, 9, -1, ofSeconds(10), ofSeconds(10), "h1");
        RateLimitSignal told = RateLimitSignal.of(200).quotas(List.of(bucket)).build();
        limiter.tryAcquire(HIGH.and("route", "/a")).permit().complete(told);
        limiter.tryAcquire(HIGH.and("route", "/b")).permit().complete(told);
        assertThat(out(ask(limiter, LOW.and("route", "/a"), 3))).isEqualTo(3);
        assertThat(out(ask(limiter, LOW.and("route", "/b"), 9))).isEqualTo(2);
        assertThat(out(ask(limiter, HIGH.and("route", "/b"), 9))).isEqualTo(4);
    }

    /** A call of an adapter that is not sent yet. */
    private static final class Call extends Ticket {

        private boolean granted;

        Call(Admission admission) {
            super(LOW);
            admission.acquire(this, null, 0, Exact.NEVER);
        }

        @Override
        Tells tells() {
            return Tells.SENDING;
        }

        @Override
        void emit() {
            granted = true;
        }
    }
}
