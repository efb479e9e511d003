package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import org.jspecify.annotations.Nullable;

/**
 * Permits of one place and cost that a store granted before somebody wanted them; due when what is left of them is given
 * back. Under the monitor.
 */
final class Stock extends Timed {

    /** The most, as a multiple of those who stood and waited for the call. */
    private static final int TIMES = 64;
    /** The most in all: as many as callers can take up while they are kept. */
    private static final int MOST = 4_096;
    /** After so many calls more are tried again where so many were not there. */
    private static final int AGAIN = 64;

    final Slot slot;
    final Demand demand;
    final Phase phase;
    private @Nullable Standing standing;
    private int left;
    /** How many were asked for last. */
    private int size;
    /** So many may be there; half of those that were not. */
    private int ceiling = MOST;

    private long latestCall = -1;
    /** The last call that did not bring as many as it asked for. */
    private long scarceCall;

    Stock(Slot slot, Demand demand, Phase phase) {
        this.slot = slot;
        this.demand = demand;
        this.phase = phase;
    }

    boolean isFor(Demand wanted, Phase how) {
        return phase == how && (demand == wanted || demand.costs().equals(wanted.costs()));
    }

    /** Where one more of them stands in the store's books; null if there is none, or it is too late for it. */
    @Nullable
    Standing take(long now) {
        if (left == 0 || dueAt <= now) {
            return null;
        }
        left--;
        return standing;
    }

    /** How many to ask for with a call for so many: twice as many each time, while all of them are used up between calls. */
    int wanted(long call, int waiting) {
        boolean again = latestCall == call - 1 && left == 0;
        latestCall = call;
        ceiling = again && call - scarceCall < AGAIN ? ceiling : MOST;
        size = again ? Math.min(Math.max(waiting, 2 * size), Math.min(TIMES * waiting, ceiling)) : 0;
        return size;
    }

    void granted(Standing ahead, int count) {
        standing = ahead;
        left = Math.max(0, count);
        if (left < size) {
            ceiling = size / 2;
            scarceCall = latestCall;
        }
    }

    /** How many are left, which nobody gets any more. */
    int empty() {
        int rest = left;
        left = 0;
        return rest;
    }

    @Nullable
    Standing standing() {
        return standing;
    }
}
