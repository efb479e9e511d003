package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;

/**
 * A response that was not handed on, as the cause of what the caller gets instead: its status and what it said about
 * limits.
 */
public final class RefusedResponseException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    private final int status;
    private final transient RateLimitSignal signal;

    RefusedResponseException(String limiter, List<String> keys, RateLimitSignal signal) {
        super(limiter, keys, "The server answered: " + signal, null);
        this.status = signal.status();
        this.signal = signal;
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
