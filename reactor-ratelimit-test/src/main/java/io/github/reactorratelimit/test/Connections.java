package io.github.reactorratelimit.test;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.util.concurrent.atomic.AtomicInteger;

/** The connections that a server has accepted. */
final class Connections {

    private final ChannelGroup open = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
    private final AtomicInteger accepted = new AtomicInteger();

    void accept(Channel channel) {
        accepted.incrementAndGet();
        open.add(channel);
    }

    int accepted() {
        return accepted.get();
    }

    int open() {
        return open.size();
    }

    void resetAll() {
        open.forEach(Connections::reset);
    }

    void closeAll() {
        open.forEach(Connections::close);
    }

    /** A reset instead of an orderly close: with nothing to linger for, the kernel sends RST. */
    static void reset(Channel channel) {
        channel.config().setOption(ChannelOption.SO_LINGER, 0);
        close(channel);
    }

    /**
     * Closes from the head of the pipeline, on the channel's own thread: past the TLS handler, which would say goodbye
     * first and wait for it.
     */
    @SuppressWarnings("FutureReturnValueIgnored") // whoever watches the channel sees it go
    static void close(Channel channel) {
        channel.eventLoop().execute(() -> {
            ChannelHandlerContext first = channel.pipeline().firstContext();
            if (first != null) {
                first.close();
            }
        });
    }
}
