package io.github.reactorratelimit;

import java.util.function.LongSupplier;

/**
 * How long one call may wait in all before somebody else is asked: in line, for scopes to open, between attempts. Used by
 * one attempt at a time, over several sources.
 */
final class Patience {

    private final LongSupplier clock;
    private long leftNanos;

    /** By a clock in nanoseconds, for waits that nobody tells of. */
    Patience(long nanos, LongSupplier clock) {
        this.leftNanos = nanos;
        this.clock = clock;
    }

    long nowNanos() {
        return clock.getAsLong();
    }

    long leftNanos() {
        return leftNanos;
    }

    void spend(long nanos) {
        leftNanos = Math.max(0, leftNanos - Math.max(0, nanos));
    }
}
