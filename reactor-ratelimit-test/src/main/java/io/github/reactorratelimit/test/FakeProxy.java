package io.github.reactorratelimit.test;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.ServerSocketChannel;
import java.net.InetSocketAddress;
import reactor.core.Disposable;
import reactor.netty.resources.LoopResources;
import reactor.netty.tcp.TcpResources;

/**
 * A forward proxy on a free port of 127.0.0.1 that tunnels, asks for a login, refuses or hangs: HTTP CONNECT or SOCKS5.
 *
 * <pre>{@code
 * try (FakeProxy proxy = FakeProxy.http().credentials("user", "secret").start()) {
 *     // a client that names proxy.port(), then assert on proxy.connects() and proxy.tunnels()
 * }
 * }</pre>
 *
 * <p>The HTTP proxy knows CONNECT only, which is what Reactor Netty uses for http and https alike; a request in
 * absolute form is answered with 501. It runs on Reactor Netty's shared event loops and in real time. Its methods may
 * be called from any thread; starting and disposing block.
 */
public final class FakeProxy implements Disposable, AutoCloseable {

    private static final String HOST = "127.0.0.1";

    private final Channel server;
    private final ProxyTraffic traffic;

    private FakeProxy(Channel server, ProxyTraffic traffic) {
        this.server = server;
        this.traffic = traffic;
    }

    /**
     * An HTTP proxy.
     *
     * @return rules that let everybody through
     */
    public static ProxyRules http() {
        return ProxyRules.of(false);
    }

    /**
     * A SOCKS5 proxy.
     *
     * @return rules that let everybody through
     */
    public static ProxyRules socks5() {
        return ProxyRules.of(true);
    }

    static FakeProxy start(ProxyRules rules) {
        ProxyTraffic traffic = new ProxyTraffic(rules);
        LoopResources loops = TcpResources.get();
        EventLoopGroup select = loops.onServerSelect(LoopResources.DEFAULT_NATIVE);
        EventLoopGroup workers = loops.onServer(LoopResources.DEFAULT_NATIVE);
        Channel server = new ServerBootstrap()
                .group(select, workers)
                .channelFactory(() -> loops.onChannel(ServerSocketChannel.class, select))
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        traffic.connections().accept(channel);
                        if (rules.socks()) {
                            Socks5Handshake.install(channel.pipeline(), traffic);
                        } else {
                            ConnectHandshake.install(channel.pipeline(), traffic);
                        }
                    }
                })
                .bind(HOST, 0)
                .syncUninterruptibly()
                .channel();
        return new FakeProxy(server, traffic);
    }

    /**
     * Where it listens.
     *
     * @return 127.0.0.1
     */
    public String host() {
        return HOST;
    }

    /**
     * Where it listens.
     *
     * @return the port
     */
    public int port() {
        return ((InetSocketAddress) server.localAddress()).getPort();
    }

    /**
     * How many connections were accepted since the start.
     *
     * @return the count
     */
    public int connections() {
        return traffic.connections().accepted();
    }

    /**
     * How often a tunnel was asked for since the start, refused logins included.
     *
     * @return the count of CONNECT requests, or of SOCKS5 logins and commands that were refused or carried out
     */
    public int connects() {
        return traffic.connects();
    }

    /**
     * How many tunnels were opened since the start.
     *
     * @return the count
     */
    public int tunnels() {
        return traffic.tunnels();
    }

    /** Resets all open connections and so their tunnels; the proxy goes on listening. */
    public void resetConnections() {
        traffic.connections().resetAll();
    }

    /** Stops listening and closes all connections. Idempotent. */
    @Override
    public void dispose() {
        server.close().syncUninterruptibly();
        traffic.connections().closeAll();
    }

    @Override
    public boolean isDisposed() {
        return !server.isOpen();
    }

    /** The same as {@link #dispose()}. */
    @Override
    public void close() {
        dispose();
    }

    @Override
    public String toString() {
        return "FakeProxy[port " + port() + "]";
    }
}
