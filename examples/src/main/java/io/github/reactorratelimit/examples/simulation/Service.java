package io.github.reactorratelimit.examples.simulation;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServerLimit;
import io.github.reactorratelimit.test.ServerLimit.Standing;
import io.github.reactorratelimit.test.ServiceRules;
import io.github.reactorratelimit.test.SimulatedRequest;
import io.github.reactorratelimit.test.SimulatedService;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/**
 * A server that gives 5 per 10 s, each kind in its own way, and whose clock is 41.3 s ahead.
 *
 * @param name what it is called in tables
 * @param file what it is called in the names of files
 * @param hidden how it counts
 * @param known what a client would configure that knows it
 * @param takes how long it works on a request
 * @param hints whether it tells its quota and for how long to wait
 */
record Service(String name, String file, ServerLimit hidden, Limit known, Duration takes, boolean hints) {

    static final int PERMITS = 5;
    static final Duration PERIOD = Duration.ofSeconds(10);
    private static final Duration AHEAD = Duration.ofMillis(41_300);
    private static final String PATH = "/search";

    static Service sliding() {
        return windowed("sliding window", "sliding", ServerLimit.slidingWindow(PERMITS, PERIOD));
    }

    static List<Service> all() {
        return List.of(
                windowed("fixed window", "fixed", ServerLimit.fixedWindow(PERMITS, PERIOD)),
                windowed("aligned window", "aligned", ServerLimit.alignedWindow(PERMITS, PERIOD)),
                sliding(),
                windowed("token bucket", "bucket", ServerLimit.bucket(PERMITS, PERMITS, PERIOD)),
                new Service(
                        "calls in flight",
                        "in-flight",
                        ServerLimit.inFlight(PERMITS, PERIOD),
                        Limit.inFlight(PERMITS),
                        PERIOD,
                        true));
    }

    private static Service windowed(String name, String file, ServerLimit hidden) {
        return new Service(name, file, hidden, Limit.of(PERMITS, PERIOD), Duration.ZERO, true);
    }

    Service silent() {
        return new Service(name, file + "-silent", hidden, known, takes, false);
    }

    SimulatedService in(World world) {
        ServiceRules rules = ServiceRules.create()
                .limit(PATH, hidden)
                .reply(PATH, Reply.ok().after(takes))
                .clockAhead(AHEAD);
        return (hints ? rules : rules.withoutHints())
                .simulate()
                .on(() -> world.time)
                .latency(world.way, world.way);
    }

    static SimulatedRequest request() {
        return SimulatedRequest.get(PATH);
    }

    /** When the last of these calls is answered if each goes at the first instant at which it passes, and no way takes time. */
    Duration optimum(List<Duration> wanted) {
        ServerLimit.Counter counter = hidden.newCounter();
        long start = World.START.plus(AHEAD).toEpochMilli();
        Queue<Duration> line = new ArrayDeque<>(wanted);
        long now = start;
        while (!line.isEmpty()) {
            now = Math.max(now, start + line.element().toMillis());
            Standing standing = counter.look(now);
            if (standing.remaining() > 0) {
                counter.take(now);
                line.remove();
            } else {
                now = standing.retryMillis();
            }
        }
        return Duration.ofMillis(now - start).plus(takes);
    }
}
