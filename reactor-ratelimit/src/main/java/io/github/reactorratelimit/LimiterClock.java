package io.github.reactorratelimit;

import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * The one place where time is read. Limiter time starts at 0 and is anchored on the scheduler in force; when the supplier
 * returns another one (virtual time begins or ends), time goes on from where it was.
 */
final class LimiterClock {

    private static final long WALL_NANOS = 1_000_000_000L;
    /** By less than that whoever read the clock may just have come late. */
    private static final long LATE_NANOS = 5_000_000L;

    private final Supplier<Scheduler> schedulers;
    private @Nullable Anchor anchor;
    private long now;
    /** The scheduler's clock was set back, and limiter time stands still until it has caught up. */
    private boolean standing;
    /** What the clock on the wall showed when somebody asked last, and when that was. */
    private long wallMillis;

    private long wallReadAt;
    private @Nullable Anchor wallAnchor;

    LimiterClock(Supplier<Scheduler> schedulers) {
        this.schedulers = schedulers;
    }

    /** The scheduler in force; outside the monitor. */
    Scheduler scheduler() {
        return schedulers.get();
    }

    /** Lets limiter time follow {@code raw}, the scheduler's nanoseconds; under the monitor. Time never runs backwards. */
    long follow(Scheduler scheduler, long raw) {
        Anchor current = anchor;
        if (current == null || current.scheduler != scheduler) {
            current = new Anchor(scheduler, now, raw);
            anchor = current;
        }
        long read = current.limiterTime(raw);
        if (read > now) {
            now = read;
        }
        standing = Exact.subtract(now, read) > LATE_NANOS;
        return now;
    }

    /** Whether limiter time stands still, because the clock was set back: then nobody knows how much time passes. */
    boolean isStanding() {
        return standing;
    }

    /**
     * The clock on the wall at a limiter time that is not before the last look at the clock, in milliseconds since the epoch;
     * under the monitor. Looked at once a second, so that it is followed where somebody sets it.
     */
    long wallMillis(long time) {
        Anchor current = anchor();
        if (current != wallAnchor || time - wallReadAt >= WALL_NANOS) {
            wallAnchor = current;
            wallReadAt = time;
            wallMillis = current.scheduler.now(TimeUnit.MILLISECONDS);
        }
        return wallMillis + Exact.floorDiv(time - wallReadAt, 1, 0, 1_000_000);
    }

    /** How limiter time and the scheduler in force belong together; under the monitor, after {@link #follow}. */
    Anchor anchor() {
        Anchor current = anchor;
        assert current != null;
        return current;
    }

    /** Where limiter time and a scheduler's time meet. */
    record Anchor(Scheduler scheduler, long base, long origin) {

        long limiterTime(long raw) {
            return Exact.add(base, raw - origin);
        }

        /** How long the scheduler has to wait for a limiter time, by its own clock, even where that steps back. */
        long delayUntil(long limiterTime) {
            return Math.max(0, Exact.subtract(limiterTime, limiterTime(scheduler.now(TimeUnit.NANOSECONDS))));
        }
    }
}
