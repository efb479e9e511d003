package io.github.reactorratelimit;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** What a store is known to refuse at one key, and until when: all of it, what costs too much, or a lane's share. */
final class StoreGate {

    /** Until then it refuses demands of this cost and more in this unit, all of them without a unit. */
    private long closedUntil = Long.MIN_VALUE;

    private @Nullable String unit;
    private long cost;
    /** Per lane, until when it refuses its share. */
    private final long[] sharesUntil;

    StoreGate(int lanes) {
        sharesUntil = new long[lanes];
        Arrays.fill(sharesUntil, Long.MIN_VALUE);
    }

    /** It refused such a demand, by this limit if it told by which. */
    void close(long until, Demand demand, @Nullable Limit limit) {
        closedUntil = until;
        unit = limit == null ? null : limit.unit();
        cost = limit == null ? 0 : demand.cost(limit.unit());
    }

    void closeShare(long until, int lane) {
        sharesUntil[lane] = until;
    }

    /** In the past if it may grant this demand. */
    long closedUntil(long now, Demand demand) {
        boolean closed = closedUntil > now && (unit == null || demand.cost(unit) >= cost);
        return closed ? closedUntil : Long.MIN_VALUE;
    }

    long shareClosedUntil(int lane) {
        return sharesUntil[lane];
    }
}
