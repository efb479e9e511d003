package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class LimitTest {

    @ParameterizedTest
    @CsvSource({
        // permits, period s, headroom, then permits, period ms
        "5, 10, 0.2, 4, 10000",
        "60, 60, 0.2, 48, 60000",
        "10, 1, 0.1, 9, 1000",
        "10, 1, 0.3, 7, 1000", // 10 · (1 − 0.3) is 6.999… in doubles
        "100, 1, 0.71, 29, 1000", // 28.999… in doubles
        "3, 1, 0.5, 1, 1000",
        "1, 10, 0.2, 1, 12500", // fewer than one: a longer period
        "1, 10, 0.9, 1, 100000",
        "2, 1, 0.8, 1, 2500",
        "5, 10, 0, 5, 10000",
    })
    void headroom_is_an_exact_decimal_and_stretches_the_period_below_one_permit(
            long permits, long periodSeconds, double headroom, long left, long periodMillis) {
        Limit limit = Limit.of(permits, ofSeconds(periodSeconds)).headroom(headroom);
        assertThat(limit.permits()).isEqualTo(left);
        assertThat(limit.period()).isEqualTo(ofMillis(periodMillis));
    }

    @Test
    void headroom_and_sharing_add_up_exactly_in_any_order() {
        Limit one = Limit.of(100, ofSeconds(1)).headroom(0.1).sharedBy(3).headroom(0.5);
        Limit other = Limit.of(100, ofSeconds(1)).headroom(0.5).headroom(0.1).sharedBy(3);
        assertThat(one).isEqualTo(other).hasSameHashCodeAs(other);
        assertThat(one.permits()).isEqualTo(15);
        assertThat(Limit.of(9, ofSeconds(1)).sharedBy(3).sharedBy(3).permits()).isEqualTo(1);
    }

    @Test
    void a_limit_shared_by_more_processes_than_it_has_permits_stretches_its_period() {
        Limit limit = Limit.of(2, ofSeconds(1)).sharedBy(7);
        assertThat(limit.permits()).isEqualTo(1);
        assertThat(limit.period()).isEqualTo(ofMillis(3_500));
        Limit uneven = Limit.of(3, ofNanos(10)).sharedBy(7);
        assertThat(uneven.period()).as("rounded up").isEqualTo(ofNanos(24));
    }

    @Test
    void headroom_of_a_bucket_takes_of_its_capacity_and_of_its_rate() {
        Limit limit = Limit.bucket(10, 5, ofSeconds(1)).headroom(0.2);
        assertThat(limit.permits()).isEqualTo(8);
        assertThat(rate(limit)).containsExactly(1, 250_000_000);
        assertThat(limit.initialPermits()).isEqualTo(8);
    }

    @Test
    void headroom_and_sharing_leave_at_least_one_permit_where_no_period_can_be_stretched() {
        assertThat(Limit.inFlight(100).headroom(0.2).permits()).isEqualTo(80);
        assertThat(Limit.total(4).sharedBy(4).permits()).isEqualTo(1);
        assertThat(Limit.total(5).headroom(0.2).sharedBy(4).permits()).isEqualTo(1);
    }

    @Test
    void a_limiter_on_its_own_may_always_use_one_permit() {
        assertThat(Limit.inFlight(2).part(4).permits()).isEqualTo(1);
        assertThat(Limit.of(2, ofSeconds(1)).part(4))
                .isEqualTo(Limit.of(2, ofSeconds(1)).sharedBy(4));
    }

    @Test
    void a_burst_is_never_above_what_headroom_leaves() {
        assertThat(Limit.of(10, ofSeconds(1)).burst(10).headroom(0.5).burstPermits())
                .isEqualTo(5);
        assertThat(Limit.of(10, ofSeconds(1)).smooth())
                .isEqualTo(Limit.of(10, ofSeconds(1)).burst(1));
    }

    private static long[] rate(Limit limit) {
        Pace pace = limit.pace();
        return new long[] {pace.permits, pace.nanos};
    }

    @Test
    void rates_are_reduced_fractions() {
        assertThat(rate(Limit.bucket(1, 7, ofSeconds(3)))).containsExactly(7, 3_000_000_000L);
        assertThat(rate(Limit.bucket(1, 3_000_000_000L, ofSeconds(1)))).containsExactly(3, 1);
        assertThat(rate(Limit.of(5, ofSeconds(10)).burst(2))).containsExactly(1, 2_500_000_000L);
        assertThat(rate(Limit.bucket(1, 1, ofSeconds(Long.MAX_VALUE)))).containsExactly(1, Long.MAX_VALUE);
    }

    @Test
    void a_lane_share_is_rounded_down_and_never_stretches_the_period() {
        Limit half = Limit.of(5, ofSeconds(10)).laneShare(Share.of(0.5));
        assertThat(half.permits()).isEqualTo(2);
        Limit least = Limit.of(5, ofSeconds(10)).laneShare(Share.of(0.01));
        assertThat(least.permits()).isEqualTo(1);
        assertThat(least.period()).isEqualTo(ofSeconds(10));
        assertThat(Limit.inFlight(3).laneShare(Share.of(0.1)).permits()).isEqualTo(1);
    }

    @Test
    void methods_leave_the_limit_they_are_called_on_as_it_was() {
        Limit limit = Limit.of(5, ofSeconds(10));
        Limit same = Limit.of(5, ofSeconds(10));
        limit.headroom(0.2).burst(2).strict().unit("points").sharedBy(2);
        assertThat(limit).isEqualTo(same).hasSameHashCodeAs(same).hasToString("5 requests per PT10S");
        assertThat(limit.strict()).isNotEqualTo(limit);
        assertThat(limit.unit("points")).isNotEqualTo(limit);
        assertThat(limit).isNotEqualTo(Limit.inFlight(5)).isNotEqualTo("5");
    }

    @Test
    void a_limit_says_what_it_is() {
        assertThat(Limit.of(5, ofSeconds(10)).burst(2).strict()).hasToString("5 requests per PT10S, burst 2, strict");
        assertThat(Limit.bucket(10, 1, ofSeconds(1)).unit("tokens")).hasToString("bucket of 10 tokens, 1 per PT1S");
        assertThat(Limit.inFlight(3)).hasToString("3 requests in flight");
        assertThat(Limit.total(9).unit("points")).hasToString("9 points in all");
    }

    private static Arguments rule(ThrowingCallable wrong, String message) {
        return Arguments.of(message, wrong);
    }

    static Stream<Arguments> values() {
        Duration ten = ofSeconds(10);
        return Stream.of(
                rule(() -> Limit.of(0, ten), "permits must be positive, was 0"),
                rule(() -> Limit.of(-1, ten), "permits must be positive, was -1"),
                rule(() -> Limit.of(Long.MIN_VALUE, ten), "permits must be positive, was -9223372036854775808"),
                rule(() -> Limit.of(1, Duration.ZERO), "period must be positive, was PT0S"),
                rule(() -> Limit.of(1, ten.negated()), "period must be positive, was PT-10S"),
                rule(() -> Limit.bucket(0, 1, ten), "capacity must be positive, was 0"),
                rule(() -> Limit.bucket(1, 0, ten), "refill must be positive, was 0"),
                rule(() -> Limit.bucket(1, -5, ten), "refill must be positive, was -5"),
                rule(() -> Limit.bucket(1, 1, Duration.ZERO), "period must be positive, was PT0S"),
                rule(() -> Limit.inFlight(0), "calls in flight must be positive, was 0"),
                rule(() -> Limit.total(-3), "permits must be positive, was -3"),
                rule(() -> Limit.of(5, ten).burst(0), "burst must be between 1 and 5, was 0"),
                rule(() -> Limit.of(5, ten).burst(6), "burst must be between 1 and 5, was 6"),
                rule(() -> Limit.of(5, ten).headroom(1), "headroom must be at least 0 and below 1, was 1.0"),
                rule(() -> Limit.of(5, ten).headroom(-0.1), "headroom must be at least 0 and below 1, was -0.1"),
                rule(() -> Limit.of(5, ten).headroom(Double.NaN), "headroom must be at least 0 and below 1, was NaN"),
                rule(
                        () -> Limit.of(5, ten).headroom(Double.POSITIVE_INFINITY),
                        "headroom must be at least 0 and below 1, was Infinity"),
                rule(
                        () -> Limit.inFlight(1).headroom(0.2),
                        "headroom and sharing must leave at least one permit, left 4/5 of: 1 requests in flight"),
                rule(
                        () -> Limit.total(2).sharedBy(4),
                        "headroom and sharing must leave at least one permit, left 1/2 of: 2 requests in all"),
                rule(
                        () -> Limit.calendar(2, ChronoUnit.DAYS, ZoneOffset.UTC).sharedBy(4),
                        "headroom and sharing must leave at least one permit, left 1/2 of: 2 requests per day in Z"),
                rule(() -> Limit.of(5, ten).sharedBy(0), "processes must be positive, was 0"),
                rule(
                        () -> Limit.bucket(5, 1, ten).startingWith(6),
                        "a bucket must start with between 0 and 5 permits, was 6"),
                rule(
                        () -> Limit.bucket(5, 1, ten).startingWith(-1),
                        "a bucket must start with between 0 and 5 permits, was -1"),
                rule(() -> Share.of(0), "a share must be above 0 and at most 1, was 0.0"),
                rule(() -> Share.of(1.01), "a share must be above 0 and at most 1, was 1.01"),
                rule(() -> Share.of(Double.NaN), "a share must be above 0 and at most 1, was NaN"),
                rule(() -> Demand.one().cost(0), "a demand's cost must be positive, was 0"),
                rule(() -> Demand.one().cost("requests", 0), "a demand's cost must be positive, was 0"),
                rule(() -> Demand.one().cost("tokens", -1), "a cost in tokens must not be negative, was -1"),
                rule(() -> Demand.one().maxWait(ofMinutes(-1)), "the longest wait must not be negative, was PT-1M"),
                rule(() -> Scope.by(), "a scope must name each of its attributes once, was []"),
                rule(() -> Scope.by("a", "a"), "a scope must name each of its attributes once, was [a, a]"),
                rule(() -> RateLimiter.named(" "), "a limiter's name must not be blank, was ' '"),
                rule(() -> RateLimiter.named("x").maxPending(0, 1), "maxPending must be positive, was 0 and 1"),
                rule(() -> RateLimiter.named("x").jitter(1.5), "jitter must be between 0 and 1, was 1.5"),
                rule(
                        () -> RateLimiter.named("x").cooldown(ten, ofSeconds(1)),
                        "the longest cooldown must be at least the first of PT10S, was PT1S"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("values")
    void a_value_out_of_range_is_refused_where_it_enters_with_the_rule_and_the_value(
            String message, ThrowingCallable wrong) {
        assertThatThrownBy(wrong).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
    }

    static Stream<Arguments> misplaced() {
        return Stream.of(
                rule(
                        () -> Limit.inFlight(3).burst(1),
                        "burst belongs to a window limit, this is: 3 requests in flight"),
                rule(() -> Limit.total(3).strict(), "strict belongs to a window limit, this is: 3 requests in all"),
                rule(
                        () -> Limit.of(5, ofSeconds(1)).startingWith(1),
                        "startingWith belongs to a bucket limit, this is: 5 requests per PT1S"),
                rule(
                        () -> Limit.of(5, ofSeconds(1)).borrowing(),
                        "borrowing belongs to a bucket limit, this is: 5 requests per PT1S"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("misplaced")
    void what_belongs_to_another_kind_of_limit_is_refused(String message, ThrowingCallable wrong) {
        assertThatThrownBy(wrong).isInstanceOf(IllegalStateException.class).hasMessage(message);
    }
}
