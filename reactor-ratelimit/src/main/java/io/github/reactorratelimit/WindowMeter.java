package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;

/**
 * The exact window. Every permit stands in one of three ledgers:
 *
 * <pre>
 *   open    ──sent──►  loose   ──head, or transit over──►  closed  ──one span──►  forgotten
 *   counts until       counts until its time +             counts until its
 *   something is told  transit + span                      time + span
 * </pre>
 *
 * A strict window keeps a permit open until its head or its end; an ordinary one lets it loose when it is sent.
 */
class WindowMeter extends Meter {

    /** How long a request may be under way to the server. */
    static final long TRANSIT_NANOS = 1_000_000_000L;

    private static final long MIN_MARGIN_NANOS = 1_000_000L;
    private static final long EXACT_UP_TO = 1_000;

    private final long permits;
    private final long span;
    private final boolean strict;
    /** Where nothing stands yet. Most windows of most keys only ever need one of their ledgers. */
    private static final Ledger NOTHING = new Ledger(0);

    private Ledger open = NOTHING;
    private Ledger loose = NOTHING;
    private Ledger closed;
    private long used;

    WindowMeter(Limit limit) {
        super(limit);
        this.permits = limit.permits();
        long period = limit.spanNanos();
        this.span = countedNanos(limit);
        this.strict = limit.isStrict();
        long grain = permits > EXACT_UP_TO ? period / 1_000 : 0;
        this.closed = new Ledger(grain);
    }

    /** For how long a permit counts: the period and a margin. */
    static long countedNanos(Limit limit) {
        long period = limit.spanNanos();
        return Exact.add(period, Math.max(MIN_MARGIN_NANOS, period / 1_000));
    }

    /** Lets what is over leave the books. */
    private void advance(long now) {
        while (loose.size() > 0 && now - loose.time(0) >= TRANSIT_NANOS) {
            long amount = loose.amount(0);
            if (amount > 0) {
                closed.append(loose.time(0) + TRANSIT_NANOS, amount);
            }
            loose.removeFirst();
        }
        while (closed.size() > 0 && now - closed.time(0) >= span) {
            used -= closed.amount(0);
            closed.removeFirst();
        }
        assert used >= 0 : "used " + used;
    }

    @Override
    long readyAt(long now, long cost) {
        advance(now);
        long missing = Exact.subtract(Exact.add(used, cost), permits);
        if (missing <= 0 || cost == 0) {
            return now;
        }
        for (int i = 0; i < closed.size(); i++) {
            missing -= closed.amount(i);
            if (missing <= 0) {
                return Exact.add(closed.time(i), span);
            }
        }
        for (int i = 0; i < loose.size(); i++) {
            missing -= loose.amount(i);
            if (missing <= 0) {
                return Exact.add(loose.time(i) + TRANSIT_NANOS, span);
            }
        }
        return Exact.NEVER;
    }

    @Override
    long expectedAt(long now, long ahead, long cost) {
        long total = Exact.add(ahead, cost);
        long known = readyAt(now, (total - 1) % permits + 1);
        // What is still open counts for a span from its head on, and its head is not here yet.
        long first = known == Exact.NEVER ? Exact.add(now, span) : known;
        return Exact.add(first, Exact.floorDiv((total - 1) / permits, span, 0, 1));
    }

    @Override
    void take(long now, long cost, Phase phase) {
        advance(now);
        writable(phase).append(now, cost);
        used = Exact.add(used, cost);
    }

    @Override
    void moved(long now, long cost, Phase from, long since, long sentAt, Phase to) {
        boolean keepsItsTransit = to == Phase.ENDED && from == Phase.SENT && !strict;
        if (cost == 0 || from == Phase.HEADED || keepsItsTransit) {
            return;
        }
        advance(now);
        long key = key(from, since, sentAt);
        boolean closedByTransit = isLoose(from) && now - key >= TRANSIT_NANOS;
        if (closedByTransit && to != Phase.SENT) {
            return;
        }
        long removed = -adjust(now, from, key, -cost);
        used -= removed;
        if (removed > 0) {
            writable(to).append(now, removed);
            used += removed;
        }
    }

