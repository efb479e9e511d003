package io.github.reactorratelimit;

import java.util.function.LongSupplier;
import java.util.function.Supplier;
import reactor.core.scheduler.Scheduler;

/**
 * How long one call may wait in all before somebody else is asked: in line, for scopes to open, between attempts. Used by
 * one attempt at a time, over several sources.
 */
final class Patience {

    private final LongSupplier clock;
    private final Supplier<Scheduler> schedulers;
    private long leftNanos;
    private boolean bounded = true;
    private boolean leavesBreakers;

    /** By a clock in nanoseconds, for waits that nobody tells of, and a scheduler, for those that nobody ends. */
    Patience(long nanos, LongSupplier clock, Supplier<Scheduler> schedulers) {
        this.leftNanos = nanos;
        this.clock = clock;
        this.schedulers = schedulers;
    }

    /**
     * For the next source.
     *
     * @param waits whether it bounds the wait there, and what is waited there counts
     * @param breakers whether a breaker that is open there is not waited for at all
     */
    void turnTo(boolean waits, boolean breakers) {
        bounded = waits;
        leavesBreakers = breakers;
    }

    boolean leavesBreakers() {
        return leavesBreakers;
    }

    long nowNanos() {
        return clock.getAsLong();
    }

    Scheduler scheduler() {
        return schedulers.get();
    }

    long leftNanos() {
        return bounded ? leftNanos : Exact.NEVER;
    }

    void spend(long nanos) {
        if (bounded) {
            leftNanos = Math.max(0, leftNanos - Math.max(0, nanos));
        }
    }
}
