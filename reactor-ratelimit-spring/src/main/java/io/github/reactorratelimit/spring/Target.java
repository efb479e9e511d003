package io.github.reactorratelimit.spring;

import io.github.reactorratelimit.Demand;
import java.net.URI;
import java.util.Locale;
import org.springframework.http.HttpHeaders;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.WebClient;

/** Whom a request goes to, as far as limits are counted by it. */
final class Target {

    /** Where a {@code WebClient} keeps the template that it was given for a URI. */
    private static final String TEMPLATE = WebClient.class.getName() + ".uriTemplate";

    private Target() {}

    static Demand demand(ClientRequest request) {
        return Demand.of("host", hostOf(request.url()))
                .and("method", request.method().name())
                .and("endpoint", endpointOf(request))
                .andToken(request.headers().getFirst(HttpHeaders.AUTHORIZATION));
    }

    /** In lower case, without port; empty if only the client knows it. */
    static String hostOf(URI url) {
        String host = url.getHost();
        if (host == null) {
            String address = addressOf(url);
            int port = address.lastIndexOf(':');
            host = port < 0 ? address : address.substring(0, port);
        }
        return host.toLowerCase(Locale.ROOT);
    }

    /** In digits; that of the scheme if it names none. */
    static String portOf(URI url) {
        String address = url.getHost() == null ? addressOf(url) : "";
        int port = address.lastIndexOf(':');
        if (port >= 0) {
            return address.substring(port + 1);
        }
        int standard = "https".equalsIgnoreCase(url.getScheme()) ? 443 : 80;
        return Integer.toString(url.getPort() < 0 ? standard : url.getPort());
    }

    /** Host and port where the host is a name that is none by the rules, such as my_service; empty if there is neither. */
    private static String addressOf(URI url) {
        String authority = url.getRawAuthority();
        return authority == null ? "" : authority.substring(authority.lastIndexOf('@') + 1);
    }

    /**
     * The template's path if it is one of the path that is sent, which it is not where a function made a URI of its own from
     * the template, or a filter changed it since.
     */
    private static String endpointOf(ClientRequest request) {
        String rawPath = request.url().getRawPath();
        String path = rawPath == null || rawPath.isEmpty() ? "/" : rawPath;
        if (request.attributes().get(TEMPLATE) instanceof String text) {
            TemplatePath template = TemplatePath.of(text);
            return template.isOf(path) ? template.toString() : path;
        }
        return path;
    }
}
