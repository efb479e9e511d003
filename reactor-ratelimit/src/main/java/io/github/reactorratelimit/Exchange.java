package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;

/**
 * One attempt as an adapter for a client sees it: it tells when the request is written and what the response head said,
 * and is told what to do with the response.
 */
public interface Exchange {

    /**
     * The most of a discarded body that an adapter reads to keep its connection; beyond that closing is cheaper. It is more
     * than any page that tells of a refusal, and less than what a download of the wrong kind would be.
     */
    long DRAINED_BYTES = 2 * 1024 * 1024;

    /**
     * Tells that the request is about to be written. From now on the server may see it: a cancel no longer gives the permit
     * back, and a failure {@linkplain RateLimitException#mayHaveBeenSent() may have been sent}. An adapter that cannot tell
     * leaves it out.
     */
    default void sending() {}

    /** Tells that the request is written now. The attempt timeout starts, and rate limits count from here. */
    void sent();

    /**
     * Tells the response head, once. What it says is heard before this returns: a scope that has to close is closed.
     *
     * @param status the HTTP status
     * @param headers the header lines
     * @return what to do with the response
     */
    Verdict head(int status, Headers headers);

    /**
     * Where the permit of this attempt comes from.
     *
     * @return the source as it was handed to {@link PermitSource#use} or {@link PermitSource#firstWithin}, else the
     *     operator that made the attempt
     */
    PermitSource source();

    /**
     * Corrects an estimated cost, as {@link Permit#settle} does: with the usage that an answer tells, or the last piece of
     * a stream.
     *
     * @param unit the unit of the cost
     * @param actual what was really used, not negative
     * @throws IllegalArgumentException if the figure is negative
     */
    void settle(String unit, long actual);

    /**
     * Hears what something after the response head said about limits, such as an event in a stream that tells of an
     * overload. It closes scopes for those who come later; what becomes of this attempt is up to whoever reads the stream.
     *
     * @param signal what it said
     */
    void hear(RateLimitSignal signal);

    /**
     * How many bytes of the body are wanted before the verdict, for dialects that read bodies.
     *
     * @param status the HTTP status
     * @param headers the header lines
     * @return the bytes, 0 if {@link #head(int, Headers)} can be told at once
     */
    int bodyBytes(int status, Headers headers);

    /**
     * Tells head and body together, once, instead of {@link #head(int, Headers)}.
     *
     * @param status the HTTP status
     * @param headers the header lines
     * @param body the first bytes of the body, at most as many as were wanted; not changed, not kept
     * @return what to do with the response
     */
    Verdict head(int status, Headers headers, byte[] body);

    /**
     * Tells that a body is being read, to look into it or to drain it, and starts the time that this may take, 1 s, anew. The
     * attempt timeout is over with the head.
     *
     * @param over run once, on a thread of the limiter's scheduler, if the attempt has not ended by then; it has to see to
     *     it that the attempt goes on without the rest of the body: that it tells what it has read, or that it ends
     */
    void draining(Runnable over);

    /**
     * Tells how far the attempt got, before it ends in an error. The {@link FailureReader}s of the operator know better: it
     * holds only for an error that none of them knows.
     *
     * @param failure what the error will mean
     */
    void failing(Failure failure);

    /**
     * Keeps the permit beyond the end of this attempt of an {@link RateLimitOperator#exchange exchange}, for a response
     * whose body is still to come. Told after a verdict that passes and before the response is handed on; without a response
     * the attempt ends as ever. Cancelling the call after that still cancels the attempt's source, and gives the permit
     * back.
     *
     * @return gives the permit back; idempotent, on any thread
     */
    Runnable hold();

    /**
     * Tells that this attempt uses up what another one would need, such as a body that can be sent once only. Whatever comes
     * of it reaches the caller: it is not tried again.
     */
    void unrepeatable();

    /**
     * The number of this attempt.
     *
     * @return 1 for the first
     */
    int attempt();
}
