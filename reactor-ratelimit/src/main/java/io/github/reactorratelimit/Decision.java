package io.github.reactorratelimit;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a limiter answers at once: allowed or not, and the figures of the limit that decided, which is the one that
 * refuses longest or else the one with the least left.
 */
public final class Decision {

    private final boolean allowed;
    private final long remaining;
    private final long retryAfterNanos;
    private final long resetAfterNanos;
    private final @Nullable Limit limit;
    private @Nullable Permit permit;

    Decision(
            boolean allowed,
            long remaining,
            long retryAfterNanos,
            long resetAfterNanos,
            @Nullable Limit limit,
            @Nullable Permit permit) {
        this.allowed = allowed;
        this.remaining = remaining;
        this.retryAfterNanos = retryAfterNanos;
        this.resetAfterNanos = resetAfterNanos;
        this.limit = limit;
        this.permit = permit;
    }

    /**
     * Whether the demand may go now.
     *
     * @return true if allowed
     */
    public boolean allowed() {
        return allowed;
    }

    /**
     * The permit of an allowed {@code tryAcquire}; release it if the limiter bounds calls in flight.
     *
     * @return the permit
     * @throws IllegalStateException if there is none: refused, or only estimated
     */
    public Permit permit() {
        if (permit == null) {
            throw new IllegalStateException("there is a permit only if tryAcquire allowed it: " + this);
        }
        return permit;
    }

    /**
     * What the deciding limit has left after this decision.
     *
     * @return permits, never negative; {@link Long#MAX_VALUE} if there is no limit
     */
    public long remaining() {
        return Math.max(0, remaining);
    }

    /**
     * The limit that decided.
     *
     * @return the limit, or null if none applies: there is none, or the scope is closed, or others wait already
     */
    public @Nullable Limit limit() {
        return limit;
    }

    /**
     * How long until the demand could pass, as far as it is known; never zero for a refusal.
     *
     * @return zero if allowed; null if it is not a matter of time (calls in flight, a budget that is spent)
     */
    public @Nullable Duration retryAfter() {
        return retryAfterNanos == Exact.NEVER ? null : Duration.ofNanos(retryAfterNanos);
    }

    /**
     * How long until the deciding limit is full again if nothing more is taken.
     *
     * @return the time, or null if it is not a matter of time
     */
    public @Nullable Duration resetAfter() {
        return resetAfterNanos == Exact.NEVER ? null : Duration.ofNanos(resetAfterNanos);
    }

    @Override
    public String toString() {
        return (allowed ? "allowed" : "refused, retry after " + retryAfter())
                + (limit == null ? "" : ", " + remaining() + " left of " + limit);
    }
}
