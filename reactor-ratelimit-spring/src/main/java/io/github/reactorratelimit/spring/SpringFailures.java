package io.github.reactorratelimit.spring;

import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.FailureReader;
import io.github.reactorratelimit.netty.NettyFailures;
import java.io.EOFException;
import java.io.IOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.UnresolvedAddressException;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpRequest;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import org.springframework.web.reactive.function.client.WebClientResponseException;

/**
 * What the exceptions of a {@code WebClient} mean. Where Reactor Netty is there, its failures are read by their own table;
 * the one in here is of the classes that every HTTP client for Java uses.
 */
final class SpringFailures implements FailureReader {

    static final SpringFailures INSTANCE = new SpringFailures();

    private static final int MOST_CAUSES = 20;
    /** What the JDK's client says of a stream that an HTTP/2 server refused (RFC 9113, 8.7). */
    private static final String REFUSED_STREAM = "Received RST_STREAM: Stream not processed";

    private SpringFailures() {}

    @Override
    public @Nullable Failure read(Throwable error) {
        if (error instanceof WebClientResponseException answer) {
            return response(answer);
        }
        return error instanceof WebClientRequestException ? transport(error) : null;
    }

    /**
     * What an error means for an attempt.
     *
     * @param begun whether the client was about to write the request
     * @param refused whether the server said that it has not acted
     */
    static Failure meaning(Throwable error, URI url, boolean begun, boolean refused) {
        if (error instanceof WebClientResponseException answer && isTo(url, answer)) {
            return response(answer);
        }
        if (isRefusedStream(error)) {
            return Failure.notSent();
        }
        Failure known = NettyRequest.PRESENT ? Netty.meaning(error, begun, refused) : null;
        Failure failure = known == null ? unknown(error, begun) : known;
        String proxy = begun ? null : Detour.of(error, url);
        return proxy == null ? failure : failure.atProxy(proxy);
    }

    /** Of a client that is not Reactor Netty. */
    private static Failure unknown(Throwable error, boolean begun) {
        Failure failure = plain(error);
        if (begun) {
            return failure == null ? Failure.fatal() : failure;
        }
        if (failure == null || failure.equals(Failure.fatal())) {
            return Failure.refused();
        }
        return failure.equals(Failure.interrupted()) ? Failure.notSent() : failure;
    }

    /** The error as it is, or one of the same class that names the proxy where that refused. */
    static Throwable named(Throwable error) {
        if (!NettyRequest.PRESENT || !(error instanceof WebClientRequestException failed)) {
            return error;
        }
        Throwable named = Netty.named(error);
        return named.equals(error)
                ? error
                : new WebClientRequestException(named, failed.getMethod(), failed.getUri(), failed.getHeaders());
    }

    /** A filter behind ours may have made an exception of our response, or have failed with a call of its own. */
    private static boolean isTo(URI url, WebClientResponseException answer) {
        HttpRequest request = answer.getRequest();
        return request == null || url.equals(request.getURI());
    }

    private static Failure response(WebClientResponseException answer) {
        return Failure.response(
                answer.getStatusCode().value(),
                new SpringHeaders(answer.getHeaders()),
                answer.getResponseBodyAsByteArray());
    }

    private static @Nullable Failure transport(Throwable error) {
        if (isRefusedStream(error)) {
            return Failure.notSent();
        }
        Failure known = NettyRequest.PRESENT ? Netty.meaning(error, true, false) : null;
        return known == null ? plain(error) : known;
    }

    private static boolean isRefusedStream(Throwable error) {
        Throwable cause = error;
        for (int i = 0; cause != null && i < MOST_CAUSES; i++) {
            if (cause instanceof IOException && REFUSED_STREAM.equals(cause.getMessage())) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
    }

    private static @Nullable Failure plain(Throwable error) {
        Failure known = null;
        Throwable cause = error;
        for (int i = 0; known == null && cause != null && i < MOST_CAUSES; i++) {
            known = row(cause);
            cause = cause.getCause();
        }
        return known;
    }

    /**
     * One row of the table per kind of failure, the narrower kinds first. What Reactor Netty's table knows as well means the
     * same there.
     */
    static @Nullable Failure row(Throwable cause) {
        if (cause instanceof ConnectException // refused, timed out
                || cause instanceof HttpConnectTimeoutException
                || cause instanceof NoRouteToHostException
                || cause instanceof BindException // no local port left
                || cause instanceof UnknownHostException
                || cause instanceof UnresolvedAddressException) {
            return Failure.notSent();
        }
        if (cause instanceof SSLHandshakeException) {
            // Closed on the way, as Netty or the JDK says, or turned down: certificates, versions, alerts.
            String message = String.valueOf(cause.getMessage());
            return message.startsWith("Connection closed") || message.startsWith("Remote host terminated")
                    ? Failure.notSent()
                    : Failure.fatal();
        }
        return cause instanceof SocketException
                        || cause instanceof ClosedChannelException
                        || cause instanceof EOFException
                        || cause instanceof SSLException
                        || cause instanceof HttpTimeoutException
                        || cause instanceof TimeoutException
                        || cause.getClass() == IOException.class
                ? Failure.interrupted()
                : null;
    }

    /** Apart, so that Reactor Netty's classes are looked for only where they are. */
    private static final class Netty {
        static @Nullable Failure meaning(Throwable error, boolean begun, boolean refused) {
            return NettyFailures.meaning(error, begun, refused);
        }

        static Throwable named(Throwable error) {
            return NettyFailures.named(error);
        }
    }
}
