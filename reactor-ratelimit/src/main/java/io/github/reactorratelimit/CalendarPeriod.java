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
            case MINUTES, HOURS, DAYS, WEEKS, MONTHS, YEARS -> new CalendarPeriod(unit, zone.normalized());
            default ->
                throw new IllegalArgumentException(
                        "a calendar limit must count by minutes, hours, days, weeks, months or years, was " + unit);
        };
    }

    /** When the period that holds an instant began. */
    long startMillis(long wallMillis) {
        long start =
                Math.min(wallMillis, localStart(Instant.ofEpochMilli(wallMillis).atZone(zone)));
        // Where clocks go back over a turn, the period before it is over for all that.
        for (long next = laterMillis(start, 1); next <= wallMillis; next = laterMillis(next, 1)) {
            start = next;
        }
        return start;
    }

    private long localStart(ZonedDateTime time) {
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

    /** When the period begins that comes so many after the one that begins at {@code startMillis}; never before that. */
    long laterMillis(long startMillis, long periods) {
        ZonedDateTime start = Instant.ofEpochMilli(startMillis).atZone(zone);
        long later = localStart(start.plus(periods, unit));
        // An hour of which clocks repeat a part lasts that much longer.
        for (long more = periods + 1; later <= startMillis; more++) {
            later = localStart(start.plus(more, unit));
        }
        return later;
    }

    @Override
    public String toString() {
        String name = unit.name().toLowerCase(Locale.ROOT);
        return name.substring(0, name.length() - 1) + " in " + zone;
    }
}
