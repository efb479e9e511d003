package io.github.reactorratelimit;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import reactor.core.scheduler.Scheduler;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * A virtual time of a test's own, with a wall clock that starts in 2026. Nothing global is touched, so tests may run beside
 * each other. A program of a test, random or not, is a list of {@link #at} and one {@link #runTo}.
 */
final class VirtualTime {

    static final Instant W0 = Instant.parse("2026-01-01T00:00:00Z");

    private final VirtualTimeScheduler scheduler = VirtualTimeScheduler.create();
    private final PendingScheduler timers = new PendingScheduler(scheduler);
    private final long start;
    private int outcomes;

    VirtualTime() {
        scheduler.advanceTimeTo(W0);
        start = scheduler.now(TimeUnit.NANOSECONDS);
    }

    Scheduler scheduler() {
        return timers;
    }

    /** A limiter of this time without jitter. */
    RateLimiterSpec spec() {
        return RateLimiter.named("test").scheduler(this::scheduler).jitter(0);
    }

    RateLimiter limiter(Limit... limits) {
        return spec().limit(limits).build();
    }

    /** Virtual time since the start: T. */
    Duration elapsed() {
        return Duration.ofNanos(scheduler.now(TimeUnit.NANOSECONDS) - start);
    }

    /** Does something at T + {@code sinceStart}; what is said first of one instant comes first. */
    void at(Duration sinceStart, Runnable act) {
        scheduler.schedule(act, sinceStart.minus(elapsed()).toNanos(), TimeUnit.NANOSECONDS);
    }

    void advance(Duration by) {
        scheduler.advanceTimeBy(by);
    }

    /** Lets time go on to T + {@code sinceStart}. */
    void runTo(Duration sinceStart) {
        scheduler.advanceTimeBy(sinceStart.minus(elapsed()));
    }

    /** Those of a limiter's timers that have neither run nor been disposed. */
    int timers() {
        return timers.pending();
    }

    /** Subscribes one acquire now. */
    Asked ask(RateLimiter limiter, Demand demand) {
        Asked asked = new Asked(this);
        limiter.acquire(demand).subscribe(asked);
        return asked;
    }

    Asked ask(RateLimiter limiter) {
        return ask(limiter, Demand.one());
    }

    int nextTurn() {
        return ++outcomes;
    }
}
