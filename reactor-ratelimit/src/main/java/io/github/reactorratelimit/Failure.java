package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What an exception says about a call: that there was a response after all, or how far the call got. It decides whether
 * the call is tried again.
 */
public final class Failure {

    enum Kind {
        /** There was a response; its status and headers decide. */
        RESPONSE,
        /** Nothing reached the server: any call may be tried again. */
        NOT_SENT,
        /** The server may have acted: only idempotent calls may be tried again. */
        INTERRUPTED,
        /** Nothing reached the server, and trying again would not help. */
        REFUSED,
        /** Trying again would not help. */
        FINAL
    }

    /** How many causes of an error are looked at: they may go in a circle. */
    static final int MOST_CAUSES = 20;

    private static final int TOO_MANY_REQUESTS = 429;
    private static final int NANO_DIGITS = 9;
    private static final Headers NO_HEADERS = Headers.of();
    private static final Failure NOT_SENT = new Failure(Kind.NOT_SENT, 0, NO_HEADERS, null);
    private static final Failure INTERRUPTED = new Failure(Kind.INTERRUPTED, 0, NO_HEADERS, null);
    private static final Failure REFUSED = new Failure(Kind.REFUSED, 0, NO_HEADERS, null);
    private static final Failure FINAL = new Failure(Kind.FINAL, 0, NO_HEADERS, null);

    private final Kind kind;
    private final int status;
    private final Headers headers;
    private final byte @Nullable [] body;
    private final @Nullable String proxy;

    private Failure(Kind kind, int status, Headers headers, byte @Nullable [] body) {
        this(kind, status, headers, body, null);
    }

    private Failure(Kind kind, int status, Headers headers, byte @Nullable [] body, @Nullable String proxy) {
        this.kind = kind;
        this.status = status;
        this.headers = headers;
        this.body = body;
        this.proxy = proxy;
    }

    /**
     * The exception stands for a response.
     *
     * @param status its HTTP status
     * @param headers its header lines
     * @return the failure
     */
    public static Failure response(int status, Headers headers) {
        return new Failure(Kind.RESPONSE, status, headers, null);
    }

    /**
     * The exception stands for a response and has its body, which the dialect may want to see.
     *
     * @param status its HTTP status
     * @param headers its header lines
     * @param body its body or the first bytes of it; not changed
     * @return the failure
     */
    public static Failure response(int status, Headers headers, byte[] body) {
        return new Failure(Kind.RESPONSE, status, headers, body);
    }

    /**
     * The server refused the call for a limit, and the client has no status or headers to show for it. Taken for a 429: the
     * scope closes for all its callers, and the call is tried again for any method.
     *
     * @param retryAfter the delay that the server asks for; null or negative if it asks for none
     * @return the failure
     */
    public static Failure throttled(@Nullable Duration retryAfter) {
        return retryAfter == null || retryAfter.isNegative()
                ? response(TOO_MANY_REQUESTS, NO_HEADERS)
                : response(TOO_MANY_REQUESTS, Headers.of("Retry-After", seconds(retryAfter)));
    }

    private static String seconds(Duration delay) {
        return BigDecimal.valueOf(delay.getSeconds())
                .add(BigDecimal.valueOf(delay.getNano(), NANO_DIGITS))
                .toPlainString();
    }

    /**
     * Nothing reached the server: refused connections, refused streams, names that do not resolve. Tried again for any
     * method.
     *
     * @return the failure
     */
    public static Failure notSent() {
        return NOT_SENT;
    }

    /**
     * The call broke off after it was sent, or may have been. Tried again only if it is idempotent.
     *
     * @return the failure
     */
    public static Failure interrupted() {
        return INTERRUPTED;
    }

    /**
     * Nothing reached the server, and trying again would not help: a proxy that refuses the login, a certificate that is not
     * trusted. Never tried again.
     *
     * @return the failure
     */
    public static Failure refused() {
        return REFUSED;
    }

    /**
     * Trying again would not help, and the server may have acted. Never tried again.
     *
     * @return the failure
     */
    public static Failure fatal() {
        return FINAL;
    }

    /**
     * It was a proxy that did not let the call through. It decides nothing; {@link RateLimitListener#proxyFailed} is told.
     *
     * @param address host and port of the proxy, without its login
     * @return the failure, of the same meaning
     */
    public Failure atProxy(String address) {
        return new Failure(kind, status, headers, body, Objects.requireNonNull(address, "address"));
    }

    @Nullable
    String proxy() {
        return proxy;
    }

    /** Whether the request certainly did not reach the server. */
    boolean isNotSent() {
        return kind == Kind.NOT_SENT || kind == Kind.REFUSED;
    }

    Kind kind() {
        return kind;
    }

    int status() {
        return status;
    }

    Headers headers() {
        return headers;
    }

    byte @Nullable [] body() {
        return body;
    }
}
