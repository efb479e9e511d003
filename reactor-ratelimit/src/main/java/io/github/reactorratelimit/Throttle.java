package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** That a scope was closed, for the log. */
final class Throttle {

    private static final Logger LOG = LoggerFactory.getLogger(RateLimiter.class);

    private final List<String> keys;
    private final RateLimitSignal signal;
    private final long waitNanos;

    Throttle(Node closed, RateLimitSignal signal, long waitNanos) {
        this.keys = Tree.labels(closed);
        this.signal = signal;
        this.waitNanos = waitNanos;
    }

    long waitNanos() {
        return waitNanos;
    }

    void log(String limiter) {
        if (signal.throttled()) {
            LOG.warn("limiter={} key={} status={} wait={}: {}", limiter, keys, signal.status(), pause(), signal);
        } else {
            LOG.info("limiter={} key={} status={} wait={}: {}", limiter, keys, signal.status(), pause(), signal);
        }
    }

    private Duration pause() {
        return Duration.ofNanos(waitNanos);
    }
}
