package io.github.reactorratelimit;

import io.github.reactorratelimit.Slot.State;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Whose turn it is. Every node offers its candidate to its parent while the candidate fits, and the root's candidate is
 * granted while there is one; then every ring on its path moves one on. A candidate that doesn't fit parks its node and
 * keeps the turn, so that heavy demands get their permits together.
 */
final class Turns {

    private final Node root;
    private final Timers timers;
    private final long ageingNanos;
    /** Where a candidate may have come too late for a budget. */
    private final List<Slot> spent = new ArrayList<>(0);

    private int waiting;
    /** How often a node was asked whether a candidate fits; a figure for tests. */
    private long evaluations;

    Turns(Node root, Timers timers, long ageingNanos) {
        this.root = root;
        this.timers = timers;
        this.ageingNanos = ageingNanos;
    }

    int waiting() {
        return waiting;
    }

    long evaluations() {
        return evaluations;
    }

    /** Whether somebody of this lane or a higher one waits anywhere on the path of {@code leaf}, or one passed over for too long. */
    boolean isTaken(long now, Node leaf, int lane) {
        if (waiting == 0) {
            return false;
        }
        for (Node node = leaf; node != null; node = node.parent) {
            for (Slot slot : node.slots) {
                boolean before = slot.lane == lane
                        || (slot.lane < lane && !slot.parkedByShare)
                        || (slot.lane == node.slots.length - 1 && isAged(now, slot));
                if (before && slot.state != State.EMPTY) {
                    return true;
                }
            }
        }
        return false;
    }

    void join(long now, Ticket ticket, Slot slot) {
        Line line = line(slot);
        line.join(ticket);
        waiting++;
        if (line.first == ticket) {
            touch(now, slot.node);
        }
    }

    /** As {@link #join}, before those of its line. */
    void rejoin(long now, Ticket ticket, Slot slot) {
        line(slot).rejoin(ticket);
        waiting++;
        touch(now, slot.node);
    }

    private static Line line(Slot slot) {
        Line line = slot.line;
        if (line == null) {
            line = new Line();
            slot.line = line;
        }
        return line;
    }

    void leave(long now, Ticket ticket, Slot slot) {
        Line line = slot.line;
        assert line != null;
        boolean wasFirst = line.first == ticket;
        line.leave(ticket);
        waiting--;
        if (wasFirst) {
            touch(now, slot.node);
        }
    }

    /** All who wait at {@code from} wait at {@code into}: who asked first stands first, and nobody passes one of its own line. */
    void move(long now, Node from, Node into) {
        for (int lane = 0; lane < from.slots.length; lane++) {
            Line moving = from.slots[lane].line;
            if (moving != null && moving.first != null) {
                Slot slot = into.slots[lane];
                slot.line = Line.merged(slot.line, moving);
                for (Ticket ticket = slot.line.first; ticket != null; ticket = ticket.next) {
                    ticket.slot = slot;
                }
                from.slots[lane].line = null;
            }
        }
        place(now, from);
        touch(now, into);
    }

    /**
     * Something changed at this node: it and all above it are placed anew, and so are those that share a quota with one of
     * them; all of one width before any wider one, which else would give up its turn and get it back at the end.
     */
    void touch(long now, Node from) {
        for (Node node = from; node != null; node = node.parent) {
            placeSharing(now, node);
        }
    }

    /** As {@link #touch}, which is nobody's business while nobody waits. */
    void notice(long now, Node from) {
        if (waiting > 0) {
            touch(now, from);
        }
    }

    /** The time came that this node was parked until. Whoever shares a quota with it is due by itself, in its own turn. */
    void due(long now, Node from) {
        for (Node node = from; node != null; node = node.parent) {
            place(now, node);
        }
    }

    /** Places a node and, where that makes a difference to them, those that share a quota with it, as they came to be known. */
    private void placeSharing(long now, Node node) {
        if (node.learned == null || !node.learned.placeAll(now)) {
            place(now, node);
            return;
        }
        List<Node> sharing = node.learned.sharing();
        for (int i = 0; i < sharing.size(); i++) {
            Node other = sharing.get(i);
            if (other == node || other.isWaitedFor()) {
                place(now, other);
            }
        }
    }

