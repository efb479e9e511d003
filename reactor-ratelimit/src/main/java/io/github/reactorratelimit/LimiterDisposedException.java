package io.github.reactorratelimit;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The limiter was disposed, or its scheduler was: nobody would ever grant this demand. */
public final class LimiterDisposedException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    LimiterDisposedException(String limiter, List<String> keys, @Nullable Throwable cause) {
        super(
                limiter,
                keys,
                "Limiter '" + limiter + "' is disposed"
                        + (cause == null ? "" : ", because its scheduler rejected a timer") + ".",
                cause);
    }

    /** A copy: all parts of a batch are refused by one, each after failures of its own. */
    @Override
    RateLimitException after(Throwable last, boolean sent) {
        LimiterDisposedException after = new LimiterDisposedException(limiter(), keys(), getCause());
        after.addSuppressed(last);
        return after.sentBefore(sent);
    }
}
