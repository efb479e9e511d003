package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import java.util.function.LongUnaryOperator;

/**
 * So many per day or month of a calendar. It turns a second late, and what was taken within the second before the turn, or
 * since, counts in the new period too. Where the clock on the wall goes back over a turn, nothing that was taken is free
 * again: what was taken in the two periods counts in both.
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
    /** What of it was taken before the turn too. */
    private long carried;
    /** The period that was left last, before or after this one, with what was used in it. */
    private long leftMillis = Long.MIN_VALUE;

    private long leftUsed;
    /** Since when what was taken counted in it, in limiter time. */
    private long leftSince;
    /** When it was left, in limiter time. */
    private long leftAt;

    CalendarMeter(Limit limit, LongUnaryOperator wall) {
        super(limit);
        this.permits = limit.permits();
        this.calendar = limit.calendar();
        this.wall = wall;
    }

    /** Begins the period that holds {@code inMillis}. */
    private void begin(long now, long wallMillis, long inMillis) {
        startMillis = calendar.startMillis(inMillis);
        endMillis = calendar.laterMillis(startMillis, 1);
        countsSince = Exact.subtract(now, Exact.floorDiv(wallMillis - startMillis, NANOS_PER_MILLI, 0, 1));
        countsSince = Exact.subtract(countsSince, TRANSIT_NANOS);
    }

    private void advance(long now) {
        long wallMillis = wall.applyAsLong(now);
        if (wallMillis >= startMillis && wallMillis < endMillis + MARGIN_MILLIS) {
            return;
        }
        if (endMillis == Long.MIN_VALUE) {
            begin(now, wallMillis, wallMillis);
            return;
        }
        boolean back = wallMillis < startMillis;
        long left = startMillis;
        long usedThere = used;
        long since = countsSince;
        begin(now, wallMillis, back ? wallMillis : wallMillis - MARGIN_MILLIS);
        boolean known = startMillis == leftMillis;
        long before = known ? leftUsed : 0;
        if (back) {
            used = Math.max(used, Exact.add(before, used - carried));
        } else {
            used = Exact.add(before, takenSince(known ? Math.max(countsSince, leftAt) : countsSince));
            carried = used;
        }
        leftMillis = left;
        leftUsed = usedThere;
        leftSince = since;
        leftAt = now;
    }

    private long takenSince(long time) {
        long taken = 0;
        for (int i = 0; i < recent.size(); i++) {
            if (recent.time(i) >= time) {
                taken = Exact.add(taken, recent.amount(i));
            }
        }
        return taken;
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
        enter(now, cost);
        used = Exact.add(used, cost);
    }

    private void enter(long now, long cost) {
        forget(now);
        recent.append(now, cost);
    }

    private void forget(long now) {
        while (recent.size() > 0 && !isRecent(now, recent.time(0))) {
            recent.removeFirst();
        }
    }

    private static boolean isRecent(long now, long time) {
        return now - time <= 2 * TRANSIT_NANOS;
    }

    /** What was granted before the turn and is sent after it counts after it, and what is sent just before on both sides. */
    @Override
    void moved(long now, long cost, Phase from, long since, long sentAt, Phase to) {
        advance(now);
        if (from != Phase.UNSENT || cost == 0) {
            return;
        }
        recent.adjust(since, -cost);
        if (since < countsSince) {
            count(now, cost);
        } else {
            enter(now, cost);
        }
    }

    @Override
    void settle(long now, long delta, Booking booking) {
        advance(now);
        long counted = booking.countsFrom();
        if (counted >= countsSince) {
            used = Math.max(0, Exact.add(used, delta));
        }
        if (counted >= leftSince && counted < leftAt) {
            leftUsed = Math.max(0, Exact.add(leftUsed, delta)); // The clock may go back there.
        }
        forget(now);
        if (isRecent(now, counted)) {
            recent.adjust(counted, delta);
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

    /** Books of another calendar tell what was taken lately: for want of better it all counts in this period. */
    @Override
    void adopt(long now, Meter old) {
        if (!(old instanceof CalendarMeter other)) {
            return;
        }
        other.advance(now);
        if (other.calendar.equals(calendar)) {
            enterPeriodOf(other);
            leftMillis = other.leftMillis;
            leftUsed = other.leftUsed;
            leftSince = other.leftSince;
            leftAt = other.leftAt;
        } else {
            long wallMillis = wall.applyAsLong(now);
            begin(now, wallMillis, wallMillis - MARGIN_MILLIS);
        }
        recent = recent.with(other.recent);
        used = other.used;
        carried = other.carried;
    }

    private void enterPeriodOf(CalendarMeter other) {
        startMillis = other.startMillis;
        endMillis = other.endMillis;
        countsSince = other.countsSince;
    }

    @Override
    void absorb(long now, Meter other) {
        if (other instanceof CalendarMeter calendarOther) {
            advance(now);
            calendarOther.advance(now);
            // One that was first asked after the turn is ahead of one that turns a second late.
            if (calendarOther.calendar.equals(calendar) && calendarOther.startMillis < startMillis) {
                enterPeriodOf(calendarOther);
            }
            recent = recent.with(calendarOther.recent);
            used = Exact.add(used, calendarOther.used);
            carried = Exact.add(carried, calendarOther.carried);
            if (calendarOther.leftMillis == leftMillis) {
                leftUsed = Exact.add(leftUsed, calendarOther.leftUsed);
                leftSince = Math.min(leftSince, calendarOther.leftSince);
            }
        }
    }
}
