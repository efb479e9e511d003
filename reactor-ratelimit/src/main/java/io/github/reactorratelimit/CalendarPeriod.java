package io.github.reactorratelimit;

import java.time.DayOfWeek;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalAdjusters;
import java.util.Locale;
import java.util.Objects;

/** The days, months and so on of a time zone, as spans between instants. */
record CalendarPeriod(ChronoUnit unit, ZoneId zone) {

    static CalendarPeriod of(ChronoUnit unit, ZoneId zone) {
        Objects.requireNonNull(zone, "zone");
        return switch (unit) {
            case MINUTES, HOURS, DAYS, WEEKS, MONTHS, YEARS -> new CalendarPeriod(unit, zone);
            default ->
                throw new IllegalArgumentException(
                        "a calendar limit must count by minutes, hours, days, weeks, months or years, was " + unit);
        };
    }

    /** When the period that holds an instant began. */
    long startMillis(long wallMillis) {
        ZonedDateTime time = Instant.ofEpochMilli(wallMillis).atZone(zone);
        return switch (unit) {
            case MINUTES, HOURS -> time.truncatedTo(unit).toInstant().toEpochMilli();
            default -> start(time.toLocalDate());
        };
    }

    private long start(LocalDate day) {
        LocalDate first = switch (unit) {
            case WEEKS -> day.with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY));
            case MONTHS -> day.withDayOfMonth(1);
            case YEARS -> day.withDayOfYear(1);
            default -> day;
        };
        return first.atStartOfDay(zone).toInstant().toEpochMilli();
    }

    /** When the period begins that comes so many after the one that begins at {@code startMillis}. */
    long laterMillis(long startMillis, long periods) {
        ZonedDateTime start = Instant.ofEpochMilli(startMillis).atZone(zone);
        return switch (unit) {
            case MINUTES, HOURS -> start.plus(periods, unit).toInstant().toEpochMilli();
            default -> start(start.toLocalDate().plus(periods, unit));
        };
    }

    @Override
    public String toString() {
        String name = unit.name().toLowerCase(Locale.ROOT);
        return name.substring(0, name.length() - 1) + " in " + zone;
    }
}
