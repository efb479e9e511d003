package io.github.reactorratelimit.test;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.reactorratelimit.signal.Headers;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One answer of a service: status, headers and body, and how they are delivered, which may be never or not in one
 * piece. Immutable; every method that changes something returns a copy.
 *
 * <p>A service adds {@code Date}, and the quota fields where it counted, unless the reply has them itself. Times are
 * real for a {@link RateLimitedServer} and those of the scheduler in force for a {@link SimulatedService}.
 */
public final class Reply {

    /** What becomes of a reply on its way. */
    public enum Delivery {
        /** Head and body arrive. The default. */
        WHOLE,
        /** Nothing is ever answered, the connection stays open. */
        HANG,
        /** The connection is reset before the head. */
        RESET,
        /** The connection is closed before the head. */
        CLOSE,
        /** Head and half of the body arrive, then the connection is reset. */
        RESET_AFTER_HEAD,
        /** Head and half of the body arrive, then the connection is closed. */
        CLOSE_AFTER_HEAD,
        /** The head arrives, and then the body again and again without an end. */
        ENDLESS
    }

    private static final String FILL_START = "{\"fill\":\"";
    private static final String FILL_END = "\"}";
    private static final int EMPTY_FILL = FILL_START.length() + FILL_END.length();
    private static final int ENDLESS_CHUNK = 8192;

    private final int status;
    private final HeaderLines headers;
    private final byte[] body;
    private final Delivery delivery;
    private final Duration delay;
    private final ReplyPace pace;

    private Reply(int status, HeaderLines headers, byte[] body, Delivery delivery, Duration delay, ReplyPace pace) {
        this.status = status;
        this.headers = headers;
        this.body = body;
        this.delivery = delivery;
        this.delay = delay;
        this.pace = pace;
    }

    /**
     * A 200 with a small JSON body.
     *
     * @return the reply
     */
    public static Reply ok() {
        return status(200);
    }

    /**
     * An answer with this status and a small JSON body that repeats it.
     *
     * @param status 200 to 599
     * @return the reply
     */
    public static Reply status(int status) {
        if (status < 200 || status > 599) {
            throw new IllegalArgumentException("status must be 200 to 599, was " + status);
        }
        byte[] body = ("{\"status\":" + status + "}").getBytes(UTF_8);
        return new Reply(status, HeaderLines.NONE, body, Delivery.WHOLE, Duration.ZERO, ReplyPace.AT_ONCE);
    }

    /**
     * No answer: the request is read, then the connection is reset.
     *
     * @return the reply, with status 0
     */
    public static Reply reset() {
        return none(Delivery.RESET);
    }

    /**
     * No answer: the request is read, then the connection is closed in order.
     *
     * @return the reply, with status 0
     */
    public static Reply close() {
        return none(Delivery.CLOSE);
    }

    /**
     * No answer, ever: the request is read and the connection stays open.
     *
     * @return the reply, with status 0
     */
    public static Reply hang() {
        return none(Delivery.HANG);
    }

    private static Reply none(Delivery delivery) {
        return new Reply(0, HeaderLines.NONE, new byte[0], delivery, Duration.ZERO, ReplyPace.AT_ONCE);
    }

    /**
     * Adds a header line; several lines of one name are kept.
     *
     * @param name the name in any case
     * @param value the value, sent as it is
     * @return a copy with that line
     */
    public Reply header(String name, String value) {
        return withHeaders(headers.with(name, value));
    }

    /**
     * Tells how long to wait, in a {@code Retry-After}.
     *
     * @param wait not negative; told in whole seconds, rounded up
     * @return a copy with that header line
     */
    public Reply retryAfter(Duration wait) {
        Checks.notNegative("the time to retry after", wait);
        return header("Retry-After", Long.toString(wait.plusNanos(999_999_999).toSeconds()));
    }

    /**
     * Replaces the body.
     *
     * @param text the new body, sent as UTF-8
     * @return a copy with that body
     */
    public Reply body(String text) {
        return withBody(text.getBytes(UTF_8));
    }

