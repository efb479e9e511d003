package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;

/** An attempt had no response head within the attempt timeout, or before the call's deadline. The server may have acted on it. */
public final class AttemptTimeoutException extends RateLimitException {

    private static final long serialVersionUID = 1L;

    private final Duration timeout;
    private final boolean sent;

    AttemptTimeoutException(String limiter, List<String> keys, Duration timeout, boolean sent) {
        super(
                limiter,
                keys,
                "No answer within " + timeout + " under limiter '" + limiter
                        + "'. Raise attemptTimeout or the deadline, or say noTimeout() for calls without an end.",
                null);
        this.timeout = timeout;
        this.sent = sent;
    }

    /**
     * How long the attempt had: the attempt timeout, or what was left of the deadline.
     *
     * @return the time from sending in which there was no response head
     */
    public Duration timeout() {
        return timeout;
    }

    @Override
    public boolean mayHaveBeenSent() {
        return sent;
    }
}
