package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.Ending;
import io.github.reactorratelimit.Ticket.Stage;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How tickets leave, wherever they stand, and who has to; under the monitor. */
final class Departures {

    private final Settings settings;
    private final Timers timers;
    private final Turns turns;
    private final Entries entries;
    private final Outgoing outgoing;

    Departures(Settings settings, Timers timers, Turns turns, Entries entries, Outgoing outgoing) {
        this.settings = settings;
        this.timers = timers;
        this.turns = turns;
        this.entries = entries;
        this.outgoing = outgoing;
    }

    /** How a ticket leaves. */
    enum Leaving {
        /** Its response was heard in the same step. */
        HEARD,
        /** The attempt is over. */
        ENDED,
        /** Nobody wants it any more: a permit that is known not to be sent yet is given back whole. */
        CANCELLED,
        /** Its grant was told, and a cancel came before it was used: it is given back whole. */
        WITHDRAWN,
        /** Nobody got to use it: its permit is given back in any case. */
        UNUSED
    }

    /**
     * A ticket leaves, wherever it stands.
     *
     * @return how its permit ended; null if it held none
     */
    @Nullable
    Ending end(long now, Ticket ticket, Leaving how) {
        switch (ticket.stage()) {
            case NEW -> ticket.stage(Stage.DONE);
            case RESTING -> {
                timers.remove(ticket);
                ticket.leave();
            }
            case WAITING -> leaveLine(now, ticket);
            case ASKED -> {
                entries.untake(now, ticket);
                ticket.leave();
            }
            case HELD -> {
                boolean refund = how == Leaving.UNUSED
                        || how == Leaving.WITHDRAWN
                        || (how == Leaving.CANCELLED && ticket.isSurelyUnsent());
                timers.remove(ticket);
                entries.end(now, ticket, refund, how == Leaving.ENDED);
                return refund ? Ending.REFUNDED : how == Leaving.CANCELLED ? Ending.CANCELLED : Ending.DONE;
            }
            case RELEASED, DONE -> {}
        }
        return null;
    }

    /** It stands in line no more. */
    Slot leaveLine(long now, Ticket ticket) {
        Slot slot = ticket.place();
        timers.remove(ticket);
        turns.leave(now, ticket, slot);
        ticket.leave();
        return slot;
    }

    /** Fails all who can never pass any more. */
    void failForbidden(long now, Node root) {
        for (Ticket ticket : waitingBelow(root)) {
            failForbidden(now, ticket);
        }
    }

    void failForbidden(long now, Ticket ticket) {
        Slot slot = ticket.place();
        Limit limit = Outlook.forbids(slot.node, ticket.demand, slot.lane);
        if (limit != null) {
            leaveLine(now, ticket);
            outgoing.turnAway(ticket, Refusals.never(settings.name(), slot.node, ticket.demand, limit));
        }
    }

    /** Fails all who wait or rest; with a cause, forgets every timer too. */
    void failAll(long now, Node root, @Nullable Throwable cause) {
        List<Ticket> all = waitingBelow(root);
        for (Timed timed : timers.all()) {
            if (timed instanceof Ticket ticket && ticket.stage() == Stage.RESTING) {
                all.add(ticket);
            }
        }
        for (Ticket ticket : all) {
            Slot slot = ticket.place();
            end(now, ticket, Leaving.UNUSED);
            outgoing.turnAway(ticket, Refusals.disposed(settings.name(), slot.node, cause));
        }
        if (cause != null) {
            timers.clear(); // Nobody would ring for the timeouts of those who run.
        }
    }

    static List<Ticket> waitingBelow(Node node) {
        List<Ticket> all = new ArrayList<>();
        collect(node, all);
        return all;
    }

    private static void collect(Node node, List<Ticket> into) {
        for (Slot slot : node.slots) {
            if (slot.line != null) {
                for (Ticket ticket = slot.line.first; ticket != null; ticket = ticket.next) {
                    into.add(ticket);
                }
            }
        }
        for (Node child : node.children()) {
            collect(child, into);
        }
    }
}
