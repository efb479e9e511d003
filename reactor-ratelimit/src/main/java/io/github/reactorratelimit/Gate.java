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
    long generation;
    /** Consecutive waves of refusals. */
    int waves;
    /** The generation of the last wave that a store knows of, and when it was told that first, on its clock. */
    long toldGeneration;

    long toldWave;
    /** Until then the server itself said to wait, without our margins: that is what the longest obeyed delay bounds. */
    long saidUntil = Long.MIN_VALUE;
    /** When it was opened last by hand, or begun anew: what a store decided until then is over. */
    long openedAt = Long.MIN_VALUE;
    /** Until when it was closed here when a store said last that it is closed for so long. */
    long sharedUntil = Long.MIN_VALUE;
    /** Who is told when it opens again; null if nobody wants to know. */
    @Nullable
    Reopening reopening;

    /** The number of the key right below whose refusal, without a name, closed it longest. */
    private long longestBelow = -1;

    private long longestBelowUntil = Long.MIN_VALUE;
    /** Until when any other key right below is closed for such a refusal. */
    private long othersBelowUntil = Long.MIN_VALUE;

    /** Closed as long as either of the two, in the later wave. */
    void absorb(Gate other) {
        closedUntil = Math.max(closedUntil, other.closedUntil);
        saidUntil = Math.max(saidUntil, other.saidUntil);
        generation = Math.max(generation, other.generation);
        waves = Math.max(waves, other.waves);
    }

    /** A key right below was refused, without a name, until then; whether another one still is. */
    boolean refusedBelow(long now, long number, long until) {
        boolean longest = number == longestBelow;
        boolean second = (longest ? othersBelowUntil : longestBelowUntil) > now;
        if (longest) {
            longestBelowUntil = Math.max(longestBelowUntil, until);
        } else if (until > longestBelowUntil) {
            othersBelowUntil = longestBelowUntil;
            longestBelow = number;
            longestBelowUntil = until;
        } else {
            othersBelowUntil = Math.max(othersBelowUntil, until);
        }
        return second;
    }

    boolean isClosed(long now) {
        return closedUntil > now;
    }
}
