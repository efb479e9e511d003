package io.github.reactorratelimit;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a limiter answers at once: allowed or not, and the figures of the limit that decided, which is the one that
 * refuses longest or else the one with the least left, each counted in units of its own. Not for several threads.
 */
public final class Decision {

    private final long waitNanos;
    private final long remaining;
    private final long fullAfterNanos;
    private final @Nullable Limit limit;
    private final Admission admission;
    private final Demand demand;
    private final @Nullable Slot slot;
    private final long grantedAt;
    private final long generation;
    private @Nullable BarePermit permit;

    Decision(
            long waitNanos,
            long remaining,
            long fullAfterNanos,
            @Nullable Limit limit,
            Admission admission,
            Demand demand,
            @Nullable Slot slot,
            long grantedAt,
            long generation,
            @Nullable BarePermit permit) {
        this.waitNanos = waitNanos;
        this.remaining = remaining;
        this.fullAfterNanos = fullAfterNanos;
        this.limit = limit;
        this.admission = admission;
        this.demand = demand;
        this.slot = slot;
        this.grantedAt = grantedAt;
        this.generation = generation;
        this.permit = permit;
    }

    /** As long as nobody has asked who decides: refused, for an unknown time unless it is known that it would be. */
    Decision unasked() {
        return allowed()
                ? new Decision(Exact.NEVER, 0, Exact.NEVER, null, admission, demand, null, grantedAt, generation, null)
                : this;
    }

    /**
     * Whether the demand may go now.
     *
     * @return true if allowed
     */
    public boolean allowed() {
        return waitNanos == 0;
    }

    /**
     * The permit of an allowed {@code tryAcquire}; release it if the limiter bounds calls in flight.
     *
     * @return the permit
     * @throws IllegalStateException if there is none: refused, or only estimated
     */
    public Permit permit() {
        Slot granted = slot;
        if (granted == null) {
            throw new IllegalStateException("there is a permit only if tryAcquire allowed it: " + this);
        }
        if (permit == null) {
            // Nothing has to be given back, so nobody has missed it until now.
            permit = BarePermit.granted(admission, demand, granted, grantedAt, generation);
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
     * @return the limit, or null if none applies: there is none, or the scope is closed
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
        return waitNanos == Exact.NEVER ? null : Duration.ofNanos(waitNanos);
    }

    /**
     * How long until the deciding limit is full again if nothing more is taken.
     *
     * @return the time, or null if it is not a matter of time
     */
    public @Nullable Duration resetAfter() {
        return fullAfterNanos == Exact.NEVER ? null : Duration.ofNanos(fullAfterNanos);
    }

    @Override
    public String toString() {
        Duration wait = retryAfter();
        String refused = wait == null ? "refused for an unknown time" : "refused, retry after " + wait;
        return (allowed() ? "allowed" : refused) + (limit == null ? "" : ", " + remaining() + " left of " + limit);
    }
}
