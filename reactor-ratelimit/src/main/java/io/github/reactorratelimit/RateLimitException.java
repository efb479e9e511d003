package io.github.reactorratelimit;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The family of this library's failures. They are values, made without a stack trace: a refusal is an everyday answer.
 */
public abstract sealed class RateLimitException extends RuntimeException
        permits RateLimitedException,
                QueueFullException,
                LimiterDisposedException,
                LimiterUnavailableException,
                AttemptTimeoutException,
                RefusedResponseException,
                RetriesExhaustedException,
                TerminalThrottleException {

    private static final long serialVersionUID = 1L;

    private final String limiter;
    private final transient List<String> keys;
    private boolean sentBefore;

    RateLimitException(String limiter, List<String> keys, String message, @Nullable Throwable cause) {
        super(message, cause, true, false);
        this.limiter = limiter;
        this.keys = List.copyOf(keys);
    }

    /**
     * The name of the limiter.
     *
     * @return the name
     */
    public String limiter() {
        return limiter;
    }

    /**
     * The scope keys of the demand from broad to narrow, as they are shown to people: endpoints as they are, credentials
     * as a short hash. Empty for the root scope.
     *
     * @return the keys
     */
    public List<String> keys() {
        return keys == null ? List.of() : keys;
    }

    /**
     * Whether the request may have reached the server, so that the caller of a write can check the state before trying
     * again.
     *
     * @return false only if it certainly was not sent
     */
    public boolean mayHaveBeenSent() {
        return sentBefore;
    }

    /**
     * Whether a call that failed with this error may have reached the server, for any error out of an operator of this
     * library.
     *
     * @param error what the call failed with
     * @return false only if it certainly was not sent
     */
    public static boolean mayHaveBeenSent(Throwable error) {
        return error instanceof RateLimitException ours ? ours.mayHaveBeenSent() : !NotSent.isMarked(error);
    }

    /** This refusal as what came of a call that had failed with {@code last} before, and may have been sent by then. */
    RateLimitException after(Throwable last, boolean sent) {
        addSuppressed(last);
        return sentBefore(sent);
    }

    final RateLimitException sentBefore(boolean sent) {
        sentBefore = sent;
        return this;
    }
}
