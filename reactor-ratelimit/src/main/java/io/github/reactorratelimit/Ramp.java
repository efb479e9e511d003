package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/**
 * How a scope that was refused opens again: one at a time, then 2, 4, 8 … as answers come back clean, until the normal
 * limits are the bound, or nobody is held up any more. A usage figure narrows it the same way before anybody is refused.
 *
 * <pre>
 *         refused, or a usage figure              as wide as the limits
 *   OFF ─────────────────────────────► NARROW ────────────────────────────► OFF
 *                                        │  ▲
 *       no limit is known: as wide as     ▼  │ refused
 *       half of what was refused last   STEADY, widening slowly
 * </pre>
 *
 * An attempt keeps its place until it ends, whatever its end. A permit of whose end nobody has to tell, and that is not
 * heard of within the attempt timeout, is taken for answered.
 */
final class Ramp {

    static final long LEASE_NANOS = 20_000_000_000L;
    /** From here on the usage figure of a server counts. */
    static final double USED = 0.8;

    private static final int STEADY_ROUNDS = 64;
    private static final long MOST = 1L << 20;
    private static final Ledger NOTHING = new Ledger(0);

    private final Node node;
    private boolean on;
    /** Permits of earlier generations have no place in it. */
    private long since;

    private long width;
    /** Clean answers at this width. */
    private long clean;

    /** At this width somebody may have been held up. */
    private boolean full;

    private long attempts;
    /** Those of whose end nobody has to tell, by their grant. */
    private Ledger bare = NOTHING;
    /** The first answer decides whether there is anything to learn. */
    private boolean asks;
    /** What refusals taught where no limit is known. */
    private long ceiling = Exact.NEVER;

    private boolean steady;
    /** How many may be out by the last usage figure. */
    private long usageCap = Exact.NEVER;
    /** How many were out when the first figure came. */
    private long usageBase;
    /** A usage figure started it, so it ends where it began. */
    private boolean slowed;
    /** A store widens it: clean answers are counted here until they are told there. */
    private boolean followed;
    /** The last usage figure that wasn't told to a store; -1 for none. */
    private int usageToTell = -1;

    Ramp(Node node) {
        this.node = node;
    }

    boolean isOn() {
        return on;
    }

    /** Before anything is known of this key one permit finds out. */
    void begin(long generation, boolean learns) {
        start(generation, 1);
        asks = learns;
    }

    /** Its key was refused, and begins anew when it opens. */
    void refused(long now, long generation) {
        advance(now);
        long were = out();
        if (on && were > 1) {
            ceiling = Math.max(1, were / 2);
        }
        start(generation, 1);
    }

    private void start(long generation, long wide) {
        on = true;
        since = generation;
        width = wide;
        clean = 0;
        full = false;
        attempts = 0;
        bare = NOTHING;
        asks = false;
        steady = false;
        slowed = false;
        followed = false;
        usageCap = Exact.NEVER;
    }

    // ------------------------------------------------------------------------------------------- shared by processes

    /** As wide as a store says, which widens it from now on; open if that is as wide as its limits. */
    void follow(long now, long wide, Generations generations) {
        advance(now);
        if (wide == 0 && followed) {
            followed = false;
            end();
        } else if (wide > 0) {
            if (!on) {
                start(generations.next(), wide);
            }
            if (!followed) {
                clean = 0;
            }
            followed = true;
            width = Math.min(wide, usageCap);
        }
    }

    boolean isFollowed() {
        return on && followed;
    }

    /** The store is out of order: it goes on by its own answers. */
    void followNoMore() {
        followed = false;
    }

    /** Whether a store is to be told something. */
    boolean hasNews() {
        return isFollowed() || usageToTell >= 0;
    }

    long outNow(long now) {
        advance(now);
        return out();
    }

    long takeClean() {
        long taken = followed ? clean : 0;
        clean -= taken;
        return taken;
    }

    /** The last usage figure that wasn't told yet, per mille, once; -1 for none. */
    int takeUsage() {
        int told = usageToTell;
        usageToTell = -1;
        return told;
    }

    /** Another process was told how full the scope is: this one slows down as much. */
    void usedElsewhere(long now, double usage, Generations generations) {
        used(now, usage, null, generations.current(), generations);
        usageToTell = -1;
    }

    // --------------------------------------------------------------------------------------------- in this process

    /** Another key counts here from now on: as narrow as the narrower of the two, and nobody out has a place. */
    void absorb(@Nullable Ramp other, long generation) {
        if (other != null) {
            width = on ? Math.min(width, other.width) : other.width;
            ceiling = Math.min(ceiling, other.ceiling);
            usageBase = on ? Math.max(usageBase, other.usageBase) : other.usageBase;
            slowed = on ? slowed && other.slowed : other.slowed;
            asks = on ? asks && other.asks : other.asks;
            steady = on ? steady && other.steady : other.steady;
            usageCap = Exact.NEVER;
            on = true;
        }
        since = generation;
        clean = 0;
        attempts = 0;
        bare = NOTHING;
    }

