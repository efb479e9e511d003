package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Booking.Phase;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A spend limit by the calendar, and calls that tell what they cost on the other side of an edge. */
class CalendarSettleTest {

    private static final long DOLLARS = 1_000;

    /** Books whose limiter began at some instant, and whose wall may be set. */
    private static final class Wall {

        private final Meter meter;
        private final Instant start;
        private Duration set = Duration.ZERO;
        private long now;

        Wall(ChronoUnit unit, String zone, Instant start) {
            this.start = start;
            Limit limit = Limit.calendar(DOLLARS, unit, ZoneId.of(zone)).unit(PriceTable.UNIT);
            meter = Meter.of(limit, 0, time -> start.plusNanos(time).plus(set).toEpochMilli());
        }

        Wall at(Instant instant) {
            now = Duration.between(start, instant).toNanos();
            return this;
        }

        Wall set(Duration by) {
            set = by;
            return this;
        }

        long left() {
            return meter.available(now);
        }

        Call take(long cost) {
            assertThat(meter.readyAt(now, cost)).isEqualTo(now);
            return new Call(this, cost);
        }
    }

    private static final class Call extends Booking {

        private final Wall wall;
        private final long cost;

        Call(Wall wall, long cost) {
            this.wall = wall;
            this.cost = cost;
            phase = Phase.HEADED;
            at = wall.now;
            sentAt = wall.now;
            wall.meter.take(wall.now, cost, phase);
        }

