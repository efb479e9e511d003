package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.Ticket.Stage;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What becomes of a permit, entered in the books of all keys of its path; under the monitor. */
final class Entries {

    /** The first status of responses that are no answers. */
    private static final int REFUSAL = 400;

    private final Turns turns;
    private final Generations generations;
    /** What a store is still to be told; null if there is none. */
    private final @Nullable StoreNews told;

    Entries(Turns turns, Generations generations, @Nullable StoreNews told) {
        this.turns = turns;
        this.generations = generations;
        this.told = told;
    }

    void grant(long now, Ticket ticket, Node leaf, int lane) {
        ticket.stage(Stage.HELD);
        ticket.phase = switch (ticket.tells()) {
            case NOTHING -> Phase.HEADED;
            case HEAD -> Phase.SENT;
            case SENDING, PERHAPS -> Phase.UNSENT;
        };
        ticket.at = now;
        ticket.sentAt = now;
        if (leaf.holds || ticket.tells() != Ticket.Tells.NOTHING) {
            ticket.use(leaf);
        } else {
            ticket.leaveKey(); // Nobody has to give it back.
            leaf.leftAt = now;
        }
        take(now, leaf, ticket.demand, lane, ticket.phase, 1);
        ticket.generation = generations.current(); // After the books have noticed what is over by now.
    }

    /** Takes what a demand costs, so many times, from every meter of a path. */
    void take(long now, Node leaf, Demand demand, int lane, Phase phase, long times) {
        for (Node node = leaf; node != null; node = node.parent) {
            node.take(now, demand, lane, phase, times);
        }
        turns.notice(now, leaf);
    }

    /** Takes back what a ticket took here while it was asked for. */
    Slot untake(long now, Ticket ticket) {
        Slot slot = ticket.place();
        for (Node node = slot.node; node != null; node = node.parent) {
            node.refund(now, ticket, slot.lane);
            node.release(now, ticket, slot.lane, false);
        }
        turns.notice(now, slot.node);
        return slot;
    }

    /** The attempt went on to its next phase. */
    void move(long now, Ticket ticket, Phase to) {
        moveQuietly(now, ticket, to);
        turns.notice(now, ticket.place().node);
    }

    /** As {@link #move}, by somebody who has more to change before anybody's turn is looked at. */
    void moveQuietly(long now, Ticket ticket, Phase to) {
        Slot slot = ticket.place();
        for (Node node = slot.node; node != null; node = node.parent) {
            node.moved(now, ticket, slot.lane, to);
        }
        if (ticket.phase == Phase.UNSENT) {
            ticket.sentAt = now; // Nobody told: it counts as if it had been sent with its head, or at its end.
        }
        if (told != null) {
            told.permits().moved(now, ticket, to);
        }
        ticket.phase = to;
        ticket.at = now;
    }

    /** Whether the cost was corrected: once per unit, and only of what was granted. */
    boolean settle(long now, Ticket ticket, String unit, long actual) {
        boolean first = correct(now, ticket, unit, actual);
        if (first) {
            notice(now, ticket);
        }
        return first;
    }

    /** Whose turn it is may have changed with what became of a permit. */
    void notice(long now, Ticket ticket) {
        turns.notice(now, ticket.place().node.latest());
    }

    /** As {@link #settle}, by somebody who has more to change before anybody's turn is looked at. */
    boolean correct(long now, Ticket ticket, String unit, long actual) {
        boolean charged = ticket.stage() == Stage.HELD || ticket.stage() == Stage.RELEASED;
        boolean first = charged && ticket.noteSettled(unit, actual);
        if (first) {
            Slot slot = ticket.place();
            long delta = actual - ticket.demand.cost(unit);
            if (told != null) {
                told.permits().settled(ticket, unit, delta);
            }
            for (Node node = slot.node; node != null; node = node.parent) {
                node.latest().settle(now, ticket, slot.lane, unit, delta);
            }
        }
        return first;
    }

    /**
     * Who was refused counts as a request and used nothing else, neither tokens nor money: of those limits that never
     * refill, or not before the end of a month, refusals would leave nothing. What comes within an answer, after its head,
     * is no refusal.
     *
     * @return the units that come back
     */
    List<String> save(long now, Ticket ticket, RateLimitSignal signal) {
        boolean first = ticket.tells() == Ticket.Tells.NOTHING
                ? !ticket.heardOf
                : ticket.stage() == Stage.HELD && ticket.phase != Phase.HEADED;
        return first && signal.throttled() && signal.status() >= REFUSAL ? saveUnits(now, ticket) : List.of();
    }

    /**
     * What did not reach the server, as far as its failure says and nobody knows better, counts as a request, so that
     * connecting in vain is paced too; but there is nothing that could have used anything else.
     *
     * @return the units that come back
     */
    List<String> saveUnsent(long now, Ticket ticket) {
        return ticket.stage() == Stage.HELD && !ticket.heardOf ? saveUnits(now, ticket) : List.of();
    }

    private List<String> saveUnits(long now, Ticket ticket) {
        List<String> saved = new ArrayList<>(2);
        for (String unit : ticket.demand.units()) {
            if (correct(now, ticket, unit, 0)) {
                saved.add(unit);
            }
        }
        return saved;
    }

    /** The permit ended, and perhaps is given back as if it had never been taken. */
    void end(long now, Ticket ticket, boolean refund, boolean isAnswer) {
        Slot slot = ticket.place();
        if (!refund && ticket.phase != Phase.HEADED) {
            moveQuietly(now, ticket, Phase.ENDED);
        }
        for (Node node = slot.node; node != null; node = node.parent) {
            if (refund) {
                node.refund(now, ticket, slot.lane);
            }
            node.release(now, ticket, slot.lane, isAnswer);
        }
        if (told != null) {
            told.ended(ticket, slot.node, refund);
        }
        ticket.leave();
        ticket.stage(refund ? Stage.DONE : Stage.RELEASED);
        turns.notice(now, slot.node);
    }
}
