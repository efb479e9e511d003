package io.github.reactorratelimit.spring;

import io.github.reactorratelimit.netty.NettyFailures;
import io.github.reactorratelimit.netty.NettyRequests;
import org.springframework.http.client.reactive.ClientHttpRequest;
import org.springframework.util.ClassUtils;
import reactor.netty.Connection;

/** What only Reactor Netty can be asked about a request; of other clients nothing is known and nothing done. */
final class NettyRequest {

    /** Whether its classes are there. */
    static final boolean PRESENT =
            ClassUtils.isPresent("reactor.netty.http.client.HttpClient", NettyRequest.class.getClassLoader());

    private NettyRequest() {}

    /** Has it told if the server refuses the request's HTTP/2 stream. */
    static void watch(ClientHttpRequest request, Runnable refused) {
        if (PRESENT) {
            Netty.watch(request.getNativeRequest(), refused);
        }
    }

    /**
     * Closes the connection of a request whose caller has left, unless the request is over by then. Spring itself reads the
     * body of a call away that is cancelled between head and body, however long the server takes over it, and holds the
     * connection until then. On any thread.
     */
    static void abandon(ClientHttpRequest request) {
        if (PRESENT) {
            Netty.abandon(request.getNativeRequest());
        }
    }

    /** Apart, so that Reactor Netty's classes are looked for only where they are. */
    private static final class Netty {
        static void watch(Object request, Runnable refused) {
            if (request instanceof Connection connection) {
                NettyFailures.watch(connection.channel(), refused);
            }
        }

        static void abandon(Object request) {
            if (request instanceof Connection connection) {
                NettyRequests.abandon(connection);
            }
        }
    }
}
