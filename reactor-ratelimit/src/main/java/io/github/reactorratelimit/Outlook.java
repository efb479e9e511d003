package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/**
 * What a path of nodes says to a demand, and which limit decides: the one that refuses longest, or else the one with the
 * least left. Holds the figures of its last look, under the monitor, so that a look costs no memory.
 */
final class Outlook {

    @Nullable
    Limit limit;
    /** What that limit has left after the demand, or has now if it refuses. */
    long remaining;
    /** When the demand fits as far as the clock decides. */
    long readyAt;
    /** When that limit is full again. */
    long fullAt;

    /** Looks at every meter of a path; whether the demand fits now. */
    boolean look(long now, Node leaf, Demand demand, int lane) {
        limit = null;
        remaining = Long.MAX_VALUE;
        readyAt = now;
        fullAt = now;
        for (Node node = leaf; node != null; node = node.parent) {
            look(now, node.meters.each, demand);
            look(now, node.shares[lane].each, demand);
            if (node.learned != null) {
                look(now, node.learned.meters(), demand);
                look(now, node.learned.shares(lane).each, demand);
            }
            if (node.ramp != null) {
                closed(now, node.ramp.readyAt(now));
            }
            closed(now, Math.max(node.shutUntil(now, demand), node.shareShutUntil(lane)));
        }
        return readyAt <= now;
    }

    /** No limit decides, but the key itself is closed until {@code open}. */
    private void closed(long now, long open) {
        if (open > readyAt || (open > now && open == readyAt && remaining > 0)) {
            readyAt = open;
            fullAt = readyAt;
            limit = null;
            remaining = 0;
        }
    }

    private void look(long now, Meter[] meters, Demand demand) {
        for (Meter meter : meters) {
            long cost = demand.costFor(meter);
            long at = meter.canEver(cost) ? meter.readyAt(now, cost) : Exact.NEVER;
            if (cost == 0 && at <= now) {
                continue; // It has no say, though a quota of which nothing is left by the server's word lets nobody by.
            }
            long available = meter.available(now);
            long left = at <= now ? available - cost : available;
            if (at > readyAt || (at == readyAt && left < remaining)) {
                readyAt = at;
                remaining = left;
                limit = meter.limit;
                fullAt = meter.fullAt(now);
            }
        }
    }

    /** How long until the deciding limit is full again. */
    long fullAfter(long now) {
        return fullAt == Exact.NEVER ? Exact.NEVER : Math.max(0, fullAt - now);
    }

    /** When a demand fits behind {@code ahead} requests of its own line, at the earliest. */
    static long expectedAt(long now, Node leaf, Demand demand, int lane, long ahead) {
        long at = now;
        for (Node node = leaf; node != null; node = node.parent) {
            at = Math.max(at, node.expectedAt(now, demand, lane, ahead));
        }
        return at;
    }

    static long readyAt(long now, Node leaf, Demand demand, int lane) {
        long at = now;
        for (Node node = leaf; node != null; node = node.parent) {
            at = Math.max(at, node.readyAt(now, demand, lane));
        }
        return at;
    }

    /** A limit of the path that could never pass this demand, or null. */
    static @Nullable Limit forbids(Node leaf, Demand demand, int lane) {
        for (Node node = leaf; node != null; node = node.parent) {
            Limit limit = node.forbids(demand, lane);
            if (limit != null) {
                return limit;
            }
        }
        return null;
    }

    /** The broadest key of the path whose breaker is open, resting or on trial; null if there is none. */
    static @Nullable Node broken(Node leaf) {
        Node broken = null;
        for (Node node = leaf; node != null; node = node.parent) {
            broken = node.breaker != null && node.breaker.isOpen() ? node : broken;
        }
        return broken;
    }
}
