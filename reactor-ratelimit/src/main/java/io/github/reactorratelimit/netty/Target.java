package io.github.reactorratelimit.netty;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
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
        int end = endOfAuthority(uri, 0);
        boolean scheme = end > 0 && uri.startsWith("://", end - 1);
        int from = scheme ? end + "//".length() : 0;
        int to = scheme ? endOfAuthority(uri, from) : end;
        String authority = uri.substring(from, to);
        String address = authority.substring(authority.lastIndexOf('@') + 1);
        int port = address.lastIndexOf(':');
        String host = port > address.lastIndexOf(']') ? address.substring(0, port) : address;
        return new Target(host.toLowerCase(Locale.ROOT), pathOf(uri.substring(to)));
    }

    private static int endOfAuthority(String uri, int from) {
        int to = from;
        while (to < uri.length() && "/?#".indexOf(uri.charAt(to)) < 0) {
            to++;
        }
        return to;
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

    /** The credentials that a request will carry: its own, or those that its client always sends. */
    static @Nullable String authorization(HttpClientConfig config, HttpHeaders own) {
        String given = own.get(HttpHeaderNames.AUTHORIZATION);
        return given == null ? config.headers().get(HttpHeaderNames.AUTHORIZATION) : given;
    }
}
