package io.github.reactorratelimit.test;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;

/** Hands what comes from one side of a tunnel to the other: bytes, back-pressure, the end, and a reset as a reset. */
@SuppressWarnings("FutureReturnValueIgnored") // a write that fails closes the channel, which both sides notice
final class Relay extends ChannelInboundHandlerAdapter {

    private final Channel other;

    Relay(Channel other) {
        this.other = other;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        other.writeAndFlush(message);
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        other.config().setAutoRead(context.channel().isWritable());
        context.fireChannelWritabilityChanged();
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        // Behind what is still being written.
        other.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(ChannelFutureListener.CLOSE);
        context.fireChannelInactive();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        Connections.reset(other);
        Connections.reset(context.channel());
    }
}