    /** It is open, whatever it was. */
    void stop() {
        on = false;
        usageCap = Exact.NEVER;
        ceiling = Exact.NEVER;
    }

    private void end() {
        on = false;
        node.gate.waves = 0;
    }

    private boolean has(long generation) {
        return on && generation >= since;
    }

    long readyAt(long now) {
        advance(now);
        if (!on || out() < width) {
            return now;
        }
        return bare.size() > 0 ? bare.time(0) + LEASE_NANOS : Exact.NEVER;
    }

    private long out() {
        long count = attempts;
        for (int i = 0; i < bare.size(); i++) {
            count += bare.amount(i);
        }
        return count;
    }

    /** What nobody tells of is over now. */
    private void advance(long now) {
        while (bare.size() > 0 && now - bare.time(0) >= LEASE_NANOS) {
            long answered = bare.amount(0);
            bare.removeFirst();
            for (long i = 0; i < answered && on; i++) {
                silent();
            }
        }
    }

    void take(long now, boolean isBare) {
        advance(now);
        if (!on) {
            return;
        }
        if (isBare) {
            bare = bare == NOTHING ? new Ledger(0) : bare;
            bare.append(now, 1);
        } else {
            attempts++;
        }
        full |= out() >= width;
    }

    /** A permit ended. For one that nobody else tells of, this is the answer, unless one was heard before. */
    void release(long now, Ticket ticket, boolean isAnswer) {
        advance(now);
        if (!has(ticket.generation)) {
            return;
        }
        if (ticket.tells() != Ticket.Tells.NOTHING) {
            attempts--;
            assert attempts >= 0 : "attempts " + attempts;
        } else if (bare.adjust(ticket.at, -1) != 0 && isAnswer && !ticket.heardOf) {
            silent();
        }
    }

    /** An answer that nobody heard gives no usage figure either. */
    private void silent() {
        usageCap = Exact.NEVER;
        answered();
    }

    /** A clean answer; whether that may have made room. */
    boolean answered(long now, long generation) {
        advance(now);
        if (!has(generation)) {
            return false;
        }
        answered();
        return true;
    }

    private void answered() {
        if (asks) {
            asks = false;
            if (node.permits() != Exact.NEVER) {
                end();
                return;
            }
        }
        if (followed) {
            clean++;
            return;
        }
        if (++clean < (steady ? STEADY_ROUNDS * width : width)) {
            return;
        }
        boolean bound = full;
        clean = 0;
        full = false;
        long normal = slowed ? usageBase : node.permits();
        if (usageCap == Exact.NEVER && !bound) {
            notBound(normal);
            return;
        }
        width = Math.min(usageCap, steady ? width + 1 : width * 2);
        if (usageCap == Exact.NEVER) {
            settle(normal);
        }
    }

    /** Nobody was held up for a whole round. Where no limit is known it stays as wide as it was tried. */
    private void notBound(long normal) {
        if (normal == Exact.NEVER) {
            node.gate.waves = 0;
        } else {
            end();
        }
    }

    /** Ends where the normal limits are the bound. */
    private void settle(long normal) {
        if (width >= Math.min(normal, MOST)) {
            end();
        } else if (normal == Exact.NEVER && width >= ceiling) {
            ceiling = width = steady ? width : ceiling;
            steady = true;
            node.gate.waves = 0;
        }
    }

    /** How full the server says the scope is; a figure below {@link #USED}, or none, is all clear. */
    boolean used(long now, double usage, Ticket ticket, Generations generations) {
        return used(now, usage, ticket, ticket.generation, generations);
    }

    private boolean used(long now, double usage, @Nullable Ticket ticket, long generation, Generations generations) {
        advance(now);
        if (!(usage >= USED)) {
            boolean clears = usageCap != Exact.NEVER && has(generation);
            usageCap = clears ? Exact.NEVER : usageCap;
            usageToTell = clears ? 0 : usageToTell;
            return clears;
        }
        boolean begins = !on || usageCap == Exact.NEVER;
        if (begins) {
            usageBase = node.busy(now, ticket);
        }
        long cap = Math.max(1, (long) Math.ceil(usageBase * (1 - usage) / (1 - USED) - 1e-9));
        if (!on) {
            start(generations.next(), cap);
            slowed = true;
        }
        usageCap = begins || has(generation) ? cap : Math.min(usageCap, cap);
        width = Math.min(width, usageCap);
        usageToTell = (int) Math.min(1_000_000, Math.ceil(usage * 1_000));
        return true;
    }

    /** Whether nothing is out that has a place. */
    boolean isIdle(long now) {
        advance(now);
        return !on || out() == 0;
    }
}
