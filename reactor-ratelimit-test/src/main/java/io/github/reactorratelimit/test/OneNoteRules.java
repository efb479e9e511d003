package io.github.reactorratelimit.test;

import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/**
 * OneNote in Microsoft Graph as a service for tests: all six published limits, and the throttling that makes retries
 * grow into a spiral. Immutable; every method that changes something returns a copy, so one set of rules can be started
 * or simulated many times, each with counts of its own.
 *
 * <ul>
 *   <li>120 requests per minute, 400 per hour and 5 in flight per user, who is the request's {@linkplain
 *       SimulatedRequest#token() token}; 240 per minute, 800 per hour and 20 in flight per application, which is
 *       everybody. The windows are sliding; refused requests don't count in them.
 *   <li>Above a limit the answer is a 429 with {@code x-ms-throttle-scope: User}, {@code Application} or both, and
 *       <em>without</em> {@code Retry-After}. The scope is throttled for 30 seconds then, and each call that comes
 *       meanwhile is refused and starts the 30 seconds anew.
 *   <li>From a use of 0.8 on, answers have {@code x-ms-throttle-limit-percentage}: the use of the fullest of the six
 *       limits; at least 1 when they are refused.
 *   <li>Any path is served, with a 200 that tells how many were. A request is in flight for as long as it
 *       {@linkplain #takes takes}.
 *   <li>A POST to a path that ends with {@code /$batch} is a batch of 1 to 20 requests, which need jackson-core on the
 *       class path. It costs nothing itself; its parts count, are refused and fail one by one, inside a 200 and not in
 *       their order; one that depends on a part that failed is a 424 and does not count. The {@link RequestLog} has each
 *       part as a request of its own, in front of the batch.
 * </ul>
 *
 * <p>The figures are those of <a href="https://learn.microsoft.com/graph/throttling-limits#onenote-service-limits">OneNote
 * service limits</a>, version of 2025-01-14. The length of the throttle isn't published; 30 seconds is this model's.
 */
public final class OneNoteRules {

    private static final OneNoteRules STANDARD = new OneNoteRules(Duration.ZERO, List.of());

    private final Duration takes;
    private final List<Fault> faults;

    private OneNoteRules(Duration takes, List<Fault> faults) {
        this.takes = takes;
        this.faults = faults;
    }

    /**
     * A service that answers at once and in which nothing goes wrong.
     *
     * @return the rules
     */
    public static OneNoteRules create() {
        return STANDARD;
    }

    /**
     * Sets how long a request takes at the service, and is in flight there; 0 unless said.
     *
     * @param duration not negative
     * @return a copy with that duration
     */
    public OneNoteRules takes(Duration duration) {
        return new OneNoteRules(Checks.notNegative("how long a request takes", duration), faults);
    }

    /**
     * Lets something go wrong. A fault sees the requests and parts of batches that the limits let through, all users
     * together; of several that strike, the one added first does.
     *
     * @param fault what goes wrong and when; for parts of batches, with an answer that has a head
     * @return a copy with that fault
     */
    public OneNoteRules fault(Fault fault) {
        List<Fault> more = new ArrayList<>(faults);
        more.add(fault);
        return new OneNoteRules(takes, List.copyOf(more));
    }

    /**
     * The decisions alone, without a clock and without sockets.
     *
     * @return a service with nothing counted
     */
    public RateLimitedService service() {
        return new RateLimitedService(new OneNoteDecisions(this));
    }

    /**
     * Runs in the time of the scheduler in force, without sockets.
     *
     * @return a service with nothing counted and no latency
     */
    public SimulatedService simulate() {
        return SimulatedService.of(service());
    }

    /**
     * Starts a real server on a free port of 127.0.0.1 and the system's clock. Blocks until it listens.
     *
     * @return the running server
     */
    public RateLimitedServer start() {
        return start(InstantSource.system());
    }

    /**
     * Starts a real server whose windows and throttles follow a clock of the test. Only the counting follows it; what a
     * request takes is real. Blocks until it listens.
     *
     * @param clock tells the server's time
     * @return the running server
     */
    public RateLimitedServer start(InstantSource clock) {
        return RateLimitedServer.start(service(), clock, false);
    }

    Duration takes() {
        return takes;
    }

    List<Fault> faults() {
        return faults;
    }
}
