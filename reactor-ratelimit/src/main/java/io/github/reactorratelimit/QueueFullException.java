package io.github.reactorratelimit;

import java.util.List;

/** There is no room to wait: {@code maxPending} demands wait already. Nothing was taken. */
public final class QueueFullException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    private final int maxPending;

    QueueFullException(String limiter, List<String> keys, int maxPending, String where) {
        super(
                limiter,
                keys,
                "Limiter '" + limiter + "' already has " + maxPending + " demands waiting in " + where
                        + ". Slow the caller down, or raise maxPending.",
                null);
        this.maxPending = maxPending;
    }

    /**
     * The bound that was reached.
     *
     * @return the most demands that may wait
     */
    public int maxPending() {
        return maxPending;
    }
}
