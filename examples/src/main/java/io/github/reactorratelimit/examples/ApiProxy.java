package io.github.reactorratelimit.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import org.jspecify.annotations.Nullable;
import reactor.netty.http.client.HttpClient;
import reactor.netty.transport.ProxyProvider;

/**
 * The forward proxy named by {@code API_PROXY}, such as {@code http://user:password@host:port}. User and password may be
 * left out; special characters in them are percent-encoded. Neither is ever part of a message.
 */
final class ApiProxy {

    private final URI uri;

    private ApiProxy(URI uri) {
        this.uri = uri;
    }

    /** Sends a client's requests through the proxy of this setting, or leaves them alone if there is none. */
    static HttpClient apply(@Nullable String setting, HttpClient http) {
        if (setting == null || setting.isBlank()) {
            return http;
        }
        ApiProxy proxy = new ApiProxy(parse(setting.trim()));
        return http.proxy(proxy::describe);
    }

    private static URI parse(String setting) {
        try {
            URI uri = new URI(setting);
            if ("http".equalsIgnoreCase(uri.getScheme()) && uri.getHost() != null && uri.getPort() > 0) {
                return uri;
            }
        } catch (URISyntaxException e) {
            // Told below: its message would repeat the setting.
        }
        throw new IllegalArgumentException("API_PROXY must be like http://user:password@host:port, with special"
                + " characters percent-encoded; its value is not repeated, because it may hold a password");
    }

    private void describe(ProxyProvider.TypeSpec spec) {
        ProxyProvider.Builder builder =
                spec.type(ProxyProvider.Proxy.HTTP).host(uri.getHost()).port(uri.getPort());
        String login = uri.getRawUserInfo();
        if (login != null) {
            int colon = login.indexOf(':');
            String user = colon < 0 ? login : login.substring(0, colon);
            String password = colon < 0 ? "" : login.substring(colon + 1);
            builder.username(decoded(user)).password(name -> decoded(password));
        }
    }

    private static String decoded(String part) {
        return URLDecoder.decode(part.replace("+", "%2B"), UTF_8);
    }
}
