package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A wait would be longer than is allowed: than the demand's {@code maxWait}, the call's deadline, or the longest server
 * delay that is obeyed. It is never clipped and tried early; the time it would have taken is in here. Or no wait would do:
 * the demand costs more than a limit ever has, or a budget is spent.
 */
public final class RateLimitedException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    private final @Nullable Duration retryAfter;
    private final transient @Nullable Limit limit;
    private Prospect prospect = Prospect.LATER;

    /** What becomes of whoever asks the same again. */
    enum Prospect {
        /** It may pass, sooner or later. */
        LATER,
        /** It may pass once a breaker is closed. */
        BREAKER,
        /** It has waited all that it was allowed to. */
        WAITED,
        /** It never passes. */
        NEVER
    }

    RateLimitedException(
            String limiter,
            List<String> keys,
            String message,
            @Nullable Duration retryAfter,
            @Nullable Limit limit,
            @Nullable Throwable cause) {
        super(limiter, keys, message, cause);
        this.retryAfter = retryAfter;
        this.limit = limit;
    }

    /**
     * How long the call would have had to wait, from the moment it failed.
     *
     * @return the time, or null if it is not known, or not a matter of time
     */
    public @Nullable Duration retryAfter() {
        return retryAfter;
    }

    /**
     * The limit that stood in the way.
     *
     * @return the limit, or null if it was a closed scope or the line
     */
    public @Nullable Limit limit() {
        return limit;
    }

    RateLimitedException prospect(Prospect found) {
        prospect = found;
        return this;
    }

    Prospect prospect() {
        return prospect;
    }

    @Override
    RateLimitException after(Throwable last, boolean sent) {
        return new RateLimitedException(limiter(), keys(), String.valueOf(getMessage()), retryAfter, limit, last)
                .prospect(prospect)
                .sentBefore(sent);
    }
}
