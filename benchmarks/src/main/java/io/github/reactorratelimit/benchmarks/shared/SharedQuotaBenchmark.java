package io.github.reactorratelimit.benchmarks.shared;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.embedded.RedisServer;
import redis.embedded.core.RedisServerBuilder;

/**
 * Permits of one hot key on a real Redis, ours and the peers', side by side in one run. Prints a row per contender and
 * number of callers, then how often ours gives what the best peer does.
 */
public final class SharedQuotaBenchmark {

    private static final List<Integer> CALLERS = List.of(1, 8, 64, 256, 10_000);
    private static final List<Function<String, Contender>> CONTENDERS = List.of(
            Contender::ours,
            Contender::bucket4jCas,
            Contender::bucket4jBatching,
            Contender::redisson,
            Contender::oneScriptPerPermit);

    private record Row(String name, int callers, double perSecond) {}

    private SharedQuotaBenchmark() {}

    /**
     * Takes about three minutes.
     *
     * @param args for how many milliseconds each is measured, 5000 unless said
     * @throws Exception if Redis can't be started
     */
    public static void main(String[] args) throws Exception {
        long millis = args.length == 0 || args[0].isBlank() ? 5_000 : Long.parseLong(args[0]);
        int port = freePort();
        RedisServer redis = new RedisServerBuilder()
                .port(port)
                .setting("bind 127.0.0.1")
                .setting("save \"\"")
                .build();
        redis.start();
        RedisClient client = RedisClient.create("redis://127.0.0.1:" + port);
        try {
            List<Row> rows = run("redis://127.0.0.1:" + port, client.connect().sync(), millis);
            CALLERS.forEach(callers -> ratio(rows, callers));
        } finally {
            client.shutdown();
            redis.stop();
        }
        System.exit(0); // Peers leave threads behind.
    }

    private static List<Row> run(String uri, RedisCommands<String, String> redis, long millis) throws Exception {
        List<Row> rows = new ArrayList<>();
        System.out.printf(
                "%-28s %8s %12s %10s %10s %10s%n", "contender", "callers", "permits/s", "p50 ms", "p99 ms", "commands");
        for (Function<String, Contender> each : CONTENDERS) {
            for (int callers : CALLERS) {
                redis.flushall();
                Contender contender = each.apply(uri);
                if (callers <= contender.mostCallers()) {
                    rows.add(measured(contender, callers, redis, millis));
                }
                contender.close().run();
            }
        }
        return rows;
    }

    private static Row measured(Contender contender, int callers, RedisCommands<String, String> redis, long millis)
            throws InterruptedException {
        Callers.run(contender.permit(), callers, 0, 2_000);
        long before = commands(contender, redis);
        Callers.Measured measured = Callers.run(contender.permit(), callers, 0, millis);
        double permits = measured.permits();
        System.out.printf(
                Locale.ROOT,
                "%-28s %8d %12.0f %10.3f %10.3f %10.4f%n",
                contender.name(),
                callers,
                permits * 1_000 / millis,
                measured.latencies().millis(500),
                measured.latencies().millis(990),
                (commands(contender, redis) - before) / Math.max(1, permits));
        return new Row(contender.name(), callers, permits * 1_000 / millis);
    }

    /** What came over the wire: scripts, and what is got without one. */
    private static long commands(Contender contender, RedisCommands<String, String> redis) {
        String stats = redis.info("commandstats");
        long scripts = calls(stats, "evalsha") + calls(stats, "eval");
        return contender.getsToo() ? Math.max(scripts, calls(stats, "get")) : scripts;
    }

    private static long calls(String stats, String command) {
        Matcher line = Pattern.compile("cmdstat_" + command + ":calls=(\\d+)").matcher(stats);
        return line.find() ? Long.parseLong(line.group(1)) : 0;
    }

    private static void ratio(List<Row> rows, int callers) {
        List<Row> here = rows.stream().filter(row -> row.callers == callers).toList();
        Optional<Row> best = here.stream().skip(1).max(Comparator.comparingDouble(Row::perSecond));
        best.ifPresent(peer -> System.out.printf(
                Locale.ROOT,
                "callers=%d ratio=%.1f to the best peer, %s%n",
                callers,
                here.get(0).perSecond / peer.perSecond,
                peer.name));
    }

    private static int freePort() throws java.io.IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
