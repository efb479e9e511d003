package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import java.util.function.LongUnaryOperator;

/**
 * So many per day or month of a calendar. It turns a second late, and what was taken within the second before the turn, or
 * since, counts in the new period too.
 */
final class CalendarMeter extends Meter {

    private static final long TRANSIT_NANOS = WindowMeter.TRANSIT_NANOS;
    private static final long MARGIN_MILLIS = 1_000;
    private static final long FARTHEST_PERIOD = 1_000;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final long permits;
    private final CalendarPeriod calendar;
    /** From limiter time to the clock on the wall, in milliseconds. */
    private final LongUnaryOperator wall;
    /** What was taken lately, and may be seen by the server on the other side of a turn. */
    private Ledger recent = new Ledger(0);

    private long startMillis;
    /** Before any time as long as nobody asked. */
    private long endMillis = Long.MIN_VALUE;
    /** Since when what is taken counts in this period, in limiter time. */
    private long countsSince;

    private long used;

    CalendarMeter(Limit limit, LongUnaryOperator wall) {
        super(limit);
        this.permits = limit.permits();
        this.calendar = limit.calendar();
        this.wall = wall;
    }

    private void begin(long wallMillis) {
        startMillis = calendar.startMillis(wallMillis);
        endMillis = calendar.laterMillis(startMillis, 1);
    }

    private void advance(long now) {
        long wallMillis = wall.applyAsLong(now);
        if (wallMillis >= startMillis && wallMillis < endMillis + MARGIN_MILLIS) {
            return;
        }
        boolean turned = endMillis != Long.MIN_VALUE && wallMillis >= endMillis;
        begin(turned ? wallMillis - MARGIN_MILLIS : wallMillis);
        countsSince = Exact.subtract(now, Exact.floorDiv(wallMillis - startMillis, NANOS_PER_MILLI, 0, 1));
        countsSince = Exact.subtract(countsSince, TRANSIT_NANOS);
        while (recent.size() > 0 && recent.time(0) < countsSince) {
            recent.removeFirst();
        }
        used = 0;
        for (int i = 0; i < recent.size(); i++) {
            used = Exact.add(used, recent.amount(i));
        }
    }

    @Override
    Meter anew(long now) {
        return new CalendarMeter(limit, wall);
    }

    @Override
    long readyAt(long now, long cost) {
        advance(now);
        return cost == 0 || cost <= permits - used ? now : turnAt(now, 1);
    }

    /** When the period opens that comes so many after this one. */
    private long turnAt(long now, long periods) {
        long turn = periods == 1 ? endMillis : calendar.laterMillis(startMillis, Math.min(periods, FARTHEST_PERIOD));
        long left = Exact.subtract(Exact.add(turn, MARGIN_MILLIS), wall.applyAsLong(now));
        return Exact.add(now, Exact.floorDiv(Math.max(1, left), NANOS_PER_MILLI, 0, 1));
    }

    @Override
    long expectedAt(long now, long ahead, long cost) {
        advance(now);
        long total = Exact.add(ahead, cost);
        long free = Math.max(0, permits - used);
        return total <= free ? now : turnAt(now, (total - free - 1) / permits + 1);
    }

    @Override
    void take(long now, long cost, Phase phase) {
        advance(now);
        count(now, cost);
    }

    private void count(long now, long cost) {
        while (recent.size() > 0 && now - recent.time(0) > 2 * TRANSIT_NANOS) {
            recent.removeFirst();
        }
        recent.append(now, cost);
        used = Exact.add(used, cost);
    }

    /** What was granted before the turn and is sent after it counts after it. */
    @Override
    void moved(long now, long cost, Phase from, long since, long sentAt, Phase to) {
        advance(now);
        if (from == Phase.UNSENT && since < countsSince && cost > 0) {
            count(now, cost);
        }
    }

    @Override
    void settle(long now, long delta, Booking booking) {
        advance(now);
        long counted = booking.phase == Phase.UNSENT ? booking.at : booking.sentAt;
        if (counted >= countsSince) {
            used = Math.max(0, Exact.add(used, delta));
        }
    }

    @Override
    void refund(long now, long cost, Booking booking) {
        settle(now, -cost, booking);
    }

    @Override
    long available(long now) {
        advance(now);
        return permits - used;
    }

    @Override
    long fullAt(long now) {
        advance(now);
        return used == 0 ? now : turnAt(now, 1);
    }

    @Override
    void adopt(long now, Meter old) {
        if (old instanceof CalendarMeter other && other.calendar.equals(calendar)) {
            absorb(now, other);
            countsSince = other.countsSince;
        }
    }

    @Override
    void absorb(long now, Meter other) {
        if (other instanceof CalendarMeter calendarOther) {
            advance(now);
            calendarOther.advance(now);
            recent = recent.with(calendarOther.recent);
            used = Exact.add(used, calendarOther.used);
        }
    }
}
