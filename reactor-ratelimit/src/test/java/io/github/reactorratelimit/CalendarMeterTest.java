package io.github.reactorratelimit;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Booking.Phase;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Limits that start anew by the clock on the wall. The books' wall starts at the epoch, a Thursday, in UTC. */
class CalendarMeterTest {

    private static final ZoneId UTC = ZoneOffset.UTC;

    private static Limit daily(long permits) {
        return Limit.calendar(permits, ChronoUnit.DAYS, UTC);
    }

    private static Books at(Books books, Duration time) {
        return books.atNanos(time.toNanos());
    }

    @Test
    void it_opens_a_second_after_midnight_and_not_a_day_after_the_first_call() {
        Books books = at(new Books(daily(3)), ofHours(23));
        books.take(3);
        assertThat(books.waitFor(1)).isEqualTo(ofMinutes(60).plusSeconds(1));
        at(books, ofDays(1).plusMillis(999));
        assertThat(books.fits(1)).isFalse();
        at(books, ofDays(1).plusSeconds(1));
        assertThat(books.available()).isEqualTo(3);
    }

    @Test
    void what_is_taken_around_midnight_counts_on_both_sides() {
        Books books = at(new Books(daily(10)), ofDays(1).minusMillis(1_001));
        books.take(1);
        at(books, ofDays(1).minusMillis(1_000));
        books.take(2);
        at(books, ofDays(1).plusMillis(500));
        books.take(4);
        assertThat(books.available()).isEqualTo(3);
        at(books, ofDays(1).plusSeconds(1));
        assertThat(books.available()).isEqualTo(4);
        at(books, ofDays(2).plusSeconds(1));
        assertThat(books.available()).isEqualTo(10);
    }

    @Test
    void a_call_that_is_sent_after_midnight_counts_there_too() {
        Books books = at(new Books(daily(10)), ofHours(23));
        Books.Entry waits = books.take(3, Phase.UNSENT);
        at(books, ofHours(25));
        assertThat(books.available()).isEqualTo(10);
        waits.sent();
        assertThat(books.available()).isEqualTo(7);
    }

    @Test
    void a_correction_never_reaches_the_next_day() {
        Books books = at(new Books(daily(10)), ofHours(12));
        Books.Entry settled = books.take(5);
        Books.Entry refunded = books.take(5, Phase.UNSENT);
        settled.settle(1);
        assertThat(books.available()).isEqualTo(4);
        Books.Entry late = books.take(4);
        at(books, ofHours(36));
        late.settle(0);
        refunded.refund();
        assertThat(books.available()).isEqualTo(10);
    }

    @Test
    void a_wait_behind_many_takes_as_many_days() {
        Books books = new Books(daily(10));
        books.take(10);
        assertThat(books.meter().expectedAt(0, 10, 1))
                .isEqualTo(ofDays(2).plusSeconds(1).toNanos());
        assertThat(books.meter().expectedAt(0, 9, 1))
                .isEqualTo(ofDays(1).plusSeconds(1).toNanos());
        assertThat(books.meter().fullAt(0)).isEqualTo(ofDays(1).plusSeconds(1).toNanos());
    }

