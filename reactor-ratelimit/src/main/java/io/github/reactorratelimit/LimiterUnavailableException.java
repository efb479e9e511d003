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
                        + ". Choose failOpen to go on with a part of the limits meanwhile.",
                cause);
    }
}
