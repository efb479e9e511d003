package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A call was tried as often as its policy allows. The cause is the last failure, earlier ones are suppressed in this (at
 * most ten).
 */
public final class RetriesExhaustedException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    private final int attempts;
    private final int status;
    private final @Nullable Duration lastHint;
    private final Duration waited;
    private final boolean sent;

    RetriesExhaustedException(
            String limiter,
            List<String> keys,
            String why,
            int attempts,
            int status,
            @Nullable Duration lastHint,
            Duration waited,
            boolean sent,
            Throwable last) {
        super(
                limiter,
                keys,
                "Gave up after " + attempts + " attempts and " + waited + " of waiting under limiter '" + limiter
                        + "', because " + why + "; the last outcome was "
                        + (status == 0 ? last.toString() : "status " + status) + ".",
                last);
        this.attempts = attempts;
        this.status = status;
        this.lastHint = lastHint;
        this.waited = waited;
        this.sent = sent;
    }

    /**
     * How often the call was sent or tried.
     *
     * @return the attempts, the first included
     */
    public int attempts() {
        return attempts;
    }

    /**
     * The last status.
     *
     * @return the HTTP status, 0 if the last attempt had no response
     */
    public int status() {
        return status;
    }

    /**
     * What the server asked to wait last.
     *
     * @return the last hint, or null if there was none
     */
    public @Nullable Duration lastHint() {
        return lastHint;
    }

    /**
     * The time the call waited for permits and backoffs, all attempts together.
     *
     * @return the time waited
     */
    public Duration waited() {
        return waited;
    }

    @Override
    public boolean mayHaveBeenSent() {
        return sent;
    }
}
