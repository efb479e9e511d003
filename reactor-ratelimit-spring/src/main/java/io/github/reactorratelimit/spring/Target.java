package io.github.reactorratelimit.spring;

import io.github.reactorratelimit.Demand;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.WebClient;

/** Whom a request goes to, as far as limits are counted by it. */
final class Target {

    /** Where a {@code WebClient} keeps the template that it was given for a URI. */
    private static final String TEMPLATE = WebClient.class.getName() + ".uriTemplate";

    private static final String ANONYMOUS = "anon";
    private static final int TOKEN_BYTES = 12;

    private Target() {}

    static Demand demand(ClientRequest request) {
        Object template = request.attributes().get(TEMPLATE);
        return Demand.of("host", hostOf(request.url()))
                .and("method", request.method().name())
                .and("endpoint", template instanceof String text ? pathOf(text) : pathOf(request.url()))
                .and("token", tokenOf(request.headers().getFirst(HttpHeaders.AUTHORIZATION)));
    }

    private static String hostOf(URI url) {
        String host = url.getHost();
        if (host == null) {
            // A name that is none by the rules, such as my_service, or a base URL that only the client knows.
            String authority = url.getRawAuthority();
            String address = authority == null ? "" : authority.substring(authority.lastIndexOf('@') + 1);
            int port = address.lastIndexOf(':');
            host = port < 0 ? address : address.substring(0, port);
        }
        return host.toLowerCase(Locale.ROOT);
    }

    private static String pathOf(URI url) {
        String path = url.getRawPath();
        return path == null || path.isEmpty() ? "/" : path;
    }

    /** The path of a template: from the slash after the host to the query, neither of which is looked for within braces. */
    static String pathOf(String template) {
        int scheme = template.indexOf("://");
        int from = find("/?#", template, scheme < 0 ? 0 : scheme + "://".length());
        int to = find("?#", template, from);
        return from == to ? "/" : template.substring(from, to);
    }

    private static int find(String any, String template, int from) {
        int depth = 0;
        for (int i = from; i < template.length(); i++) {
            char c = template.charAt(i);
            if (c == '{') {
                depth++;
            } else if (c == '}') {
                depth--;
            } else if (depth == 0 && any.indexOf(c) >= 0) {
                return i;
            }
        }
        return template.length();
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
}
