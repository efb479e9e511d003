package io.github.reactorratelimit.signal;

import java.util.function.BiFunction;

/**
 * Reads what one response says about limits into a {@link RateLimitSignal}.
 *
 * <p>A dialect is a pure function: no clock, no state, no side effect; it is called on the thread that receives the
 * response and must not block. It never throws: what it cannot read is as if absent.
 */
@FunctionalInterface
public interface Dialect {

    /**
     * Reads the head of a response.
     *
     * @param status the HTTP status
     * @param headers the header lines
     * @param wallNowMillis the client's wall clock at receipt, in milliseconds since the epoch; used only where the
     *     response has no {@code Date} of its own
     * @return what the response said, {@link RateLimitSignal#none(int)} if nothing
     */
    RateLimitSignal read(int status, Headers headers, long wallNowMillis);

    /**
     * How many bytes of this response's body {@link #readBody} wants to see. Zero, the default, means that the body is
     * left alone.
     *
     * @param status the HTTP status
     * @param headers the header lines
     * @return an upper bound in bytes, 0 for none
     */
    default int bodyBytes(int status, Headers headers) {
        return 0;
    }

    /**
     * Reads head and body together. Called instead of {@link #read} only if {@link #bodyBytes} asked for the body. The
     * default ignores the body.
     *
     * @param status the HTTP status
     * @param headers the header lines
     * @param body the first bytes of the body, as many as were asked for or fewer; must not be changed or kept
     * @param wallNowMillis the client's wall clock at receipt, in milliseconds since the epoch
     * @return what the response said
     */
    default RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
        return read(status, headers, wallNowMillis);
    }

    /**
     * This dialect with one header read under another name, for a server that means a known header but calls it
     * differently: {@code Dialects.standard().alias("x-rate-limit-reset", "x-rate-limit-reset-ms")}.
     *
     * @param theirs the name that the server uses, in any case
     * @param ours the name that this dialect knows
     * @return a new dialect
     * @throws IllegalArgumentException if either can't be the name of a header
     */
    default Dialect alias(String theirs, String ours) {
        return new AliasDialect(this, theirs, ours);
    }

    /**
     * This dialect with its signals passed through a function, for a server's rules that no header tells:
     *
     * <pre>{@code
     * Dialects.standard().adjust((signal, headers) -> signal.throttled() && signal.delay() == null
     *         ? signal.toBuilder().delay(Duration.ofSeconds(30)).guessed(true).build()
     *         : signal);
     * }</pre>
     *
     * @param change from the signal and the header lines to the signal that holds; must not throw and not block
     * @return a new dialect
     */
    default Dialect adjust(BiFunction<RateLimitSignal, Headers, RateLimitSignal> change) {
        return new AdjustedDialect(this, change);
    }
}
