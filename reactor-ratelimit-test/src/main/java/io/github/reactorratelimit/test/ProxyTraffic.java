package io.github.reactorratelimit.test;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What goes through one proxy: its connections, counts and ways out. */
final class ProxyTraffic {

    private final ProxyRules rules;
    private final Connections connections = new Connections();
    private final AtomicInteger connects = new AtomicInteger();
    private final AtomicInteger admitted = new AtomicInteger();
    private final AtomicInteger tunnels = new AtomicInteger();

    ProxyTraffic(ProxyRules rules) {
        this.rules = rules;
    }

    ProxyRules rules() {
        return rules;
    }

    Connections connections() {
        return connections;
    }

    int connects() {
        return connects.get();
    }

    int tunnels() {
        return tunnels.get();
    }

    void countConnect() {
        connects.incrementAndGet();
    }

    /** The refusal of one more CONNECT that has passed the login, or null. */
    @Nullable
    Reply nextRefusal() {
        return rules.refusal(admitted.incrementAndGet());
    }

    /** Connects to the target on the client's event loop; nothing is read from it before {@link #join}. */
    ChannelFuture reach(Channel client, String host, int port) {
        return new Bootstrap()
                .group(client.eventLoop())
                .channel(client.getClass())
                .option(ChannelOption.AUTO_READ, false)
                .option(ChannelOption.TCP_NODELAY, true)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new Relay(client));
                    }
                })
                .connect(host, port);
    }

    /**
     * From here on, bytes go both ways, unless the client is gone. The caller then takes its own handlers out; what
     * they still hold goes through the tunnel.
     */
    boolean join(Channel client, Channel target, boolean answered) {
        if (!answered || !client.isActive()) {
            Connections.close(target);
            return false;
        }
        tunnels.incrementAndGet();
        client.pipeline().addLast(new Relay(target));
        client.config().setAutoRead(true);
        target.config().setAutoRead(true);
        return true;
    }
}
