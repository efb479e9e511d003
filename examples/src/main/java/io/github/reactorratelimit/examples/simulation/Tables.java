package io.github.reactorratelimit.examples.simulation;

import io.github.reactorratelimit.examples.simulation.Results.AtDistance;
import io.github.reactorratelimit.examples.simulation.Results.AtServer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The figures, as Markdown. */
final class Tables {

    private Tables() {}

    static String clients(List<Outcome> outcomes) {
        return """
                | client | requests | 429s | answered | last answer | of the optimum | wait p50 | p99 |
                | --- | --- | --- | --- | --- | --- | --- | --- |
                """
                + rows(
                        outcomes,
                        outcome -> String.format(
                                Locale.ROOT,
                                "| %s | %,d | %,d | %d of %d | %s | %s | %s | %s |",
                                name(outcome),
                                outcome.requests(),
                                outcome.refused(),
                                outcome.done(),
                                outcome.calls(),
                                seconds(outcome.finished()),
                                percent(outcome.ofOptimum()),
                                seconds(outcome.wait(50)),
                                seconds(outcome.wait(99))));
    }

    static String lanes(List<Outcome> outcomes) {
        return """
                | client | requests | 429s | last answer | of the optimum | people p50 | p99 | job p50 | p99 |
                | --- | --- | --- | --- | --- | --- | --- | --- | --- |
                """
                + rows(
                        outcomes,
                        outcome -> String.format(
                                Locale.ROOT,
                                "| %s | %,d | %,d | %s | %s | %s | %s | %s | %s |",
                                name(outcome),
                                outcome.requests(),
                                outcome.refused(),
                                seconds(outcome.finished()),
                                percent(outcome.ofOptimum()),
                                seconds(outcome.wait(Strategy.INTERACTIVE, 50)),
                                seconds(outcome.wait(Strategy.INTERACTIVE, 99)),
                                seconds(outcome.wait(Strategy.BACKGROUND, 50)),
                                seconds(outcome.wait(Strategy.BACKGROUND, 99))));
    }

    static String distances(List<AtDistance> distances) {
        return """
                | round trips in a period | round trip | 429s | by the formula | of the optimum, server tells nothing | server tells |
                | --- | --- | --- | --- | --- | --- |
                """
                + distances.stream()
                        .map(at -> String.format(
                                Locale.ROOT,
                                "| %,d | %,d ms | %d | %s | %s | %s |\n",
                                at.trips(),
                                at.roundTrip().toMillis(),
                                at.silent().refused() + at.telling().refused(),
                                exactly(at.formula()),
                                exactly(at.silent().ofOptimum()),
                                exactly(at.telling().ofOptimum())))
                        .collect(Collectors.joining());
    }

    /** What servers that tell of their limits cost a client that knows them; those that don't cost the same. */
    static String losses(List<AtServer> servers) {
        return """
                | server | of the optimum | longer by | of it once, at the start | in each of the periods behind the first |
                | --- | --- | --- | --- | --- |
                """
                + servers.stream()
                        .filter(at -> at.service().hints())
                        .map(at -> loss(at.service(), at.of(Strategy.configured())))
                        .collect(Collectors.joining());
    }

    private static String loss(Service service, Outcome outcome) {
        Loss loss = Loss.of(service, outcome);
        return String.format(
                Locale.ROOT,
                "| %s | %s | %.2f s | %.2f s | %d × %.3f s |\n",
                service.name(),
                percent(outcome.ofOptimum()),
                loss.inAll().toNanos() / 1e9,
                loss.once().toNanos() / 1e9,
                loss.periods(),
                loss.each().toNanos() / 1e9);
    }

    private static String rows(List<Outcome> outcomes, Function<Outcome, String> row) {
        return outcomes.stream().map(outcome -> row.apply(outcome) + "\n").collect(Collectors.joining());
    }

    /** Ours stand out. */
    private static String name(Outcome outcome) {
        return outcome.strategy().startsWith("ours") ? "**" + outcome.strategy() + "**" : outcome.strategy();
    }

    private static String seconds(Duration time) {
        return String.format(Locale.ROOT, "%.1f s", time.toNanos() / 1e9);
    }

    private static String exactly(double share) {
        return String.format(Locale.ROOT, "%.2f %%", 100 * share);
    }

    private static String percent(double share) {
        return String.format(Locale.ROOT, "%.1f %%", 100 * share);
    }
}
