package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import redis.embedded.RedisServer;
import redis.embedded.core.RedisServerBuilder;

/** A real server on a port of its own; as a registered extension for one test class, else until it is closed. */
final class RealRedis implements AutoCloseable, AfterAllCallback {

    private final int port = freePort();
    private final List<AutoCloseable> open = new ArrayList<>();
    private String pid = "";
    private RedisServer server;

    RealRedis() {
        server = start();
    }

    private RedisServer start() {
        try {
            RedisServer started = new RedisServerBuilder()
                    .port(port)
                    .setting("bind 127.0.0.1")
                    .setting("save \"\"")
                    .setting("appendonly no")
                    .build();
            started.start();
            RedisClient asking = RedisClient.create(uri());
            pid = asking.connect().sync().info("server").replaceAll("(?s).*process_id:(\\d+).*", "$1");
            asking.shutdown(Duration.ZERO, Duration.ofSeconds(2));
            return started;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    int port() {
        return port;
    }

    String uri() {
        return "redis://127.0.0.1:" + port;
    }

    /** A client that goes with the server. */
    RedisClient client() {
        RedisClient client = RedisClient.create(uri());
        open.add(client::shutdown);
        return client;
    }

    StatefulRedisConnection<String, String> connection() {
        return client().connect();
    }

    /** Signals the server's process, as {@code kill} does. */
    void signal(String name) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + name, pid).inheritIO().start().waitFor();
    }

    /** It has no time to do anything any more. */
    void kill() throws IOException, InterruptedException {
        signal("KILL");
        stop();
    }

    void startAgain() {
        server = start();
    }

    void stop() {
        try {
            server.stop();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Once more, with nothing in it, on the same port. */
    void restart() {
        stop();
        startAgain();
    }

    @Override
    public void afterAll(ExtensionContext context) {
        if (context.getRequiredTestClass().getEnclosingClass() == null) { // Nested ones go on with it.
            close();
        }
    }

    @Override
    public void close() {
        for (AutoCloseable each : open) {
            try {
                each.close();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
        stop();
    }
}
