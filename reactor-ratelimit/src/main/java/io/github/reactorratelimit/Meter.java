package io.github.reactorratelimit;

import java.util.function.LongUnaryOperator;

/**
 * The books of one limit for one key: a pure function of (state, now, cost), without clock, lock or queue. Times are
 * limiter nanoseconds and never run backwards.
 */
abstract class Meter {

    final Limit limit;
    /** Costs are looked up by it at every decision; the common one is worth a flag. */
    final boolean countsRequests;
    /** The limiter's generation when these books were opened: earlier permits don't stand in them. */
    long since;

    Meter(Limit limit) {
        this.limit = limit;
        this.countsRequests = limit.unit().equals(Limit.REQUESTS);
    }

    /**
     * The books of {@code limit}, as they are when nothing was taken yet.
     *
     * @param wall from limiter time to the clock on the wall, in milliseconds since the epoch
     */
    static Meter of(Limit limit, long now, LongUnaryOperator wall) {
        return switch (limit.kind()) {
            case WINDOW -> limit.burstPermits() > 0 ? new SpacedWindowMeter(limit) : new WindowMeter(limit);
            case BUCKET -> new BucketMeter(limit, now);
            case IN_FLIGHT -> new InFlightMeter(limit);
            case TOTAL -> new TotalMeter(limit);
            case CALENDAR -> new CalendarMeter(limit, wall);
            case LEARNED -> throw new IllegalArgumentException("what is learned is configured nowhere: " + limit);
        };
    }

    /** Books of the same limit in which nothing stands yet. */
    Meter anew(long now) {
        return of(limit, now, time -> {
            throw new IllegalStateException("only a calendar looks at the wall");
        });
    }

    /** Whether a permit stands in these books, so that what becomes of it is their business. */
    boolean knows(Booking permit) {
        return permit.generation >= since;
    }

    /** Whether a demand of this cost can ever pass. */
    boolean canEver(long cost) {
        return cost <= limit.permits();
    }

    /**
     * When {@code cost} fits: {@code now} if it does, a later time if only the clock has to move, {@link Exact#NEVER} if
     * something else has to happen first. Changes nothing that can be observed.
     */
    abstract long readyAt(long now, long cost);

    /**
     * A lower bound of {@link #readyAt} for one of {@code cost} that stands behind {@code ahead} others of this unit, unless
     * permits are given back unused.
     */
    abstract long expectedAt(long now, long ahead, long cost);

    /** Takes {@code cost}. The caller has asked {@link #readyAt}; settling and changed limits may still leave a debt. */
    abstract void take(long now, long cost, Booking.Phase phase);

    /** The permit went on from {@code from}, whose phase began at {@code since}, to {@code to}. */
    void moved(long now, long cost, Booking.Phase from, long since, long sentAt, Booking.Phase to) {}

    /** Corrects the cost of a permit by {@code delta}. */
    abstract void settle(long now, long delta, Booking booking);

    /** Takes a permit back that was never used. */
    abstract void refund(long now, long cost, Booking booking);

    /** The attempt ended: what it held only while it ran is free again. */
    void release(long cost) {}

    /** What could be taken now; negative for a debt. */
    abstract long available(long now);

    /** When the books are full again if nothing more is taken; {@link Exact#NEVER} if that is not a matter of time. */
    abstract long fullAt(long now);

    /** From {@code from} until {@code until} no credit accrues. */
    void stop(long from, long until) {}

    /** Goes on from the books of {@code old}, a limit that this one replaces. */
    abstract void adopt(long now, Meter old);

    /** Enters what stands in the books of {@code other} too, which is {@linkplain #isLike like} this one and not changed. */
    abstract void absorb(long now, Meter other);

    /** Permits granted so far are not told of any more: what would wait for their end ends now. */
    void disown(long now) {}

    /** Whether the books of another limit tell of the same: of what was taken, in the same unit and the same way. */
    boolean isLike(Meter other) {
        return limit.kind() == other.limit.kind()
                && limit.unit().equals(other.limit.unit())
                && limit.isStrict() == other.limit.isStrict();
    }
}
