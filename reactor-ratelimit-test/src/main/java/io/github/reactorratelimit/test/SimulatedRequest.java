package io.github.reactorratelimit.test;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.github.reactorratelimit.signal.Headers;
import org.jspecify.annotations.Nullable;

/**
 * One request as a service sees it: method, path, headers and body. Immutable; every method that changes something
 * returns a copy.
 */
public final class SimulatedRequest {

    /** The token of a request that has no {@code Authorization}. */
    public static final String ANONYMOUS = "anon";

    private final String method;
    private final String path;
    private final HeaderLines headers;
    private final byte[] body;

    private SimulatedRequest(String method, String path, HeaderLines headers, byte[] body) {
        this.method = method;
        this.path = path;
        this.headers = headers;
        this.body = body;
    }

    /**
     * A GET without a token.
     *
     * @param uri the path, with or without a query
     * @return the request
     */
    public static SimulatedRequest get(String uri) {
        return of("GET", uri);
    }

    /**
     * A POST without a token and with an empty body.
     *
     * @param uri the path, with or without a query
     * @return the request
     */
    public static SimulatedRequest post(String uri) {
        return of("POST", uri);
    }

    /**
     * A request without a token and with an empty body.
     *
     * @param method the method in capitals
     * @param uri the path, with or without a query; the query plays no part
     * @return the request
     */
    public static SimulatedRequest of(String method, String uri) {
        int query = uri.indexOf('?');
        return new SimulatedRequest(method, query < 0 ? uri : uri.substring(0, query), HeaderLines.NONE, new byte[0]);
    }

    /**
     * Adds {@code Authorization: Bearer} with this token.
     *
     * @param token the token
     * @return a copy with that token
     */
    public SimulatedRequest token(String token) {
        return header("Authorization", "Bearer " + token);
    }

    /**
     * Adds a header line.
     *
     * @param name the name in any case
     * @param value the value
     * @return a copy with that line
     */
    public SimulatedRequest header(String name, String value) {
        return new SimulatedRequest(method, path, headers.with(name, value), body);
    }

    /**
     * Replaces the body.
     *
     * @param text the body, as UTF-8
     * @return a copy with that body
     */
    public SimulatedRequest body(String text) {
        return body(text.getBytes(UTF_8));
    }

    /**
     * Replaces the body.
     *
     * @param bytes the body; copied
     * @return a copy with that body
     */
    public SimulatedRequest body(byte[] bytes) {
        return new SimulatedRequest(method, path, headers, bytes.clone());
    }

    /**
     * The method.
     *
     * @return the method as given
     */
    public String method() {
        return method;
    }

    /**
     * The path.
     *
     * @return the path without a query
     */
    public String path() {
        return path;
    }

    /**
     * Whose request it is: what {@code Authorization} holds, without the scheme in front of it.
     *
     * @return the token, or {@link #ANONYMOUS}
     */
    public String token() {
        String authorization = headers.first("Authorization");
        return authorization == null ? ANONYMOUS : authorization.substring(authorization.indexOf(' ') + 1);
    }

    /**
     * The header lines, in the order in which they came.
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
     * @return the body read as UTF-8, empty by default
     */
    public String body() {
        return new String(body, UTF_8);
    }

    /**
     * The body as it came.
     *
     * @return a copy of its bytes
     */
    public byte[] bytes() {
        return body.clone();
    }

    @Override
    public String toString() {
        return method + " " + path + ", " + body.length + " bytes";
    }
}
