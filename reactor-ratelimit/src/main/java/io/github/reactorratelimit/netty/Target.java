package io.github.reactorratelimit.netty;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import reactor.netty.http.client.HttpClientConfig;

/**
 * Whom a request goes to, as far as limits are counted by it.
 *
 * @param host the host's name in small letters, without the port
 * @param path the path as it is sent, without the query
 */
record Target(String host, String path) {

    private static final String ANONYMOUS = "anon";
    private static final int TOKEN_BYTES = 12;

    /** Reads a URI as the client will: appended to its base URL, or sent to its address, if it starts with a slash. */
    static Target of(HttpClientConfig config, String uri) {
        String base = config.baseUrl();
        if (!uri.startsWith("/")) {
            return absolute(uri);
        }
        if (base == null) {
            return new Target(hostOf(config.remoteAddress().get()), pathOf(uri));
        }
        String joined = (base.endsWith("/") ? base.substring(0, base.length() - 1) : base) + uri;
        return joined.startsWith("/")
                ? new Target(hostOf(config.remoteAddress().get()), pathOf(joined))
                : absolute(joined);
    }

    private static Target absolute(String uri) {
        int scheme = uri.indexOf("://");
        int from = scheme < 0 ? 0 : scheme + "://".length();
        int to = from;
        while (to < uri.length() && "/?#".indexOf(uri.charAt(to)) < 0) {
            to++;
        }
        String authority = uri.substring(from, to);
        String address = authority.substring(authority.lastIndexOf('@') + 1);
        int port = address.lastIndexOf(':');
        String host = port > address.lastIndexOf(']') ? address.substring(0, port) : address;
        return new Target(host.toLowerCase(Locale.ROOT), pathOf(uri.substring(to)));
    }

    private static String pathOf(String pathAndQuery) {
        int to = 0;
        while (to < pathAndQuery.length() && "?#".indexOf(pathAndQuery.charAt(to)) < 0) {
            to++;
        }
        return to == 0 ? "/" : pathAndQuery.substring(0, to);
    }

    private static String hostOf(@Nullable SocketAddress address) {
        return address instanceof InetSocketAddress inet ? inet.getHostString().toLowerCase(Locale.ROOT) : "localhost";
    }

    /** Whose request it is: the credentials as a hash of them, for they are kept as a key. */
    static String tokenOf(@Nullable String authorization) {
        if (authorization == null || authorization.isEmpty()) {
            return ANONYMOUS;
        }
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(authorization.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash, 0, TOKEN_BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /** The credentials that a request will carry: its own, or those that its client always sends. */
    static @Nullable String authorization(HttpClientConfig config, HttpHeaders own) {
        String given = own.get(HttpHeaderNames.AUTHORIZATION);
        return given == null ? config.headers().get(HttpHeaderNames.AUTHORIZATION) : given;
    }
}
