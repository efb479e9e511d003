package io.github.reactorratelimit.netty;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import java.util.concurrent.RejectedExecutionException;
import reactor.netty.Connection;
import reactor.netty.channel.ChannelOperations;

/** What adapters of clients that rest on Reactor Netty do with its requests. */
public final class NettyRequests {

    private NettyRequests() {}

    /**
     * Closes the connection of a request whose caller has left, in HTTP/2 its stream, unless the request is over by then.
     * A call that is cancelled just as its head arrives holds its connection else for as long as the server takes over the
     * body.
     *
     * @param request the request as the client's hooks and {@code HttpClientRequest} give it; may be called on any thread,
     *     and does its work on that of the connection
     */
    public static void abandon(Connection request) {
        Channel channel = request.channel();
        try {
            channel.eventLoop().execute(() -> {
                // A pooled connection may have gone on to somebody else's request.
                if (request.equals(ChannelOperations.get(channel))) {
                    ChannelFuture unused = channel.close();
                }
            });
        } catch (IllegalStateException | RejectedExecutionException e) {
            // It is closed and on no event loop any more, or its loop has ended.
        }
    }
}
