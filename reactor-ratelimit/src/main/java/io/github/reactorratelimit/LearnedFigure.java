package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import org.jspecify.annotations.Nullable;

/**
 * What responses say of one quota: so much is left of it until its reset, which every answer of one window narrows down.
 * What is in flight is none of its business.
 */
final class LearnedFigure {

    /** Which window an answer tells of. */
    enum Window {
        SAME,
        LATER,
        /** One that is over. */
        PAST
    }

    private final Generations generations;
    private final LearnedReset reset = new LearnedReset();
    private boolean known;
    private long remaining;
    /** The reset is not before this. */
    private long earliest;
    /** The reset is not after this. */
    private long latest = Long.MIN_VALUE;
    /** The generation when this window came to be known; what was granted before stands in no lane's share of it. */
    private long windowSince;
    /** The generation of the last figure that we reckon from; what was granted before is in it, or was never counted. */
    private long figureSince;
    /** The server's last word, if a store wasn't told of it yet. */
    private boolean untold;

    private long word;
    private long wordEarliest;

    LearnedFigure(Generations generations) {
        this.generations = generations;
    }

    boolean isKnown() {
        return known;
    }

    /** What is left, as far as it is known. */
    long remaining() {
        return remaining;
    }

    long latest() {
        return latest;
    }

    /** Whether what was known is over for sure, since the last look. */
    boolean ends(long now) {
        boolean over = known && now >= latest;
        known &= !over;
        return over;
    }

    /** Inside one window the lower figure wins, however late its answer comes; a later window replaces it. */
    Window learn(long now, Booking permit, Quota quota) {
        long from = LearnedReset.earliest(permit.sentAt, quota);
        long to = reset.latest(now, quota);
        boolean laterWindow = from >= latest || (!known && permit.sentAt >= latest);
        boolean same = !laterWindow && known && to > earliest;
        if (!same && !(laterWindow && to > now)) {
            return Window.PAST;
        }
        word = same && untold ? Math.min(word, quota.remaining()) : quota.remaining();
        wordEarliest = from;
        untold = true;
        if (same) {
            figureSince = quota.remaining() <= remaining ? generations.next() : figureSince;
            remaining = Math.min(remaining, quota.remaining());
            earliest = Math.max(earliest, from);
            latest = Math.min(latest, to);
            return Window.SAME;
        }
        begin(quota.remaining(), from, to);
        figureSince = windowSince;
        return Window.LATER;
    }

    /** So much is left by what all processes take from. */
    void sharedWith(long now, long left, long nanos) {
        long to = Exact.add(now, nanos);
        if (known) {
            remaining = left;
            latest = to;
        } else {
            begin(left, now, to);
        }
        figureSince = generations.next();
    }

    private void begin(long left, long from, long to) {
        known = true;
        windowSince = generations.next();
        remaining = left;
        earliest = from;
        latest = to;
    }

    /** Of what is left so much is used that no figure tells of. */
    void used(long cost) {
        remaining = known ? Exact.subtract(remaining, cost) : remaining;
    }

    /** A permit that was taken for used was not. */
    void unused(long cost, Booking permit) {
        if (known && permit.generation >= figureSince) {
            remaining = Exact.add(remaining, cost);
        }
    }

    /** Whether a permit was granted in the window that is known. */
    boolean isOfThisWindow(Booking permit) {
        return permit.generation >= windowSince;
    }

    /** What a store is to be told of it, once; null if nothing. */
    LimitStore.@Nullable Word takeWord(long now, int place) {
        boolean told = untold && known;
        untold = false;
        return told ? new LimitStore.Word(place, word, Math.max(0, wordEarliest - now), latest - now) : null;
    }

    boolean hasWord() {
        return untold;
    }
}
