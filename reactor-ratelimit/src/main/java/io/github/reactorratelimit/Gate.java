package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/**
 * A node's cooldown: closed until an instant, and which wave of refusals closed it. Refusals of permits granted before it
 * closed belong to the same wave: they can lengthen it, they never escalate it.
 */
final class Gate {

    /** Closed until then; in the past if open. */
    long closedUntil = Long.MIN_VALUE;
    /** A permit of an earlier generation cannot have known of this closing. */
    int generation;
    /** Consecutive waves of refusals. */
    int waves;
    /** Until then the server itself said to wait, without our margins: that is what the longest obeyed delay bounds. */
    long saidUntil = Long.MIN_VALUE;
    /** Who is told when it opens again; null if nobody wants to know. */
    @Nullable
    Reopening reopening;

    /** Closed as long as either of the two, in the later wave. */
    void absorb(Gate other) {
        closedUntil = Math.max(closedUntil, other.closedUntil);
        saidUntil = Math.max(saidUntil, other.saidUntil);
        generation = Math.max(generation, other.generation);
        waves = Math.max(waves, other.waves);
    }

    boolean isClosed(long now) {
        return closedUntil > now;
    }
}
