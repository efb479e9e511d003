package io.github.reactorratelimit.netty;

import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.FailureReader;
import io.netty.channel.Channel;
import io.netty.channel.unix.Errors;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.proxy.ProxyConnectException;
import io.netty.handler.ssl.SslHandshakeTimeoutException;
import io.netty.handler.timeout.TimeoutException;
import java.io.EOFException;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnresolvedAddressException;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;
import reactor.netty.channel.AbortedException;
import reactor.netty.http.client.HttpClientConfig;
import reactor.netty.http.client.PrematureCloseException;
import reactor.netty.transport.ProxyProvider;

/**
 * The one table of what Reactor Netty's failures mean, for every client that sends through it. A proxy's answer is looked
 * for first, in all causes: the client tunnels http as well as https, so that it comes as a failed connect, and inside an
 * SSL error for https.
 *
 * <p>{@link RateLimitedHttpClient} and the filter for Spring's {@code WebClient} know it. It is public for adapters of other
 * clients: {@link #watch} before a request is written, {@link #meaning} for {@link
 * io.github.reactorratelimit.Exchange#failing}, {@link #named} for what the caller gets. Immutable and thread-safe.
 */
public final class NettyFailures implements FailureReader {

    static final NettyFailures INSTANCE = new NettyFailures();

    /** How far the request got, and whether trying again may help. */
    private enum Ending {
        /** Nothing was sent. */
        NOT_SENT,
        /** Nothing was sent, and it will be the same next time. */
        REFUSED,
        /** Broke off; nobody knows what the server has seen, unless the request was not begun. */
        BROKEN,
        /** It will be the same next time. */
        HOPELESS;

        Failure failure(boolean begun) {
            return switch (this) {
                case NOT_SENT -> Failure.notSent();
                case REFUSED -> Failure.refused();
                case BROKEN -> begun ? Failure.interrupted() : Failure.notSent();
                case HOPELESS -> begun ? Failure.fatal() : Failure.refused();
            };
        }
    }

    private static final Set<Integer> TUNNEL_TRIED_AGAIN = Set.of(502, 503, 504);
    private static final Pattern TUNNEL_STATUS = Pattern.compile("status: (\\d{3})\\b");
    private static final int LOGIN_WANTED = 407;
    private static final int MOST_CAUSES = 20;

    private NettyFailures() {}

    @Override
    public @Nullable Failure read(Throwable error) {
        return meaning(error, true, false);
    }

    /**
     * Watches how an HTTP/2 server turns the stream of a request down without having acted on it (RFC 9113, 8.7), which the
     * client itself does not tell. Does nothing for other protocols.
     *
     * @param channel the request's channel, before the request is written
     * @param refused run on the channel's thread before the request fails; must not block
     */
    public static void watch(Channel channel, Runnable refused) {
        RefusedStreams.watch(channel, refused);
    }

    /**
     * What an error means for an attempt. A proxy that refused is named in it, see {@link Failure#atProxy}.
     *
     * @param error what the client failed with
     * @param begun whether writing the request had begun
     * @param refused whether the server said that it has not acted
     * @return the meaning, or null for an error that is none of the client's own
     */
    public static @Nullable Failure meaning(Throwable error, boolean begun, boolean refused) {
        Ending ending = ending(error);
        if (ending == null) {
            return null;
        }
        Failure failure = refused && ending == Ending.BROKEN ? Failure.notSent() : ending.failure(begun);
        String proxy = refusingProxy(error);
        return proxy == null ? failure : failure.atProxy(proxy);
    }

    /**
     * The error as it is, or one that names the proxy where that refused, and says what to do.
     *
     * @param error what the client failed with
     * @return what the caller is to get; another one has the error for its cause
     */
    public static Throwable named(Throwable error) {
        ProxyConnectException refusal = proxyRefusal(error);
        if (refusal == null || tunnel(refusal) != Ending.REFUSED) {
            return error;
        }
        String message = String.valueOf(refusal.getMessage());
        return new ProxyConnectException(
                "The proxy " + proxyIn(message) + " refused the connection" + advice(message) + ". It said: " + message,
                error);
    }

    private static String advice(String message) {
        return isLogin(message) ? ", because its login failed: check the proxy's user and password" : "";
    }

    private static @Nullable Ending ending(Throwable error) {
        ProxyConnectException refusal = proxyRefusal(error);
        if (refusal != null) {
            return tunnel(refusal);
        }
        Throwable cause = error;
        for (int i = 0; cause != null && i < MOST_CAUSES; i++) {
            Ending ending = row(cause);
            if (ending != null) {
                return ending;
            }
            cause = cause.getCause();
        }
        return null;
    }

    /** One row of the table per kind of failure, the narrower kinds first. */
    private static @Nullable Ending row(Throwable cause) {
        if (cause instanceof ConnectException // refused, timed out
                || cause instanceof NoRouteToHostException
                || cause instanceof BindException // no local port left
                || cause instanceof UnknownHostException
                || cause instanceof UnresolvedAddressException
                || cause instanceof SslHandshakeTimeoutException) {
            return Ending.NOT_SENT;
        }
        if (cause instanceof SSLHandshakeException handshake) {
            // Closed on the way, as Netty or the JDK says, or turned down: certificates, versions, alerts.
            String message = String.valueOf(handshake.getMessage());
            return message.startsWith("Connection closed") || message.startsWith("Remote host terminated")
                    ? Ending.NOT_SENT
                    : Ending.HOPELESS;
        }
        if (cause instanceof Http2Exception http2) {
            return http2.error() == Http2Error.REFUSED_STREAM ? Ending.NOT_SENT : Ending.BROKEN;
        }
        if (cause instanceof AbortedException aborted) {
            return isBeforeSend(aborted) ? Ending.NOT_SENT : Ending.BROKEN;
        }
        return isBroken(cause) ? Ending.BROKEN : pool(cause);
    }

