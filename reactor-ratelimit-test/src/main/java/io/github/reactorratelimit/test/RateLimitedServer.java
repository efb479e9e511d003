package io.github.reactorratelimit.test;

import java.security.cert.X509Certificate;
import java.time.InstantSource;
import reactor.core.Disposable;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/**
 * A real HTTP/1.1 server with rate limits on a free port of 127.0.0.1, for tests of real clients.
 *
 * <pre>{@code
 * try (RateLimitedServer server = RateLimitedServer.create()
 *         .limit("/search", 5, Duration.ofSeconds(10))
 *         .limit("/items", 20, Duration.ofSeconds(10))
 *         .fault("/items", Fault.everyNth(8, 503))
 *         .start()) {
 *     // call server.baseUrl() + "/search", then assert on server.log()
 * }
 * }</pre>
 *
 * <p>What it answers is said in {@link RateLimitedService}. A request counts when its body has been read. The server
 * runs on Reactor Netty's shared event loops and in real time, also while a virtual time scheduler is installed. Its
 * methods may be called from any thread; starting and disposing block.
 */
public final class RateLimitedServer implements Disposable, AutoCloseable {

    private static final String HOST = "127.0.0.1";

    private final RateLimitedService service;
    private final Connections connections;
    private final DisposableServer server;
    private final boolean tls;

    private RateLimitedServer(
            RateLimitedService service, Connections connections, DisposableServer server, boolean tls) {
        this.service = service;
        this.connections = connections;
        this.server = server;
        this.tls = tls;
    }

    /**
     * A server that knows no path yet; the same as {@link ServiceRules#create()}, whose {@link ServiceRules#start()}
     * ends it.
     *
     * @return the empty rules
     */
    public static ServiceRules create() {
        return ServiceRules.create();
    }

    static RateLimitedServer start(RateLimitedService service, InstantSource clock, boolean tls) {
        Connections connections = new Connections();
        HttpServer http = HttpServer.create()
                .host(HOST)
                .port(0)
                .doOnChannelInit((observer, channel, address) -> connections.accept(channel))
                .handle(new HttpExchange(service, clock));
        HttpServer bound = tls ? http.secure(spec -> spec.sslContext(TestCertificate.serverContext())) : http;
        return new RateLimitedServer(service, connections, bound.bindNow(), tls);
    }

    /**
     * Where it listens.
     *
     * @return the port on 127.0.0.1
     */
    public int port() {
        return server.port();
    }

    /**
     * Where it listens.
     *
     * @return scheme, 127.0.0.1 and port, without a slash at the end
     */
    public String baseUrl() {
        return (tls ? "https://" : "http://") + HOST + ":" + port();
    }

    /**
     * The certificate that a client of {@link ServiceRules#startTls()} has to trust; valid for localhost and 127.0.0.1.
     * Its key is public.
     *
     * @return the self-signed certificate
     */
    public X509Certificate certificate() {
        return TestCertificate.certificate();
    }

    /**
     * What it has seen so far.
     *
     * @return the live log
     */
    public RequestLog log() {
        return service.log();
    }

    /**
     * How many connections were accepted since the start.
     *
     * @return the count
     */
    public int connections() {
        return connections.accepted();
    }

    /**
     * How many connections are open now.
     *
     * @return the count
     */
    public int openConnections() {
        return connections.open();
    }

    /** Resets all open connections, idle ones too; the server goes on listening. */
    public void resetConnections() {
        connections.resetAll();
    }

    /** Closes all open connections, idle ones too; the server goes on listening. */
    public void closeConnections() {
        connections.closeAll();
    }

    /** Stops listening and closes all connections. Idempotent. */
    @Override
    public void dispose() {
        connections.closeAll();
        server.disposeNow();
        connections.closeAll();
    }

    @Override
    public boolean isDisposed() {
        return server.isDisposed();
    }

    /** The same as {@link #dispose()}. */
    @Override
    public void close() {
        dispose();
    }

    @Override
    public String toString() {
        return "RateLimitedServer[" + baseUrl() + "]";
    }
}
