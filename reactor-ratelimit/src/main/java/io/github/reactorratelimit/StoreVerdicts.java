package io.github.reactorratelimit;

import io.github.reactorratelimit.StoreCall.Asked;
import io.github.reactorratelimit.Ticket.Stage;
import org.jspecify.annotations.Nullable;

/** What a store decided about those it was asked for; under the monitor. */
final class StoreVerdicts {

    private final Settings settings;
    private final Timers timers;
    private final Turns turns;
    private final Entries entries;
    private final Departures departures;
    private final Outgoing outgoing;

    StoreVerdicts(
            Settings settings, Timers timers, Turns turns, Entries entries, Departures departures, Outgoing outgoing) {
        this.settings = settings;
        this.timers = timers;
        this.turns = turns;
        this.entries = entries;
        this.departures = departures;
        this.outgoing = outgoing;
    }

    /** A store granted it: it counts from now on. */
    void grant(long now, Ticket ticket, Standing standing) {
        Slot slot = entries.untake(now, ticket);
        entries.grant(now, ticket, slot.node, slot.lane);
        ticket.standing(standing);
        outgoing.add(ticket);
    }

    /** A store refused it until a time: it stands in line again where it stood, or fails if it can't wait so long. */
    void refuse(long now, Asked one, long until, boolean timed, @Nullable Limit limit, boolean disposed) {
        Ticket ticket = one.ticket();
        Node leaf = ticket.place().node;
        if (until < one.deadline()) {
            putBack(now, one, disposed);
        } else if (until == Exact.NEVER && limit != null) {
            entries.untake(now, ticket);
            ticket.leave();
            outgoing.turnAway(ticket, Refusals.never(settings.name(), leaf, ticket.demand, limit));
        } else {
            entries.untake(now, ticket);
            ticket.leave();
            long allowed = Exact.subtract(one.deadline(), ticket.joinedAt);
            long wait = timed ? Exact.subtract(until, ticket.joinedAt) : 0;
            outgoing.turnAway(ticket, Refusals.tooLong(settings.name(), leaf, wait, allowed, limit));
        }
    }

    /** It was asked for in vain, and stands in line again where it stood. */
    void putBack(long now, Asked one, boolean disposed) {
        Ticket ticket = one.ticket();
        Slot slot = entries.untake(now, ticket);
        if (disposed) {
            ticket.leave();
            outgoing.turnAway(ticket, Refusals.disposed(settings.name(), slot.node, null));
            return;
        }
        ticket.stage(Stage.WAITING);
        timers.set(ticket, one.deadline());
        turns.rejoin(now, ticket, slot);
    }

    /** Nobody can be asked for any more. */
    void failWaiting(long now, Node root, @Nullable Throwable why) {
        for (Ticket ticket : Departures.waitingBelow(root)) {
            Slot slot = departures.leaveLine(now, ticket);
            outgoing.turnAway(ticket, Refusals.unavailable(settings.name(), slot.node, why));
        }
    }
}
