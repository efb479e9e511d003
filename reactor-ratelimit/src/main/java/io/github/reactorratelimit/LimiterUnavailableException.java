package io.github.reactorratelimit;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The store that many processes share their limits in is out of order, and the limiter was told to fail then. */
public final class LimiterUnavailableException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    LimiterUnavailableException(String limiter, List<String> keys, @Nullable Throwable cause) {
        super(
                limiter,
                keys,
                "Limiter '" + limiter + "' can't decide, because its store is out of order"
                        + (cause == null ? "" : ": " + cause.getMessage())
                        + ". A store that names how many processes share it, as failOpen does, lets each go on with its part"
                        + " meanwhile.",
                cause);
    }

    /** A copy: all parts of a batch are refused by one, each after failures of its own. */
    @Override
    RateLimitException after(Throwable last, boolean sent) {
        LimiterUnavailableException after = new LimiterUnavailableException(limiter(), keys(), getCause());
        after.addSuppressed(last);
        return after.sentBefore(sent);
    }
}
