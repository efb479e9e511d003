package io.github.reactorratelimit.redis;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import redis.embedded.RedisServer;
import redis.embedded.core.RedisServerBuilder;

/** A real server on a port of its own, for one test class. */
final class RealRedis implements AutoCloseable {

    private final int port = freePort();
    private final List<AutoCloseable> open = new ArrayList<>();
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
        server = start();
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
