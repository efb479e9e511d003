package io.github.reactorratelimit;

import java.util.Arrays;
import java.util.List;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * All that counts the calls of one key on their way, from the grant to the end: the books of its configured limits, those
 * of the quotas that responses told of, its ramp, and how many are under way.
 */
abstract class KeyTraffic extends KeyBooks {

    /** How it opens again; null if it was never refused. */
    @Nullable
    Ramp ramp;
    /** What responses told of its quotas; null if nothing. */
    @Nullable
    Learned learned;

    final UnderWay underWay = new UnderWay();

    KeyTraffic(List<Limit> limits, Lanes lanes, long now, LongUnaryOperator wall) {
        super(limits, lanes, now, wall);
    }

    @Override
    final void take(long now, Demand demand, int lane, Booking.Phase phase, long times) {
        super.take(now, demand, lane, phase, times);
        boolean bare = phase == Booking.Phase.HEADED;
        for (long i = 0; i < times && learned != null; i++) {
            learned.take(now, demand, lane, phase);
        }
        for (long i = 0; i < times && ramp != null; i++) {
            ramp.take(now, bare);
        }
        unanswered(bare ? 0 : times);
        if (bare) {
            underWay.take(now, times);
        }
    }

    private void unanswered(long more) {
        underWay.unanswered(more);
        if (learned != null && more != 0) {
            learned.unanswered(more);
        }
    }

    @Override
    final void moved(long now, Ticket ticket, int lane, Booking.Phase to) {
        super.moved(now, ticket, lane, to);
        unanswered(to == Booking.Phase.SENT ? 0 : -1);
        if (learned != null) {
            learned.moved(now, ticket, lane, to);
        }
    }

    @Override
    final void settle(long now, Ticket ticket, int lane, String unit, long delta) {
        super.settle(now, ticket, lane, unit, delta);
        if (learned != null) {
            learned.settle(now, ticket, lane, unit, delta);
        }
    }

    @Override
    final void refund(long now, Ticket ticket, int lane) {
        super.refund(now, ticket, lane);
        unanswered(ticket.phase == Booking.Phase.HEADED ? 0 : -1);
        if (learned != null) {
            learned.refund(now, ticket, lane);
        }
    }

    /** The permit ended; for one that nobody else tells of that is the answer, unless it was heard just before, or not used. */
    final void release(long now, Ticket ticket, int lane, boolean isAnswer) {
        release(ticket, lane);
        if (ticket.tells() == Ticket.Tells.NOTHING) {
            underWay.end(now, ticket.at);
            if (learned != null) {
                learned.ended(now, ticket);
            }
        }
        if (ramp != null) {
            ramp.release(now, ticket, isAnswer);
        }
    }

    /** What is under way at another key, which left its quotas, is counted here from now on. */
    final void absorb(long now, UnderWay other) {
        unanswered(other.unanswered());
        underWay.absorb(now, other);
        if (learned != null) {
            learned.begin(); // What is in flight from there is noticed, but stands in none of these books.
        }
    }

    /** What nobody tells of is over now, before anything else changes. */
    final void advance(long now) {
        if (ramp != null) {
            ramp.readyAt(now);
        }
    }

    /** How many calls are in flight here, the one that is answered included. */
    final long out(long now, Ticket answered) {
        return answered.tells() == Ticket.Tells.NOTHING
                ? Math.max(1, underWay.count(now))
                : underWay.count(now) + 1; // The former is still in hand.
    }

    /** How many calls like this one are in flight here when it is answered, or may be; null for one of another process. */
    final long busy(long now, @Nullable Ticket answered) {
        long most = answered == null ? Math.max(1, underWay.count(now)) : out(now, answered);
        long cost = answered == null ? 1 : Math.max(1, answered.demand.requests());
        return Math.max(most, mostInFlight() / cost);
    }

    /** The configured limits, then the learned ones. */
    final Meter[] allMeters() {
        Meter[] own = meters.each;
        if (learned == null) {
            return own;
        }
        Meter[] all = Arrays.copyOf(own, own.length + learned.meters().length);
        System.arraycopy(learned.meters(), 0, all, own.length, learned.meters().length);
        return all;
    }
}
