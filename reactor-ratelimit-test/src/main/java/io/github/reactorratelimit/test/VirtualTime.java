package io.github.reactorratelimit.test;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import reactor.core.scheduler.Scheduler;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * The time of one test: a virtual scheduler of its own, with its wall clock set, and the limiters that are watched for
 * leaks. In JUnit 5 a test gets one by {@link InVirtualTime}; elsewhere {@link #startingAt(Instant)} makes one and {@link
 * #checkLeaks()} ends it.
 *
 * <pre>{@code
 * @InVirtualTime
 * class PagesTest {
 *     @Test
 *     void twelve_pages_take_two_waits(VirtualTime time) {
 *         RateLimiter limiter = time.limiter(RateLimiter.named("pages").limit(Limit.of(5, ofSeconds(10))));
 *         StepVerifier pages = StepVerifier.create(pages(limiter)).expectNextCount(12).expectComplete().verifyLater();
 *         time.advance(ofSeconds(21));
 *         pages.verify(Duration.ZERO);
 *     }
 * }
 * }</pre>
 *
 * <p>The scheduler is private: {@code Schedulers.parallel()} stays real, so tests may run side by side, and what is to
 * follow virtual time has to be given {@link #scheduler()}. Tasks run on the thread that advances the time, or schedules
 * what is due at once. The methods may be called from any thread.
 */
public final class VirtualTime {

    /** What a virtual clock of nanoseconds can hold. */
    private static final Instant LAST = Instant.EPOCH.plusNanos(Long.MAX_VALUE);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final WatchedScheduler scheduler = new WatchedScheduler(time);
    private final List<RateLimiter> watched = new CopyOnWriteArrayList<>();

    private VirtualTime(Instant wallClock) {
        time.advanceTimeBy(Duration.between(Instant.EPOCH, wallClock));
    }

    /**
     * A time of its own.
     *
     * @param wallClock what the wall clock shows at the start, from 1970 to the year 2262
     * @return the time, at its start
     * @throws IllegalArgumentException if a virtual clock can't show that instant
     */
    public static VirtualTime startingAt(Instant wallClock) {
        if (wallClock.isBefore(Instant.EPOCH) || wallClock.isAfter(LAST)) {
            throw new IllegalArgumentException(
                    "a virtual wall clock must be between " + Instant.EPOCH + " and " + LAST + ", was " + wallClock);
        }
        return new VirtualTime(wallClock);
    }

    /**
     * The scheduler whose time this is. It counts the tasks that are still to run, which is why it is not the {@link
     * VirtualTimeScheduler} itself.
     *
     * @return the scheduler, for limiters, operators and services
     */
    public Scheduler scheduler() {
        return scheduler;
    }

    /**
     * Lets time pass and runs what becomes due, each task at its own instant.
     *
     * @param span how long, not negative; {@link Duration#ZERO} runs what is due now
     * @throws IllegalArgumentException if the span is negative, or ends after the year 2262
     */
    public void advance(Duration span) {
        Checks.notNegative("the time to pass", span);
        if (span.compareTo(Duration.between(wallNow(), LAST)) > 0) {
            throw new IllegalArgumentException("virtual time ends at " + LAST + ", was to pass it by " + span);
        }
        time.advanceTimeBy(span);
    }

    /**
     * Lets time pass until the wall clock shows an instant.
     *
     * @param instant not before {@link #wallNow()}
     * @throws IllegalArgumentException if the instant has passed
     */
    public void advanceTo(Instant instant) {
        advance(Duration.between(wallNow(), instant));
    }

    /**
     * What the wall clock shows.
     *
     * @return the instant, exact to the nanosecond
     */
    public Instant wallNow() {
        return Instant.EPOCH.plusNanos(time.now(NANOSECONDS));
    }

    /**
     * Builds a limiter in this time and watches it.
     *
     * @param spec what it is built from; its scheduler is replaced
     * @return the limiter
     */
    public RateLimiter limiter(RateLimiterSpec spec) {
        return watch(spec.scheduler(this::scheduler).build());
    }

    /**
     * Watches a limiter that was built elsewhere, in whatever time.
     *
     * @param limiter the limiter
     * @param <L> its type
     * @return the same limiter
     */
    public <L extends RateLimiter> L watch(L limiter) {
        watched.add(limiter);
        return limiter;
    }

    /**
     * Simulates a service in this time.
     *
     * @param rules what it does
     * @return a service with nothing counted and no latency
     */
    public SimulatedService simulate(ServiceRules rules) {
        return rules.simulate().on(this::scheduler);
    }

    /**
     * Fails if a watched limiter still has permits in flight, waiting demands or timers, or if tasks are still to run on
     * the scheduler. A permit that was not released costs a pure rate limit nothing and is no leak.
     *
     * @throws AssertionError if something is left over; it names limiter, key, limit and counts
     */
    public void checkLeaks() {
        List<String> leaks = new ArrayList<>();
        for (RateLimiter limiter : watched) {
            leaks.addAll(Leaks.of(limiter.snapshot()));
        }
        for (String task : scheduler.leftOver()) {
            leaks.add("task on the private scheduler: " + task);
        }
        if (!leaks.isEmpty()) {
            throw new AssertionError(
                    "Left over at " + wallNow() + ":" + System.lineSeparator() + Lines.indented(leaks));
        }
    }

    @Override
    public String toString() {
        return "VirtualTime[" + wallNow() + "]";
    }
}
