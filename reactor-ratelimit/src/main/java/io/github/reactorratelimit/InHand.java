package io.github.reactorratelimit;

/**
 * How many permits of a key are in their callers' own hands: granted, and not given back yet. One that is not given back
 * within 20 to 40 s may be lost and counts no more.
 */
final class InHand {

    /** Which stretch of 20 s it is. */
    private long stretch;

    private long granted;
    private long grantedBefore;

    private void advance(long now) {
        long current = stretch(now);
        if (current != stretch) {
            grantedBefore = current == stretch + 1 ? granted : 0;
            granted = 0;
            stretch = current;
        }
    }

    private static long stretch(long at) {
        return Math.floorDiv(at, Ramp.LEASE_NANOS);
    }

    void take(long now, long count) {
        advance(now);
        granted += count;
    }

    /** One that was granted at {@code grantedAt} was given back. */
    void end(long now, long grantedAt) {
        advance(now);
        long of = stretch(grantedAt);
        if (of == stretch) {
            granted--;
        } else if (of == stretch - 1) {
            grantedBefore--;
        }
        assert granted >= 0 && grantedBefore >= 0 : granted + " and " + grantedBefore;
    }

    long count(long now) {
        advance(now);
        return granted + grantedBefore;
    }

    /** Those of another key are counted here from now on. */
    void absorb(long now, InHand other) {
        advance(now);
        other.advance(now);
        granted += other.granted;
        grantedBefore += other.grantedBefore;
    }
}
