package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import java.util.function.ObjIntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Permits of one place and cost that a store granted before somebody wanted them: those that are taken now, and those that
 * came before the last of them was. Due when what is left of either is given back. Under the monitor.
 */
final class Stock extends Timed {

    /** The most, as a multiple of those who stood and waited for the call. */
    private static final int TIMES = 64;
    /** The most in all: as many as callers can take up while they are kept. */
    private static final int MOST = 4_096;
    /** After so many calls more are tried again where so many were not there. */
    private static final int AGAIN = 64;
    /** Of so many or more, the next are asked for before the last are taken: fewer aren't worth a call nobody waits for. */
    private static final int MANY = 128;
    /** When one in so many is left. */
    private static final int LOW = 4;

    /** What one call brought, and until when. */
    private static final class Lot {

        final Standing standing;
        final long until;
        int left;

        Lot(Standing standing, int left, long until) {
            this.standing = standing;
            this.left = left;
            this.until = until;
        }
    }

    final Slot slot;
    final Demand demand;
    final Phase phase;

    private @Nullable Lot lot;
    /** Taken once that is used up, or too old. */
    private @Nullable Lot following;
    /** How many were asked for last, for how many who stood and waited. */
    private int size;

    private int waited;
    /** So many may be there; half of those that were not. */
    private int ceiling = MOST;
    /** A call is to ask for more, or under way. */
    private boolean askedFor;

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
        if (lot != null && lot.left == 0) {
            goOn();
        }
        if (lot == null || lot.until <= now || lot.left == 0) {
            return null;
        }
        lot.left--;
        return lot.standing;
    }

    /** How many more stand where the one does that was taken last, {@code most} at the most; takes them. */
    long takeMore(long most) {
        long count = lot == null ? 0 : Math.min(lot.left, most);
        if (lot != null) {
            lot.left -= (int) count;
        }
        return count;
    }

    private int left() {
        return (lot == null ? 0 : lot.left) + (following == null ? 0 : following.left);
    }

    // ------------------------------------------------------------------------------------------- asking for more

    /** Whether so few are left that more should come before the last of them is taken, and nobody asks for them yet. */
    boolean isLow() {
        return !askedFor && size >= MANY && left() <= size / LOW && latestCall != scarceCall;
    }

    void askedFor(boolean asked) {
        askedFor = asked;
    }

    boolean isAskedFor() {
        return askedFor;
    }

    /** How many to ask for with a call for so many: twice as many each time, while all of them are used up between calls. */
    int wanted(long call, int waiting) {
        return wanted(call, waiting, latestCall == call - 1 && left() == 0);
    }

    /** As {@link #wanted(long, int)}, with a call before anybody has to wait. */
    int wantedSoon(long call) {
        return wanted(call, waited, true);
    }

    private int wanted(long call, int waiting, boolean again) {
        ceiling = again && call - scarceCall < AGAIN ? ceiling : MOST;
        latestCall = call;
        waited = waiting;
        size = again ? Math.min(Math.max(waiting, 2 * size), Math.min(TIMES * waiting, ceiling)) : 0;
        return size;
    }

    /** What came of what was asked for, perhaps nothing. */
    void granted(Standing ahead, int count, long until) {
        askedFor = false;
        if (count > 0) {
            Lot come = new Lot(ahead, count, until);
            if (left() > 0) {
                following = come;
            } else {
                lot = come;
                following = null;
            }
        }
        if (count < size) {
            ceiling = size / 2;
            scarceCall = latestCall;
        }
    }

    // --------------------------------------------------------------------------------------------------- its end

    /** Until when the first of them are kept, or else if there are none. */
    long keptUntil(long otherwise) {
        return lot == null ? otherwise : lot.until;
    }

    /** Takes out what is too old, and hands over what is left of it. */
    void expire(long now, ObjIntConsumer<Standing> rest) {
        for (Lot old = lot; old != null && old.until <= now; old = lot) {
            goOn();
            if (old.left > 0) {
                rest.accept(old.standing, old.left);
            }
        }
    }

    private void goOn() {
        lot = following;
        following = null;
    }
}