    /** Everything below this node changed, and it too: all are placed anew, the narrow ones first. */
    void touchAll(long now, Node node) {
        for (Node child : node.children()) {
            touchAll(now, child);
        }
        place(now, node);
    }

    /** Takes the one whose turn it is out of its line, and moves the rings on its path one on; null if nobody's is. */
    @Nullable
    Ticket next(long now) {
        Slot offered = offeredRoot(now);
        if (offered == null) {
            return null;
        }
        Slot turn = offered.turn();
        Line line = turn.line;
        assert line != null;
        Ticket ticket = line.first;
        assert ticket != null;
        line.leave(ticket);
        waiting--;
        for (Slot slot = turn; slot != null; slot = slot.parent) {
            slot.servedAt = now;
            slot.leaveRing();
            slot.state = State.EMPTY;
        }
        return ticket;
    }

    /** A candidate that its key can never pass any more, because a budget is spent; null if there is none. */
    @Nullable
    Ticket hopeless() {
        Ticket found = null;
        Slot at = null;
        for (Slot slot : spent) {
            Ticket candidate = slot.candidate();
            boolean first = at == null || slot.node.isPlacedBefore(at.node);
            if (candidate != null && first && slot.node.forbids(candidate.demand, slot.lane) != null) {
                found = candidate;
                at = slot;
            }
        }
        if (found == null) {
            spent.clear();
        }
        return found;
    }

    private @Nullable Slot offeredRoot(long now) {
        int lowest = root.slots.length - 1;
        Slot low = root.slots[lowest];
        if (low.state == State.OFFERED && lowest > 0 && isAged(now, low)) {
            return low;
        }
        for (Slot slot : root.slots) {
            if (slot.state == State.OFFERED) {
                return slot;
            }
        }
        return null;
    }

    /** Places all lanes of a node: the lowest first if it was passed over for too long, else from the highest. */
    private void place(long now, Node node) {
        int lowest = node.slots.length - 1;
        boolean blocked = false;
        boolean aged = lowest > 0 && node.slots[lowest].state != State.EMPTY && isAged(now, node.slots[lowest]);
        if (aged) {
            blocked = place(now, node.slots[lowest], false);
        }
        for (int lane = 0; lane < (aged ? lowest : lowest + 1); lane++) {
            blocked |= place(now, node.slots[lane], blocked);
        }
        if (node.learned != null) {
            node.learned.placeOne(now);
        }
    }

    /** Places one slot; whether it keeps the turn of those below it. */
    private boolean place(long now, Slot slot, boolean blocked) {
        Ticket candidate = slot.candidate();
        if (candidate == null) {
            park(slot, State.EMPTY, Exact.NEVER);
            slot.parkedByShare = false;
            slot.leaveRing();
            return false;
        }
        if (slot.state == State.EMPTY && slot.servedAt != now) {
            slot.servedAt = now;
        }
        evaluations++;
        Node node = slot.node;
        long shared = node.sharedReadyAt(now, candidate.demand);
        long share = node.shareReadyAt(now, candidate.demand, slot.lane);
        boolean fits = shared <= now && share <= now;
        slot.parkedByShare = shared <= now && share > now;
        if (fits && !blocked) {
            park(slot, State.OFFERED, Exact.NEVER);
            slot.joinRing();
            return false;
        }
        slot.leaveRing();
        if (node.budgeted && !spent.contains(slot)) {
            spent.add(slot);
        }
        // Once it fits the node itself, it no longer keeps the turn of those below.
        long until = fits ? Exact.NEVER : shared > now ? shared : share;
        if (slot.lane > 0 && slot.lane == node.slots.length - 1 && !isAged(now, slot)) {
            until = Math.min(until, Exact.add(slot.servedAt, ageingNanos));
        }
        park(slot, State.PARKED, until);
        return shared > now;
    }

    private void park(Slot slot, State state, long until) {
        slot.state = state;
        timers.set(slot, until);
    }

    private boolean isAged(long now, Slot slot) {
        return now - slot.servedAt >= ageingNanos;
    }
}
