package io.github.reactorratelimit.benchmarks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.NoBenchmarksException;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;

/** Runs everything and prints each figure beside the best peer's, as a ratio. */
public final class Benchmarks {

    private Benchmarks() {}

    /**
     * Runs all benchmarks, in less than five minutes.
     *
     * @param arguments a regular expression to run only those whose name, {@code Class.method}, has a match for it
     * @throws RunnerException if JMH fails
     */
    public static void main(String[] arguments) throws RunnerException {
        String only = arguments.length > 0 ? arguments[0] : ".*";
        List<Row> rows = new ArrayList<>();
        rows.addAll(run("TryAcquireBenchmark.*", only, 1));
        for (int threads : new int[] {2, 4}) {
            rows.addAll(run("TryAcquireBenchmark.granted_.*", only, threads));
        }
        rows.addAll(run("SixLimitsBenchmark.*", only, 1));
        rows.addAll(run("OperatorBenchmark.*", only, 1));
        rows.addAll(run("WaitingBenchmark.*", only, 1));
        rows.addAll(run("ParsingBenchmark.*", only, 1));
        print(rows);
    }

    private static List<Row> run(String include, String only, int threads) throws RunnerException {
        ChainedOptionsBuilder options = new OptionsBuilder()
                .include("(?=.*" + only + ")(?=.*" + include + ").*")
                .forks(1)
                .threads(threads)
                .jvmArgs("-Xms2g", "-Xmx2g", "-XX:+UseParallelGC")
                .addProfiler(GCProfiler.class);
        if (!include.startsWith("Waiting")) {
            options.warmupIterations(3)
                    .warmupTime(TimeValue.milliseconds(400))
                    .measurementIterations(5)
                    .measurementTime(TimeValue.milliseconds(400));
        }
        try {
            Collection<RunResult> results = new Runner(options.build()).run();
            return results.stream().map(result -> Row.of(result, threads)).toList();
        } catch (NoBenchmarksException none) {
            return List.of();
        }
    }

    private static void print(List<Row> rows) {
        StringBuilder table = new StringBuilder("\n| case | threads | who | time | B/op | ours ÷ best peer |\n")
                .append("| --- | ---: | --- | ---: | ---: | ---: |\n");
        for (Row row : rows) {
            table.append(String.format(
                    Locale.ROOT,
                    "| %s | %d | %s | %.1f ± %.1f %s | %.1f | %s |%n",
                    row.what,
                    row.threads,
                    row.who,
                    row.time,
                    row.error,
                    row.unit,
                    row.bytes,
                    row.ratio(rows)));
        }
        System.out.println(table);
    }

    private record Row(String what, String who, int threads, double time, double error, String unit, double bytes) {

        static Row of(RunResult result, int threads) {
            String name = result.getPrimaryResult().getLabel();
            int split = name.indexOf('_');
            Result<?> allocated = result.getSecondaryResults().get("gc.alloc.rate.norm");
            return new Row(
                    name.substring(0, split),
                    name.substring(split + 1),
                    threads,
                    result.getPrimaryResult().getScore(),
                    result.getPrimaryResult().getScoreError(),
                    result.getPrimaryResult().getScoreUnit(),
                    allocated == null ? Double.NaN : allocated.getScore());
        }

        String ratio(List<Row> rows) {
            if (!who.startsWith("ours")) {
                return "";
            }
            List<Row> peers = rows.stream()
                    .filter(row -> row.what.equals(what)
                            && row.threads == threads
                            && !row.who.startsWith("ours")
                            && !row.who.equals("source"))
                    .toList();
            if (what.equals("parsing")) {
                // A clock and a walk are no peers of each other: each ratio says something of its own.
                return peers.stream()
                        .map(row -> String.format(Locale.ROOT, "%.1f %s", time / row.time, row.who))
                        .collect(Collectors.joining(", "));
            }
            return peers.stream().mapToDouble(row -> time / row.time).max().stream()
                    .mapToObj(ratio -> String.format(Locale.ROOT, "%.2f", ratio))
                    .findFirst()
                    .orElse("");
        }
    }
}
