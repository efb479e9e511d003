package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How permits stand in a store's books: those granted together, or moved on together, share one. Under the monitor.
 *
 * <pre>
 *   pending ──a call tells it──► told ──its reply──► known
 *                                  └──── it is lost ───► known to stand where they stood before
 * </pre>
 */
final class Standing {

    /** What the store counts a permit by: grants of one place and cost. */
    final Slot slot;

    final Demand demand;
    Phase phase;
    /** When it was granted, on the store's clock. */
    final long grantedAt;
    /** What it moves on from; null once it is known. */
    @Nullable
    Standing from;
    /** Where others move on to together. */
    @Nullable
    Standing to;
    /** How many move, and how many are given back. */
    int moving;

    int returned;
    boolean told;
    /** By unit, what those who move cost more than was asked for. */
    private @Nullable Map<String, Long> movingMore;

    /** When the last of them moved, in limiter time; once known, the store's time of it. */
    long at;

    Standing(Slot slot, Demand demand, Phase phase, long at, @Nullable Standing from) {
        this(slot, demand, phase, at, from == null ? at : from.grantedAt, from);
    }

    private Standing(Slot slot, Demand demand, Phase phase, long at, long grantedAt, @Nullable Standing from) {
        this.slot = slot;
        this.demand = demand;
        this.phase = phase;
        this.at = at;
        this.from = from;
        this.grantedAt = grantedAt;
    }

    /** Of permits that may be kept for so long before anybody wants them: they count as if they were granted at the end of it. */
    static Standing ahead(Slot slot, Demand demand, Phase phase, long grantedAt, long keptNanos) {
        return new Standing(slot, demand, phase, Exact.add(grantedAt, keptNanos), grantedAt, null);
    }

    /** One more moves here, at the cost that it was corrected to; or one fewer. */
    void move(Ticket ticket, int one) {
        moving += one;
        movingMore = more(movingMore, ticket, one);
    }

    /** One that moves here costs so much more than it did. */
    void settle(String unit, long delta) {
        movingMore = movingMore == null ? new HashMap<>(2) : movingMore;
        movingMore.merge(unit, Math.min(delta, Limit.FAR_TOO_MUCH), Exact::add);
    }

    private static @Nullable Map<String, Long> more(@Nullable Map<String, Long> known, Ticket ticket, int one) {
        Map<String, Long> settled = ticket.settled();
        if (settled.isEmpty()) {
            return known;
        }
        Map<String, Long> more = known == null ? new HashMap<>(2) : known;
        settled.forEach((unit, actual) -> {
            long delta = Math.min(actual - ticket.demand.cost(unit), Limit.FAR_TOO_MUCH);
            more.merge(unit, one * delta, Exact::add);
        });
        return more;
    }

    long movingCost(String unit, long cost) {
        long more = movingMore == null ? 0 : movingMore.getOrDefault(unit, 0L);
        return Exact.add(moving * cost, more);
    }

    /** The store knows that they have moved here. */
    void arrived(long storeNanos) {
        at = storeNanos - at;
        from = null;
    }

    /** The store may not have heard of it: they are taken to stand where they stood. */
    void stayed() {
        Standing before = from;
        if (before != null) {
            at = before.at;
            phase = before.phase;
            from = null;
        }
    }
}
