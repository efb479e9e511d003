package io.github.reactorratelimit.netty;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2GoAwayFrame;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2StreamChannel;

/**
 * Sees how an HTTP/2 server turns a stream down without having acted on it (RFC 9113, 8.7): a stream it refuses, or one
 * beyond the last that its GOAWAY covers. The client itself reports only that the connection was closed.
 */
final class RefusedStreams extends ChannelInboundHandlerAdapter {

    private final Runnable refused;

    private RefusedStreams(Runnable refused) {
        this.refused = refused;
    }

    static void watch(Channel channel, Runnable refused) {
        if (channel instanceof Http2StreamChannel) {
            channel.pipeline().addFirst(new RefusedStreams(refused));
        }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
        if (event instanceof Http2ResetFrame reset && reset.errorCode() == Http2Error.REFUSED_STREAM.code()) {
            refused.run();
        } else if (event instanceof Http2GoAwayFrame) {
            // It reaches only the streams beyond the last one.
            refused.run();
        }
        context.fireUserEventTriggered(event);
    }
}
