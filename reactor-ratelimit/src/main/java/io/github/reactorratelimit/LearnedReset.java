package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import java.time.Duration;

/**
 * Between when the reset of one quota lies, as far as one answer tells. A reset in whole seconds lies anywhere within a
 * second before and after: servers cut the fraction off, or round it up. One that had a fraction once was never cut.
 */
final class LearnedReset {

    /** By how much a reset in whole seconds may be too short or too long, a Date without fractions included. */
    private static final long BLUR_NANOS = 1_000_000_000L;

    /** A reset had a fraction once: then those without one have none. */
    private boolean exact;

    /** When it is over for sure: nothing lasts longer than its window. */
    long latest(long now, Quota quota) {
        long reset = nanos(quota);
        boolean whole = reset % BLUR_NANOS == 0;
        exact |= quota.reset() != null && !quota.coarse() && !whole;
        boolean blurred = quota.coarse() || (quota.reset() != null && whole && !exact);
        long most = blurred ? Exact.add(reset, BLUR_NANOS) : reset;
        Duration window = quota.window();
        return Exact.add(now, window == null ? most : Math.max(reset, Math.min(most, Exact.nanos(window))));
    }

    /** When it is at the earliest. */
    static long earliest(long sentAt, Quota quota) {
        long reset = nanos(quota);
        boolean blurred = quota.coarse() || reset % BLUR_NANOS == 0;
        return Exact.add(sentAt, reset - (blurred ? Math.min(reset, BLUR_NANOS) : 0));
    }

    /** How long until there is more, as one answer tells; at most its window. */
    static long nanos(Quota quota) {
        Duration reset = quota.reset() == null ? quota.window() : quota.reset();
        return reset == null ? 0 : Exact.nanos(reset);
    }
}
