package io.github.reactorratelimit;

import java.util.List;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The books of one key's configured limits, and per lane those of its share of each. While the key is closed they gain
 * nothing.
 */
abstract class KeyBooks {

    private static final Meters[] NO_SHARES = {Meters.NONE};

    Meters meters;
    /** Per lane, the books of its share of every limit; none for a lane without one. */
    Meters[] shares;
    /** A limit here may be spent for good. */
    boolean budgeted;

    final Gate gate = new Gate();

    KeyBooks(List<Limit> limits, Lanes lanes, long now, LongUnaryOperator wall) {
        this.meters = Meters.of(limits, now, wall);
        this.shares = shares(limits, lanes, now, wall);
        this.budgeted = meters.has(Limit.Kind.TOTAL);
    }

    private static Meters[] shares(List<Limit> limits, Lanes lanes, long now, LongUnaryOperator wall) {
        if (lanes.count() == 1 && lanes.share(0).isWhole()) {
            return NO_SHARES;
        }
        Meters[] all = new Meters[lanes.count()];
        for (int lane = 0; lane < all.length; lane++) {
            Share share = lanes.share(lane);
            all[lane] = share.isWhole()
                    ? Meters.NONE
                    : Meters.of(
                            limits.stream().map(limit -> limit.laneShare(share)).toList(), now, wall);
        }
        return all;
    }

    /** A limit that could never pass this demand, or null. */
    @Nullable
    final Limit forbids(Demand demand, int lane) {
        Limit limit = meters.forbids(demand);
        return limit == null ? shares[lane].forbids(demand) : limit;
    }

    /** How often more, {@code most} times at the most, a demand fits now that was let in just before. */
    final long fitting(long now, Demand demand, int lane, long most) {
        return shares[lane].fitting(now, demand, meters.fitting(now, demand, most));
    }

    void take(long now, Demand demand, int lane, Booking.Phase phase, long times) {
        meters.take(now, demand, phase, times);
        shares[lane].take(now, demand, phase, times);
    }

    void moved(long now, Ticket ticket, int lane, Booking.Phase to) {
        meters.moved(now, ticket, to);
        shares[lane].moved(now, ticket, to);
    }

    void settle(long now, Ticket ticket, int lane, String unit, long delta) {
        meters.settle(now, ticket, unit, delta);
        shares[lane].settle(now, ticket, unit, delta);
    }

    void refund(long now, Ticket ticket, int lane) {
        meters.refund(now, ticket);
        shares[lane].refund(now, ticket);
    }

    /** The permit ended: what it held only while it ran is free again. */
    final void release(Ticket ticket, int lane) {
        meters.release(ticket);
        shares[lane].release(ticket);
    }

    /** Closes until {@code until}, if that is later than now closed; for how much longer. */
    final long close(long now, long until) {
        long from = Math.max(now, gate.closedUntil);
        if (until <= from) {
            return 0;
        }
        stop(from, until);
        gate.closedUntil = until;
        return until - from;
    }

    /** Opens again at once, by hand. */
    void open(long now) {
        gate.openedAt = now;
        reopen(now);
    }

    /** Opens again at once. */
    final void reopen(long now) {
        if (gate.isClosed(now)) {
            stop(gate.closedUntil, now);
            gate.closedUntil = now;
            gate.saidUntil = now;
        }
    }

    /** From {@code from} until {@code until} no credit accrues; if {@code until} is the earlier, it does after all. */
    private void stop(long from, long until) {
        meters.stop(from, until);
        for (Meters share : shares) {
            share.stop(from, until);
        }
    }

    /** As if nothing had ever been taken, or closed. */
    final void begin(long now, long generation) {
        meters.begin(now, generation);
        for (Meters share : shares) {
            share.begin(now, generation);
        }
        gate.closedUntil = now;
        gate.openedAt = now;
        gate.saidUntil = now;
        gate.waves = 0;
    }

    /** New limits go on from the books of the old ones of their kind and unit, in order. */
    void change(long now, List<Limit> limits, Lanes lanes, long generation, LongUnaryOperator wall) {
        boolean closed = gate.isClosed(now);
        if (closed) {
            stop(gate.closedUntil, now);
        }
        Meters before = meters;
        meters = Meters.of(limits, now, wall);
        meters.adopt(now, before, generation);
        Meters[] sharesBefore = shares;
        shares = shares(limits, lanes, now, wall);
        for (int lane = 0; lane < shares.length; lane++) {
            shares[lane].adopt(now, sharesBefore[lane], generation);
        }
        if (closed) {
            stop(now, gate.closedUntil);
        }
        budgeted = meters.has(Limit.Kind.TOTAL);
    }

    /** Takes over the books and the cooldown of another key, whose demands count here from now on. */
    final void join(long now, KeyBooks other, long generation) {
        long until = Math.max(gate.closedUntil, other.gate.closedUntil);
        if (gate.isClosed(now)) {
            stop(gate.closedUntil, now);
        }
        if (other.gate.isClosed(now)) {
            other.stop(other.gate.closedUntil, now);
        }
        meters = meters.with(now, other.meters, generation);
        if (shares != NO_SHARES) {
            for (int lane = 0; lane < shares.length; lane++) {
                shares[lane] = shares[lane].with(now, other.shares[lane], generation);
            }
        }
        gate.absorb(other.gate);
        if (until > now) {
            stop(now, until);
        }
        budgeted = meters.has(Limit.Kind.TOTAL);
    }

    /** Whether nothing would change if all were opened anew. */
    final boolean isFull(long now) {
        for (Meters share : shares) {
            if (!share.isFull(now)) {
                return false;
            }
        }
        return meters.isFull(now);
    }

    /** The least that a limit lets be out at once, or in one period; {@link Exact#NEVER} if none does. */
    final long leastPermits() {
        long least = Exact.NEVER;
        for (Meter meter : meters.each) {
            boolean counts = meter.countsRequests && meter.limit.kind() != Limit.Kind.TOTAL;
            least = counts ? Math.min(least, meter.limit.permits()) : least;
        }
        return least;
    }

    /** The most that a limit in flight lets be out; 0 if there is none. */
    final long mostInFlight() {
        long most = 0;
        for (Meter meter : meters.each) {
            boolean inFlight = meter.countsRequests && meter.limit.kind() == Limit.Kind.IN_FLIGHT;
            most = inFlight ? Math.max(most, meter.limit.permits()) : most;
        }
        return most;
    }
}