    @ParameterizedTest
    @CsvSource({
        "MINUTES, UTC, 2026-03-29T00:59:30Z, 2026-03-29T01:00:00Z",
        "HOURS, Asia/Kolkata, 2026-03-29T00:59:30Z, 2026-03-29T01:30:00Z",
        "DAYS, Europe/Berlin, 2026-03-28T23:00:00Z, 2026-03-29T22:00:00Z", // 23 hours
        "DAYS, Europe/Berlin, 2026-10-24T22:00:00Z, 2026-10-25T23:00:00Z", // 25 hours
        "DAYS, America/Sao_Paulo, 2018-11-04T12:00:00Z, 2018-11-05T02:00:00Z", // no midnight on the fourth
        "WEEKS, UTC, 2026-03-29T23:59:59Z, 2026-03-30T00:00:00Z",
        "MONTHS, America/New_York, 2026-02-28T12:00:00Z, 2026-03-01T05:00:00Z",
        "HOURS, Australia/Lord_Howe, 2026-04-04T15:01:00Z, 2026-04-04T15:30:00Z", // half of the hour comes twice
        "HOURS, Australia/Lord_Howe, 2026-10-03T15:40:00Z, 2026-10-03T16:00:00Z", // half of the hour never comes
        "HOURS, Europe/Berlin, 2026-10-25T00:30:00Z, 2026-10-25T01:00:00Z", // the whole hour comes twice
        "DAYS, America/St_Johns, 2011-11-06T03:00:00Z, 2011-11-07T03:30:00Z", // a minute after midnight yesterday is
        // back
        "DAYS, Pacific/Apia, 2011-12-30T09:00:00Z, 2011-12-30T10:00:00Z", // no thirtieth
        "YEARS, UTC, 2026-02-28T12:00:00Z, 2027-01-01T00:00:00Z",
    })
    void each_unit_turns_by_its_zone(ChronoUnit unit, String zone, Instant at, Instant turn) {
        CalendarPeriod period = CalendarPeriod.of(unit, ZoneId.of(zone));
        long start = period.startMillis(at.toEpochMilli());
        assertThat(Instant.ofEpochMilli(period.laterMillis(start, 1))).isEqualTo(turn);
        assertThat(period.startMillis(turn.toEpochMilli())).isEqualTo(turn.toEpochMilli());
        assertThat(period.startMillis(turn.toEpochMilli() - 1)).isEqualTo(start);
    }

    @Test
    void what_was_taken_stays_taken_when_the_limit_changes() {
        Books books = new Books(daily(10));
        books.take(8);
        assertThat(books.change(daily(20)).available()).isEqualTo(12);
        at(books, ofDays(1).plusSeconds(1));
        assertThat(books.available()).isEqualTo(20);
    }