    /**
     * Replaces the body by JSON of exactly this size.
     *
     * @param bytes the size in bytes, at least 11
     * @return a copy with that body
     */
    public Reply bodyOfSize(int bytes) {
        if (bytes < EMPTY_FILL) {
            throw new IllegalArgumentException("a filled body has at least " + EMPTY_FILL + " bytes, was " + bytes);
        }
        return body(FILL_START + "x".repeat(bytes - EMPTY_FILL) + FILL_END);
    }

    /**
     * Lets the service think: the head leaves this much after the request came.
     *
     * @param delay not negative
     * @return a copy with that delay
     */
    public Reply after(Duration delay) {
        return new Reply(status, headers, body, delivery, Checks.notNegative("delay", delay), pace);
    }

    /**
     * Sends the body in pieces, with a pause before each.
     *
     * @param chunks how many pieces, at least 1
     * @param pause the pause before each piece, not negative
     * @return a copy that is slow
     */
    public Reply slowly(int chunks, Duration pause) {
        Checks.atLeastOne("chunks", chunks);
        return withPace(body, new ReplyPace(chunks, Checks.notNegative("pause", pause), null));
    }

    /** A body that comes in these pieces, each after its own pause. */
    Reply pieces(List<ReplyPiece> pieces) {
        requireHead();
        return withPace(ReplyPiece.join(pieces), ReplyPace.of(pieces));
    }

    /**
     * A body that never ends: 8 KiB per millisecond for as long as somebody reads.
     *
     * @return a copy that is endless
     */
    public Reply endless() {
        Reply filled = bodyOfSize(ENDLESS_CHUNK);
        return new Reply(status, headers, filled.body, Delivery.ENDLESS, delay, ReplyPace.AT_ONCE);
    }

    /**
     * Resets the connection after the head and half of the body.
     *
     * @return a copy that ends so
     */
    public Reply resetAfterHead() {
        return withDelivery(Delivery.RESET_AFTER_HEAD);
    }

    /**
     * Closes the connection after the head and half of the body.
     *
     * @return a copy that ends so
     */
    public Reply closeAfterHead() {
        return withDelivery(Delivery.CLOSE_AFTER_HEAD);
    }

    /**
     * The status.
     *
     * @return 200 to 599, or 0 for a reply without a head
     */
    public int status() {
        return status;
    }

    /**
     * The header lines, in the order in which they were added.
     *
     * @return the lines
     */
    public Headers headers() {
        return headers;
    }

    /**
     * The first line of a name.
     *
     * @param name the name in any case
     * @return its value, or null if there is none
     */
    public @Nullable String header(String name) {
        return headers.first(name);
    }

    /**
     * The body as text.
     *
     * @return the body, empty for a reply without a head
     */
    public String body() {
        return new String(body, UTF_8);
    }

    /**
     * What becomes of it on its way.
     *
     * @return the delivery, {@link Delivery#WHOLE} unless asked for otherwise
     */
    public Delivery delivery() {
        return delivery;
    }

    byte[] bytes() {
        return body;
    }

    Duration delay() {
        return delay;
    }

    ReplyPace pace() {
        return pace;
    }

    boolean hasHead() {
        return status != 0;
    }

    Reply withHeaders(HeaderLines lines) {
        return new Reply(status, lines, body, delivery, delay, pace);
    }

    HeaderLines lines() {
        return headers;
    }

    private Reply withBody(byte[] bytes) {
        requireHead();
        return withPace(bytes, pace.forAnother());
    }

    private Reply withPace(byte[] bytes, ReplyPace other) {
        return new Reply(status, headers, bytes, delivery, delay, other);
    }

    private Reply withDelivery(Delivery other) {
        requireHead();
        return new Reply(status, headers, body, other, delay, pace);
    }

    private void requireHead() {
        if (!hasHead()) {
            throw new IllegalStateException(
                    "a reply that is " + delivery + " has no body, start from Reply.ok() or status(n)");
        }
    }

    @Override
    public String toString() {
        return delivery + " " + status + " " + headers + " " + body.length + " bytes";
    }
}
