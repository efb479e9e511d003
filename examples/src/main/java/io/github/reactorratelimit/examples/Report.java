package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.examples.Scenario.Result;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The results: a table for people, and one line per scenario for machines. */
final class Report {

    private static final String ROW = "%-14s %5s %5s %8s %12s %8s   %s";

    private Report() {}

    static String table(List<Result> results) {
        String head = String.format(
                Locale.ROOT, ROW, "scenario", "sent", "done", "refused", "unavailable", "seconds", "to reach");
        return Stream.concat(Stream.of(head), results.stream().map(Report::row)).collect(Collectors.joining("\n"));
    }

    static String machineLines(List<Result> results) {
        return results.stream()
                .map(result -> machineLine(result.scenario().name(), result.figures()))
                .collect(Collectors.joining("\n"));
    }

    /** The names of the scenarios that missed a figure. */
    static List<String> missed(List<Result> results) {
        return results.stream()
                .filter(result -> !result.reached())
                .map(result -> result.scenario().name())
                .toList();
    }

    private static String row(Result result) {
        Figures figures = result.figures();
        Target target = result.scenario().target();
        String goal = String.format(
                Locale.ROOT,
                "%d sent, %d done, %d x 429, %d x 503, <= %.1f s: %s",
                target.sent(),
                target.done(),
                target.refused(),
                target.unavailable(),
                target.longest().toMillis() / 1e3,
                result.reached() ? "reached" : "MISSED");
        return String.format(
                Locale.ROOT,
                ROW,
                result.scenario().name(),
                figures.sent(),
                figures.done(),
                figures.refused(),
                figures.unavailable(),
                String.format(Locale.ROOT, "%.2f", figures.seconds()),
                goal);
    }

    private static String machineLine(String name, Figures figures) {
        return String.format(
                Locale.ROOT,
                "scenario=%s sent=%d done=%d refused=%d unavailable=%d seconds=%.2f",
                name,
                figures.sent(),
                figures.done(),
                figures.refused(),
                figures.unavailable(),
                figures.seconds());
    }
}