    @Test
    void what_is_given_back_just_before_midnight_is_free_on_both_sides() {
        Books books = at(new Books(daily(1)), ofDays(1).minusMillis(500));
        books.take(1, Phase.UNSENT).refund();
        assertThat(books.available()).isEqualTo(1);
        at(books, ofDays(1).plusSeconds(1));
        assertThat(books.available()).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"100, 900", "900, 100", "0, 900"})
    void a_correction_just_before_midnight_counts_on_both_sides(long guess, long actual) {
        Books books = at(new Books(daily(1_000)), ofDays(1).minusMillis(500));
        books.take(guess).settle(actual);
        assertThat(books.available()).isEqualTo(1_000 - actual);
        at(books, ofDays(1).plusSeconds(1));
        assertThat(books.available()).isEqualTo(1_000 - actual);
    }

    @Test
    void a_late_correction_leaves_the_next_day_alone() {
        Books books = at(new Books(daily(1_000)), ofHours(12));
        Books.Entry early = books.take(100);
        at(books, ofDays(1).minusMillis(500));
        early.settle(900);
        at(books, ofDays(1).plusSeconds(1));
        assertThat(books.available()).isEqualTo(1_000);
    }

    @Test
    void a_call_granted_long_before_midnight_and_sent_just_before_counts_on_both_sides() {
        Books books = at(new Books(daily(10)), ofDays(1).minusSeconds(10));
        Books.Entry call = countsOnBothSides(books);
        call.settle(1);
        assertThat(books.available()).isEqualTo(9);
    }

    @Test
    void a_call_granted_and_sent_in_the_last_second_counts_once_on_either_side() {
        countsOnBothSides(at(new Books(daily(10)), ofDays(1).minusMillis(500)));
    }

    /** A call that is granted now and sent just before midnight. */
    private Books.Entry countsOnBothSides(Books books) {
        Books.Entry call = books.take(3, Phase.UNSENT);
        at(books, ofDays(1).minusMillis(100));
        call.sent();
        assertThat(books.available()).isEqualTo(7);
        at(books, ofDays(1).plusSeconds(1));
        assertThat(books.available()).isEqualTo(7);
        return call;
    }

    /** Books whose wall is as fast as the test says. */
    private static final class FastWall {

        private final Meter meter;
        private long fastMillis;
        private long now;

        FastWall(Limit limit) {
            meter = Meter.of(limit, 0, time -> time / 1_000_000 + fastMillis);
        }

        FastWall at(Duration time) {
            now = time.toNanos();
            return this;
        }

        FastWall take(long cost) {
            assertThat(meter.readyAt(now, cost)).isEqualTo(now);
            meter.take(now, cost, Phase.HEADED);
            return this;
        }

        long availableWhenFastBy(Duration fast) {
            fastMillis = fast.toMillis();
            return meter.available(now);
        }
    }

    @Test
    void a_wall_clock_that_was_fast_for_a_while_brings_no_second_quota() {
        FastWall books = new FastWall(daily(10));
        Duration night = ofHours(24).minusMinutes(10);
        books.at(night).take(9).at(night.plusSeconds(30)).take(1).at(night.plusSeconds(40));
        assertThat(books.availableWhenFastBy(ofHours(1))).isEqualTo(9);
        assertThat(books.availableWhenFastBy(Duration.ZERO)).isZero();
    }

    @Test
    void what_was_taken_while_the_wall_clock_was_fast_counts_in_both_days() {
        FastWall books = new FastWall(daily(10));
        Duration night = ofHours(24).minusMinutes(10);
        books.at(night).take(1).at(night.plusSeconds(10));
        books.at(night.plusSeconds(20)).take(1).at(night.plusSeconds(30));
        assertThat(books.availableWhenFastBy(ofHours(1))).isEqualTo(9);
        books.take(4).at(night.plusSeconds(40));
        assertThat(books.availableWhenFastBy(Duration.ZERO)).isEqualTo(4);
        books.at(ofDays(1).plusSeconds(1));
        assertThat(books.availableWhenFastBy(Duration.ZERO)).isEqualTo(5);
        books.at(ofDays(2).plusSeconds(1));
        assertThat(books.availableWhenFastBy(Duration.ZERO)).isEqualTo(10);
    }

    @Test
    void a_wall_clock_that_goes_to_and_fro_counts_each_call_once_a_day() {
        FastWall books = new FastWall(daily(10)).at(ofHours(24).minusMinutes(10));
        assertThat(books.availableWhenFastBy(Duration.ZERO)).isEqualTo(10);
        assertThat(books.availableWhenFastBy(ofHours(1))).isEqualTo(10);
        books.take(4).at(ofHours(24).minusMinutes(10).plusMillis(500));
        assertThat(books.availableWhenFastBy(Duration.ZERO)).isEqualTo(6);
        books.take(1).at(ofHours(24).minusMinutes(10).plusSeconds(1));
        assertThat(books.availableWhenFastBy(ofHours(1))).isEqualTo(5);
        assertThat(books.availableWhenFastBy(Duration.ZERO)).isEqualTo(5);
    }

    @Test
    void going_back_to_a_day_nobody_remembers_frees_nothing() {
        FastWall books = new FastWall(daily(10)).at(ofHours(100));
        books.take(5).at(ofHours(101)).take(3);
        assertThat(books.availableWhenFastBy(ofDays(-2))).isEqualTo(2);
    }

    @Test
    void an_hour_whose_half_comes_twice_has_one_quota() {
        Instant at = Instant.parse("2026-04-04T15:01:00Z");
        Books books = new Books(Limit.calendar(3, ChronoUnit.HOURS, ZoneId.of("Australia/Lord_Howe")));
        at(books, Duration.between(Instant.EPOCH, at)).take(3);
        assertThat(books.waitFor(1)).isEqualTo(ofMinutes(29).plusSeconds(1));
        at(books, Duration.between(Instant.EPOCH, at).plusMinutes(20));
        assertThat(books.fits(1)).isFalse();
    }

    @Test
    void a_limit_changed_in_the_second_after_midnight_charges_nothing_to_the_new_day() {
        Books books = at(new Books(daily(5)), ofHours(12));
        books.take(5);
        at(books, ofDays(1).plusMillis(500));
        books.change(daily(6));
        assertThat(books.available()).isEqualTo(1);
        books.take(1);
        at(books, ofDays(1).plusMinutes(1));
        assertThat(books.available()).isEqualTo(5);
    }

    @Test
    void another_unit_changed_to_in_the_second_after_its_turn_opens_on_time() {
        Books books = at(new Books(daily(5)), ofHours(12));
        books.take(5);
        at(books, ofDays(1).plusMillis(500));
        books.change(Limit.calendar(6, ChronoUnit.WEEKS, UTC));
        books.change(Limit.calendar(6, ChronoUnit.HOURS, UTC));
        assertThat(books.available()).isEqualTo(1);
        at(books, ofDays(1).plusSeconds(1));
        assertThat(books.available()).isEqualTo(6);
    }

    @Test
    void keys_joined_in_the_second_after_midnight_charge_nothing_to_the_new_day() {
        long noon = ofHours(12).toNanos();
        long late = ofDays(1).plusMillis(500).toNanos();
        Meter old = Meter.of(daily(5), 0, time -> time / 1_000_000);
        old.take(noon, 4, Phase.HEADED);
        Meter fresh = Meter.of(daily(5), 0, time -> time / 1_000_000);
        fresh.take(late, 1, Phase.HEADED);
        fresh.absorb(late, old);
        assertThat(fresh.available(late)).isZero();
        assertThat(fresh.available(ofDays(1).plusSeconds(1).toNanos())).isEqualTo(4);
    }

    @Test
    void one_zone_by_two_names_is_the_same_calendar() {
        assertThat(Limit.calendar(5, ChronoUnit.DAYS, ZoneId.of("UTC"))).isEqualTo(daily(5));
        Books books = new Books(daily(10));
        books.take(8);
        assertThat(books.change(Limit.calendar(10, ChronoUnit.DAYS, ZoneId.of("UTC")))
                        .available())
                .isEqualTo(2);
    }

    @Test
    void what_was_taken_stays_taken_when_the_unit_or_the_zone_changes() {
        Books books = at(new Books(daily(10)), ofHours(12));
        books.take(8);
        books.change(Limit.calendar(10, ChronoUnit.DAYS, ZoneId.of("Asia/Kolkata")));
        assertThat(books.available()).isEqualTo(2);
        books.change(Limit.calendar(20, ChronoUnit.MONTHS, UTC));
        assertThat(books.available()).isEqualTo(12);
    }

    @Test
    void a_limiter_follows_its_schedulers_clock() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        time.advanceTimeBy(ofDays(20_000).plusHours(22));
        RateLimiter limiter =
                RateLimiter.named("daily").limit(daily(1)).scheduler(() -> time).build();
        assertThat(limiter.tryAcquire().allowed()).isTrue();
        assertThat(limiter.tryAcquire().retryAfter())
                .isBetween(ofHours(2), ofHours(2).plusSeconds(1));
        limiter.acquire(Demand.one()).subscribe();
        time.advanceTimeBy(ofHours(2).plusSeconds(1));
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().root().limits().get(0).available()).isZero();
        time.advanceTimeBy(ofDays(1));
        assertThat(limiter.tryAcquire().allowed()).isTrue();
    }

    @Test
    void a_unit_that_no_calendar_has_is_told_at_once() {
        assertThatThrownBy(() -> Limit.calendar(1, ChronoUnit.SECONDS, UTC)).hasMessageContaining("was Seconds");
        assertThatThrownBy(() -> Limit.calendar(0, ChronoUnit.DAYS, UTC))
                .hasMessageContaining("must be positive, was 0");
        assertThat(Limit.calendar(5, ChronoUnit.MONTHS, UTC)).hasToString("5 requests per month in Z");
        assertThat(daily(4).headroom(0.5).permits()).isEqualTo(2);
    }
}