    @Override
    void settle(long now, long delta, Booking booking) {
        advance(now);
        // What is used is the sum of all entries and must not overflow.
        long bounded = Math.min(delta, Exact.NEVER - used);
        used += adjust(now, booking.phase, key(booking.phase, booking.at, booking.sentAt), bounded);
    }

    @Override
    void refund(long now, long cost, Booking booking) {
        settle(now, -cost, booking);
    }

    /** An ordinary window counts from the end of the transit, if the head came later or not at all. */
    private long key(Phase phase, long since, long sentAt) {
        if (strict) {
            return since;
        }
        return switch (phase) {
            case UNSENT, SENT -> since;
            case ENDED -> sentAt;
            case HEADED -> Math.min(since, Exact.add(sentAt, TRANSIT_NANOS));
        };
    }

    /** Changes the entry of a permit, wherever time has carried it; nothing if it is over: no correction reaches a later span. */
    private long adjust(long now, Phase phase, long key, long delta) {
        boolean transitOver = isLoose(phase) && now - key >= TRANSIT_NANOS;
        long time = transitOver ? key + TRANSIT_NANOS : key;
        if (transitOver || phase == Phase.HEADED) {
            return now - time >= span ? 0 : closed.adjust(time, delta);
        }
        return (delta > 0 ? writable(phase) : ledger(phase)).adjust(time, delta);
    }

    /** Whether what a permit took has left the books, so that nothing of it is left to correct. */
    final boolean isOver(long now, Booking booking) {
        long key = key(booking.phase, booking.at, booking.sentAt);
        boolean transitOver = isLoose(booking.phase) && now - key >= TRANSIT_NANOS;
        long time = transitOver ? key + TRANSIT_NANOS : key;
        return (transitOver || booking.phase == Phase.HEADED) && now - time >= span;
    }

    private boolean isLoose(Phase phase) {
        return phase == Phase.ENDED || (phase == Phase.SENT && !strict);
    }

    private Ledger ledger(Phase phase) {
        return phase == Phase.HEADED ? closed : isLoose(phase) ? loose : open;
    }

    /** The ledger of a phase, to write in. */
    private Ledger writable(Phase phase) {
        Ledger ledger = ledger(phase);
        if (ledger != NOTHING) {
            return ledger;
        }
        Ledger fresh = new Ledger(0);
        if (isLoose(phase)) {
            loose = fresh;
        } else {
            open = fresh;
        }
        return fresh;
    }

    @Override
    long available(long now) {
        advance(now);
        return permits - used;
    }

    /** How much of the limit is used, whatever else spaces it. */
    final long counted(long now) {
        advance(now);
        return used;
    }

    @Override
    long fullAt(long now) {
        advance(now);
        if (open.size() > 0) {
            return Exact.NEVER;
        }
        if (loose.size() > 0) {
            return Exact.add(loose.time(loose.size() - 1) + TRANSIT_NANOS, span);
        }
        return closed.size() > 0 ? Exact.add(closed.time(closed.size() - 1), span) : now;
    }

    @Override
    void adopt(long now, Meter old) {
        if (old instanceof WindowMeter window) {
            window.advance(now);
            loose = window.loose;
            copy(window.closed, closed);
            used = window.used;
            if (strict == window.strict) {
                open = window.open;
            } else {
                // The other kind keeps such permits elsewhere: nobody would ever close them here.
                for (int i = 0; i < window.open.size(); i++) {
                    writable(Phase.ENDED).append(now, window.open.amount(i));
                }
            }
            advance(now);
        }
    }

    @Override
    void absorb(long now, Meter other) {
        if (other instanceof WindowMeter window) {
            advance(now);
            window.advance(now);
            open = united(open, window.open);
            loose = united(loose, window.loose);
            closed = closed.with(window.closed);
            used = Exact.add(used, window.used);
            advance(now);
        }
    }

    private static Ledger united(Ledger mine, Ledger theirs) {
        return theirs.size() == 0 ? mine : mine.with(theirs);
    }

    @Override
    void disown(long now) {
        advance(now);
        for (; open.size() > 0; open.removeFirst()) {
            writable(Phase.ENDED).append(now, open.amount(0));
        }
    }

    private static void copy(Ledger from, Ledger to) {
        for (int i = 0; i < from.size(); i++) {
            to.append(from.time(i), from.amount(i));
        }
    }
}
