package io.github.reactorratelimit.spring;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.URI;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Whom a connect failed to, where that is not whom the request is for: a proxy, which only the client knows otherwise. Told by
 * clients that name the address, as Netty does.
 */
final class Detour {

    /** The message ends with the address: "Connection refused: proxy.example/10.0.0.1:3128". */
    private static final Pattern ADDRESS = Pattern.compile(": ([^\\s/]*)/(\\[[^\\s\\]]+]|[0-9.]+):([0-9]+)$");

    private static final int MOST_CAUSES = 20;

    private Detour() {}

    /** Host and port of the proxy that could not be reached; null if it was not for one. */
    static @Nullable String of(Throwable error, URI url) {
        Throwable cause = error;
        for (int i = 0; cause != null && i < MOST_CAUSES; i++) {
            if (cause instanceof ConnectException || cause instanceof NoRouteToHostException) {
                Matcher address = ADDRESS.matcher(String.valueOf(cause.getMessage()));
                return address.find() ? unless(url, address.group(1), address.group(2), address.group(3)) : null;
            }
            cause = cause.getCause();
        }
        return null;
    }

    private static @Nullable String unless(URI url, String name, String number, String port) {
        String connected = name.isEmpty() ? number : name;
        boolean itself = port.equals(Target.portOf(url)) && isHost(Target.hostOf(url), name, number);
        return itself ? null : connected + ":" + port;
    }

    /** What a request is for is resolved with its name. An IPv6 address has more than one spelling. */
    private static boolean isHost(String host, String name, String number) {
        return host.isEmpty()
                || host.equalsIgnoreCase(name)
                || (name.isEmpty() && (host.equals(number) || (host.startsWith("[") && number.startsWith("["))));
    }
}
