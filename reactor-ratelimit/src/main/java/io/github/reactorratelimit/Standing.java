package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import org.jspecify.annotations.Nullable;

/**
 * How permits stand in a store's books: those granted together, or moved on together, share one. Under the monitor.
 *
 * <pre>
 *   pending ──a call tells it──► told ──its reply──► known
 * </pre>
 */
final class Standing {

    /** What the store counts a permit by: grants of one place and cost. */
    final Slot slot;

    final Demand demand;
    final Phase phase;
    /** What it moves on from; null once it is known. */
    @Nullable
    Standing from;
    /** Where others move on to together. */
    @Nullable
    Standing to;
    /** How many move; and how many are given back. */
    int moving;

    int returned;
    boolean told;
    /** When the last of them moved, in limiter time; once known, the store's time of it. */
    long at;

    Standing(Slot slot, Demand demand, Phase phase, long at, @Nullable Standing from) {
        this.slot = slot;
        this.demand = demand;
        this.phase = phase;
        this.at = at;
        this.from = from;
    }

    boolean isKnown() {
        return from == null;
    }
}
