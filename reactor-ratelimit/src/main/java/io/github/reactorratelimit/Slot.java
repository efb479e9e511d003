package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/**
 * One lane's place in one node. Its candidate is the one who would be granted next from here: at a leaf the first in
 * line, above it the candidate of the first in its ring.
 *
 * <pre>
 *   EMPTY    nobody waits here
 *   PARKED   its candidate doesn't fit its node: until a time, or until something is given back
 *   OFFERED  its candidate fits, and it stands in its parent's ring
 * </pre>
 */
final class Slot extends Timed {

    enum State {
        EMPTY,
        PARKED,
        OFFERED
    }

    final Node node;
    final int lane;
    final @Nullable Slot parent;
    State state = State.EMPTY;
    /** Parked only because its own lane's share is used up: that is nobody else's business. */
    boolean parkedByShare;
    /** When this lane was served here last, or began to wait. */
    long servedAt;
    /** Only at a leaf. */
    @Nullable
    Line line;

    private @Nullable Slot ringFirst;
    private @Nullable Slot ringLast;
    private @Nullable Slot ringPrevious;
    private @Nullable Slot ringNext;
    private boolean inRing;

    Slot(Node node, int lane, @Nullable Slot parent) {
        this.node = node;
        this.lane = lane;
        this.parent = parent;
    }

    @Nullable
    Ticket candidate() {
        Slot slot = this;
        while (slot.ringFirst != null) {
            slot = slot.ringFirst;
        }
        return slot.line == null ? null : slot.line.first;
    }

    /** The leaf's place whose line has the candidate. */
    Slot turn() {
        Slot slot = this;
        while (slot.ringFirst != null) {
            slot = slot.ringFirst;
        }
        return slot;
    }

    void joinRing() {
        Slot ring = parent;
        if (ring == null || inRing) {
            return;
        }
        inRing = true;
        ringPrevious = ring.ringLast;
        if (ring.ringLast == null) {
            ring.ringFirst = this;
        } else {
            ring.ringLast.ringNext = this;
        }
        ring.ringLast = this;
    }

    void leaveRing() {
        Slot ring = parent;
        if (ring == null || !inRing) {
            return;
        }
        inRing = false;
        if (ringPrevious == null) {
            ring.ringFirst = ringNext;
        } else {
            ringPrevious.ringNext = ringNext;
        }
        if (ringNext == null) {
            ring.ringLast = ringPrevious;
        } else {
            ringNext.ringPrevious = ringPrevious;
        }
        ringPrevious = null;
        ringNext = null;
    }
}