        void settle(long actual) {
            wall.meter.settle(wall.now, actual - cost, this);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "DAYS, UTC, 2026-03-15T00:00:00Z",
        "DAYS, Europe/Berlin, 2026-03-28T23:00:00Z", // a day of 23 hours begins
        "DAYS, Europe/Berlin, 2026-03-29T22:00:00Z", // and ends
        "DAYS, Europe/Berlin, 2026-10-24T22:00:00Z", // one of 25 hours
        "DAYS, Europe/Berlin, 2026-10-25T23:00:00Z",
        "DAYS, America/Sao_Paulo, 2018-11-04T03:00:00Z", // begins at one o'clock
        "DAYS, Asia/Kolkata, 2026-06-30T18:30:00Z", // half an hour
        "DAYS, Asia/Kathmandu, 2026-06-30T18:15:00Z", // three quarters
        "DAYS, Australia/Lord_Howe, 2026-04-04T13:00:00Z", // clocks go back by half an hour on this one
        "DAYS, Australia/Lord_Howe, 2026-04-05T13:30:00Z",
        "DAYS, UTC, 2028-02-29T00:00:00Z",
        "DAYS, UTC, 2028-03-01T00:00:00Z",
        "MONTHS, UTC, 2028-03-01T00:00:00Z", // after the 29th of February
        "MONTHS, UTC, 2026-03-01T00:00:00Z",
        "MONTHS, UTC, 2026-05-01T00:00:00Z",
        "MONTHS, America/New_York, 2026-04-01T04:00:00Z", // a month with a change of clocks
        "MONTHS, America/New_York, 2026-12-01T05:00:00Z",
        "MONTHS, Asia/Kolkata, 2027-12-31T18:30:00Z",
    })
    void what_a_call_of_before_cost_is_no_business_of_the_new_period(ChronoUnit unit, String zone, Instant turn) {
        for (long actual : new long[] {0, 40, 700, 1_000_000}) {
            Wall wall = new Wall(unit, zone, turn.minus(Duration.ofDays(3)));
            Call before = wall.at(turn.minus(ofMinutes(90))).take(100);
            assertThat(wall.at(turn.minusSeconds(2)).left()).isEqualTo(900);
            wall.at(turn.plusSeconds(1));
            assertThat(wall.left()).as("it has turned").isEqualTo(1_000);
            Call after = wall.at(turn.plusSeconds(60)).take(300);
            before.settle(actual);
            assertThat(wall.left()).as("after %s", actual).isEqualTo(700);
            after.settle(20);
            assertThat(wall.left()).isEqualTo(980);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "DAYS, Europe/Berlin, 2026-03-28T23:00:00Z, 23",
        "DAYS, Europe/Berlin, 2026-10-24T22:00:00Z, 25",
        "DAYS, America/Sao_Paulo, 2018-11-04T03:00:00Z, 23",
        "DAYS, UTC, 2028-02-29T00:00:00Z, 24",
        "MONTHS, UTC, 2028-02-01T00:00:00Z, 696", // 29 days
        "MONTHS, UTC, 2027-02-01T00:00:00Z, 672",
        "MONTHS, Europe/Berlin, 2026-02-28T23:00:00Z, 743",
        "MONTHS, Europe/Berlin, 2026-09-30T22:00:00Z, 745",
    })
    void a_period_is_as_long_as_it_is_there(ChronoUnit unit, String zone, Instant from, long hours) {
        Wall wall = new Wall(unit, zone, from.minusSeconds(3_600));
        wall.at(from.plusSeconds(2)).take(1_000).settle(1_500);
        Instant end = from.plusSeconds(hours * 3_600);
        assertThat(wall.meter.readyAt(wall.now, 1)).isEqualTo(wall.at(end.plusSeconds(1)).now);
        assertThat(wall.at(end.plusMillis(999)).left()).isEqualTo(-500);
        assertThat(wall.at(end.plusSeconds(1)).left())
                .as("a debt ends with its period")
                .isEqualTo(1_000);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 100, 900})
    void a_call_of_the_day_that_the_clock_goes_back_to_counts_with_what_it_really_cost(long actual) {
        Instant midnight = Instant.parse("2026-06-10T00:00:00Z");
        Wall wall = new Wall(ChronoUnit.DAYS, "UTC", midnight.minusSeconds(40_000));
        Call before = wall.at(midnight.minusSeconds(600)).take(500);
        wall.at(midnight.plusSeconds(60)).take(10);
        before.settle(actual);
        assertThat(wall.left()).isEqualTo(990);
        wall.at(midnight.plusSeconds(70)).set(ofMinutes(-5));
        long used = actual + 10;
        assertThat(wall.left()).as("back on the day before").isEqualTo(1_000 - used);
        wall.set(Duration.ZERO).at(midnight.plusSeconds(400));
        assertThat(wall.left()).as("and on the new one again").isEqualTo(990);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 100, 900})
    void a_call_of_the_day_that_the_clock_will_come_to_again_counts_there_with_what_it_really_cost(long actual) {
        Instant midnight = Instant.parse("2026-06-10T00:00:00Z");
        Wall wall = new Wall(ChronoUnit.DAYS, "UTC", midnight.minusSeconds(40_000));
        wall.at(midnight.minusSeconds(600)).take(10);
        Call early = wall.at(midnight.plusSeconds(60)).take(500);
        assertThat(wall.set(ofMinutes(-5)).at(midnight.plusSeconds(70)).left()).isEqualTo(490);
        early.settle(actual);
        assertThat(wall.left()).isEqualTo(990 - actual);
        assertThat(wall.set(Duration.ZERO).at(midnight.plusSeconds(80)).left()).isEqualTo(1_000 - actual);
    }

    @Test
    void a_call_of_a_day_long_gone_changes_none_that_the_clock_knows() {
        Instant midnight = Instant.parse("2026-06-10T00:00:00Z");
        Wall wall = new Wall(ChronoUnit.DAYS, "UTC", midnight.minus(Duration.ofDays(3)));
        Call before = wall.at(midnight.minus(Duration.ofDays(2))).take(500);
        wall.at(midnight.minusSeconds(600)).take(50);
        wall.at(midnight.plusSeconds(60)).take(10);
        before.settle(900);
        wall.set(ofMinutes(-5));
        assertThat(wall.left()).isEqualTo(940);
    }

    @Test
    void a_call_right_before_the_edge_is_corrected_on_both_sides_of_it() {
        Instant turn = Instant.parse("2026-10-31T23:00:00Z"); // a month in Berlin, after the clocks went back
        for (long actual : new long[] {0, 400}) {
            Wall wall = new Wall(ChronoUnit.MONTHS, "Europe/Berlin", turn.minus(Duration.ofDays(20)));
            Call call = wall.at(turn.minusMillis(400)).take(100);
            wall.at(turn.plusMillis(900));
            assertThat(wall.left()).isEqualTo(900);
            wall.at(turn.plusMillis(1_500));
            assertThat(wall.left()).as("it may have arrived in the new month").isEqualTo(900);
            call.settle(actual);
            assertThat(wall.left()).isEqualTo(1_000 - actual);
            assertThat(wall.at(turn.plus(ofMinutes(150))).left()).isEqualTo(1_000 - actual);
        }
    }
}