    private static boolean isBroken(Throwable cause) {
        return cause instanceof PrematureCloseException
                || cause instanceof TimeoutException // the client's own response and write timeouts
                || cause instanceof SocketException
                || cause instanceof ClosedChannelException
                || cause instanceof EOFException
                || cause instanceof Errors.NativeIoException
                || cause instanceof SSLException
                // What the JDK's channels throw for a reset; subclasses are other people's.
                || cause.getClass() == IOException.class;
    }

    /** The pool's exceptions are in a package that the client relocates. */
    private static @Nullable Ending pool(Throwable cause) {
        return switch (cause.getClass().getSimpleName()) {
            case "PoolAcquireTimeoutException", "PoolAcquirePendingLimitException" -> Ending.NOT_SENT;
            case "PoolShutdownException" -> Ending.REFUSED;
            default -> null;
        };
    }

    private static boolean isBeforeSend(AbortedException aborted) {
        return String.valueOf(aborted.getMessage()).contains("BEFORE send");
    }

    // -------------------------------------------------------------------------------------------------- proxies

    /** The proxy that did not let a call through, or could not be reached; null if it was not for a proxy that it failed. */
    static @Nullable String proxy(Throwable error, HttpClientConfig config) {
        if (!config.hasProxy()) {
            return null;
        }
        String told = refusingProxy(error);
        if (told != null) {
            return told;
        }
        ProxyProvider known = config.proxyProvider();
        Supplier<ProxyProvider> later = config.proxyProviderSupplier();
        ProxyProvider configured = known != null || later == null ? known : later.get();
        if (configured == null || !(configured.getSocketAddress().get() instanceof InetSocketAddress address)) {
            return null;
        }
        return proxyRefusal(error) != null || isConnectTo(address, error)
                ? address.getHostString() + ":" + address.getPort()
                : null;
    }

    /** The proxy that the error itself names, or null. */
    private static @Nullable String refusingProxy(Throwable error) {
        ProxyConnectException refusal = proxyRefusal(error);
        return refusal == null ? null : hostAndPort(proxyIn(String.valueOf(refusal.getMessage())));
    }

    /** "proxy.example:3128" of "proxy.example/10.0.0.1:3128", or null if it is no address. */
    private static @Nullable String hostAndPort(String address) {
        int port = address.lastIndexOf(':');
        int slash = address.indexOf('/');
        if (port < 0) {
            return null;
        }
        return slash <= 0 ? address.substring(slash + 1) : address.substring(0, slash) + address.substring(port);
    }

    /** The message of a failed connect ends with its address: "Connection refused: proxy.example/10.0.0.1:3128". */
    private static boolean isConnectTo(InetSocketAddress address, Throwable error) {
        Throwable cause = error;
        for (int i = 0; cause != null && i < MOST_CAUSES; i++) {
            String message = String.valueOf(cause.getMessage());
            if (cause instanceof ConnectException
                    && message.endsWith(":" + address.getPort())
                    && message.contains(address.getHostString())) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
    }

    private static @Nullable ProxyConnectException proxyRefusal(Throwable error) {
        Throwable cause = error;
        ProxyConnectException innermost = null;
        for (int i = 0; cause != null && i < MOST_CAUSES; i++) {
            if (cause instanceof ProxyConnectException refusal) {
                innermost = refusal;
            }
            cause = cause.getCause();
        }
        return innermost;
    }

    private static Ending tunnel(ProxyConnectException refusal) {
        String message = String.valueOf(refusal.getMessage());
        int status = statusIn(message);
        if (status > 0) {
            return TUNNEL_TRIED_AGAIN.contains(status) ? Ending.NOT_SENT : Ending.REFUSED;
        }
        // SOCKS: a login that fails, or a rule against this target; what else it says is about the way there.
        return isLogin(message) || message.contains("status: FORBIDDEN") ? Ending.REFUSED : Ending.NOT_SENT;
    }

    private static boolean isLogin(String message) {
        return statusIn(message) == LOGIN_WANTED
                || message.contains("authStatus:")
                || message.contains("authMethod:")
                || message.contains("IDENTD");
    }

    private static int statusIn(String message) {
        Matcher status = TUNNEL_STATUS.matcher(message);
        return status.find() ? Integer.parseInt(status.group(1)) : 0;
    }

    /** Netty's message starts "http, basic, /127.0.0.1:3128 => example.com:443, ". */
    private static String proxyIn(String message) {
        int arrow = message.indexOf(" => ");
        if (arrow < 0) {
            return "in the way";
        }
        int from = message.lastIndexOf(' ', arrow - 1) + 1;
        String address = message.substring(from, arrow);
        return address.startsWith("/") ? address.substring(1) : address;
    }
}
