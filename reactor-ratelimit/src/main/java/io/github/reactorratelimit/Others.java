package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds that a server counts more requests than we do, by more than what is in flight: then somebody else uses the quota
 * too. Told once per key, and of the first hundred keys only.
 */
final class Others {

    private static final int MOST = 100;

    /** A store has the books of all processes, and those here only say what this one took. */
    private final boolean shared;

    private int told;
    private @Nullable Finding found;

    Others(boolean shared) {
        this.shared = shared;
    }

    /** What a response says of a quota beside what our books say; only if they are those of the same limit. */
    void look(long now, Node leaf, Ticket ticket, RateLimitSignal signal) {
        List<Quota> quotas = signal.quotas();
        if (now - ticket.sentAt > WindowMeter.TRANSIT_NANOS) {
            return; // Since then some of what it counts has left our books.
        }
        for (int i = 0; i < quotas.size(); i++) {
            Quota quota = quotas.get(i);
            long counted = Throttle.used(quota);
            for (Node node = leaf; counted > 0 && node != null; node = node.parent) {
                WindowMeter same = same(node, quota);
                if (same != null) {
                    look(now, node, same, ticket, signal, quota, counted);
                    break;
                }
            }
        }
    }

    private void look(
            long now, Node node, WindowMeter meter, Ticket ticket, RateLimitSignal signal, Quota quota, long counted) {
        long ours = meter.counted(now);
        long leftToOthers = meter.limit.declaredPermits() - meter.limit.permits();
        if (counted - ours - leftToOthers > node.out(now, ticket)) {
            found(node, signal, quota, ours);
        }
    }

    /** A quota that is learned fell by more than we used of it, and are using. */
    void found(Node node, RateLimitSignal signal, Quota quota, long ours) {
        if (!shared && !node.toldOfOthers && told < MOST) {
            node.toldOfOthers = true;
            told++;
            found = new Finding(Tree.labels(node), signal.status(), Throttle.used(quota), quota, ours);
        }
    }

    /**
     * Whether all that a server counts may be ours: our books have as much, and it never refused what they let pass. Once it
     * did, its count has others in it even where it is not above ours.
     */
    static boolean countsOursOnly(long now, Node node, Quota quota) {
        WindowMeter same = node.gate.generation == 0 ? same(node, quota) : null;
        return same != null && same.counted(now) >= Throttle.used(quota);
    }

    private static @Nullable WindowMeter same(Node node, Quota quota) {
        for (Meter meter : node.meters.each) {
            boolean fits = quota.unit().equals(Limit.REQUESTS) && meter.limit.declaredPermits() == quota.limit();
            if (meter instanceof WindowMeter window
                    && meter.countsRequests
                    && fits
                    && isAsLong(quota, meter.limit.declaredPeriod())) {
                return window;
            }
        }
        return null;
    }

    /** Whether a quota's window may be of this length; if it isn't said, a longer reset tells. */
    private static boolean isAsLong(Quota quota, Duration period) {
        Duration reset = quota.reset();
        return quota.window() != null
                ? quota.window().equals(period)
                : reset == null || reset.compareTo(period.plusSeconds(1)) <= 0;
    }

    /** What the last response showed, if that is news; asked for once. */
    @Nullable
    Finding take() {
        Finding last = found;
        found = null;
        return last;
    }

    /** One line of the log. */
    record Finding(List<String> keys, int status, long counted, Quota quota, long ours) {

        private static final Logger LOG = LoggerFactory.getLogger(RateLimiter.class);

        void log(String limiter) {
            LOG.warn(
                    "limiter={} key={} status={} used={} remaining={} limit={} ours={}: somebody else uses this quota,"
                            + " or its calls cost more than they were asked for with",
                    limiter,
                    keys,
                    status,
                    Throttle.shown(counted),
                    Throttle.shown(quota.remaining()),
                    Throttle.shown(quota.limit()),
                    ours);
        }
    }
}
