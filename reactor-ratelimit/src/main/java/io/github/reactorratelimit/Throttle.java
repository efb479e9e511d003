package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * That a scope was closed, or a call refused for good, for the log: one line, at WARN if a call was refused, at INFO if a
 * quota is used up before one was. Of the response it tells figures and the rule that decided; the log's own time is when it was heard.
 */
final class Throttle {

    private static final Logger LOG = LoggerFactory.getLogger(RateLimiter.class);
    private static final String LINE = "limiter={} key={} status={} used={} remaining={} limit={} wait={}: {}";

    private final List<String> keys;
    private final RateLimitSignal signal;
    private final long waitNanos;
    private boolean widened;

    Throttle(Node closed, RateLimitSignal signal, long waitNanos) {
        this.keys = Tree.labels(closed);
        this.signal = signal;
        this.waitNanos = waitNanos;
    }

    long waitNanos() {
        return waitNanos;
    }

    /** Of a key that the response did not name: closed because several below it were refused. */
    Throttle widened() {
        widened = true;
        return this;
    }

    void log(String limiter) {
        LOG.atLevel(signal.throttled() ? Level.WARN : Level.INFO).log(LINE, figures(limiter));
    }

    /** Of an answer that is several responses in one; what closes a scope no longer than another of them is not repeated. */
    static void log(String limiter, @Nullable Throttle... all) {
        for (int i = 0; i < all.length; i++) {
            Throttle one = all[i];
            boolean said = one == null;
            for (int before = 0; one != null && before < i; before++) {
                said |= one.addsNothingTo(all[before]);
            }
            if (one != null && !said) {
                one.log(limiter);
            }
        }
    }

    private boolean addsNothingTo(@Nullable Throttle other) {
        return other != null
                && keys.equals(other.keys)
                && signal.throttled() == other.signal.throttled()
                && waitNanos <= other.waitNanos;
    }

    private Object[] figures(String limiter) {
        Quota quota = decisive();
        return new Object[] {
            limiter,
            keys,
            signal.status(),
            quota == null ? "?" : shown(used(quota)),
            quota == null ? "?" : shown(quota.remaining()),
            quota == null ? "?" : shown(quota.limit()),
            Duration.ofNanos(waitNanos),
            rule()
        };
    }

    private String rule() {
        if (signal.terminal() != null) {
            return "no wait helps, " + signal.terminal();
        }
        String rule = signal.reason() == null ? "no rule was given" : signal.reason();
        return widened ? rule + "; a second key in it is refused, and neither response named a scope" : rule;
    }

    /** Of the quotas that are used up, the one with the longest reset; without one, the first. */
    private @Nullable Quota decisive() {
        Quota decisive = null;
        for (Quota quota : signal.quotas()) {
            if (decisive == null || outlasts(quota, decisive)) {
                decisive = quota;
            }
        }
        return decisive;
    }

    private static boolean outlasts(Quota quota, Quota other) {
        if (quota.exhausted() != other.exhausted()) {
            return quota.exhausted();
        }
        Duration reset = quota.reset();
        Duration otherReset = other.reset();
        return quota.exhausted() && reset != null && (otherReset == null || reset.compareTo(otherReset) > 0);
    }

    /** What a quota says is used, or what follows from what is left; -1 if neither is told. */
    static long used(Quota quota) {
        boolean told = quota.used() >= 0 || quota.limit() < 0 || quota.remaining() < 0;
        return told ? quota.used() : Math.max(0, quota.limit() - quota.remaining());
    }

    /** A figure in the log; negative if it isn't known. */
    static String shown(long count) {
        return count < 0 ? "?" : Long.toString(count);
    }
}
