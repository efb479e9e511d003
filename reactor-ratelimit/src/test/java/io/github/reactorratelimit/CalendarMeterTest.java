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
