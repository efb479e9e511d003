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

    private final Supplier<Scheduler> schedulers;
    private @Nullable Anchor anchor;
    private long now;

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
        return now;
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
