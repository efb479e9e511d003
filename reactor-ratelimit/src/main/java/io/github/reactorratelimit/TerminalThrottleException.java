package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The server refused for a limit that waiting does not help with: a spend limit, an exhausted plan, a plain "do not retry".
 * Never tried again; closes nothing.
 */
public final class TerminalThrottleException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    private final String reason;
    private final int status;
    private final transient RateLimitSignal signal;

    TerminalThrottleException(
            String limiter, List<String> keys, String reason, RateLimitSignal signal, @Nullable Throwable cause) {
        super(
                limiter,
                keys,
                "The server refused a call under limiter '" + limiter + "' for good: " + reason
                        + ". Waiting does not help; it answered: "
                        + signal.toBuilder().reason(null).build(), // Which may tell how long to wait all the same.
                cause);
        this.reason = reason;
        this.status = signal.status();
        this.signal = signal;
    }

    /**
     * Why waiting does not help, as the dialect read it.
     *
     * @return a short reason
     */
    public String reason() {
        return reason;
    }

    /**
     * The status of the response.
     *
     * @return the HTTP status
     */
    public int status() {
        return status;
    }

    /**
     * What the response said.
     *
     * @return the signal
     */
    public RateLimitSignal signal() {
        return signal == null ? RateLimitSignal.none(status) : signal;
    }

    @Override
    public boolean mayHaveBeenSent() {
        return true;
    }
}
