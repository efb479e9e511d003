package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.RequestLog;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import redis.embedded.RedisServer;
import redis.embedded.core.RedisServerBuilder;

/**
 * Two processes share the quota of the main job's server, 5 searches per 10 s, on Redis. Neither knows of the other, and
 * nobody is refused. Both servers are started here.
 */
public final class TwoProcesses {

    private TwoProcesses() {}

    /**
     * Takes about 50 seconds.
     *
     * @param args none
     * @throws Exception if a process fails, or somebody was refused
     */
    public static void main(String[] args) throws Exception {
        RequestLog log = run(12);
        System.out.println("both: " + log.countsByStatus());
        if (log.count(429) > 0 || log.count(200) != 24) {
            throw new IllegalStateException("24 x 200 expected, was " + log.countsByStatus());
        }
    }

    /** What the server saw of two processes with so many calls each. */
    static RequestLog run(int callsEach) throws IOException, InterruptedException {
        RedisServer redis = new RedisServerBuilder()
                .port(freePort())
                .setting("bind 127.0.0.1")
                .setting("save \"\"")
                .build();
        redis.start();
        try (RateLimitedServer server = Scenarios.service().start()) {
            String quota = "redis://127.0.0.1:" + redis.ports().get(0);
            List<Process> processes = Stream.of("one", "two")
                    .map(name -> start(name, quota, server.baseUrl(), callsEach))
                    .toList();
            for (Process process : processes) {
                if (process.waitFor() != 0) {
                    throw new IllegalStateException("a process failed, see above");
                }
            }
            return server.log();
        } finally {
            redis.stop();
        }
    }

    private static Process start(String name, String quota, String api, int calls) {
        try {
            return new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-cp",
                            System.getProperty("java.class.path"),
                            OneOfTwo.class.getName(),
                            name,
                            quota,
                            api,
                            Integer.toString(calls))
                    .inheritIO()
                    .start();
        } catch (IOException e) {
            throw new IllegalStateException("Java could not be started", e);
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
