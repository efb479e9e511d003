package io.github.reactorratelimit.examples;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** How far the scenarios are, for people who watch. */
final class Progress {

    private final List<Scenario> scenarios;
    private final Map<Scenario, Integer> done = new ConcurrentHashMap<>();
    private final Set<Scenario> ended = ConcurrentHashMap.newKeySet();

    Progress(List<Scenario> scenarios) {
        this.scenarios = scenarios;
    }

    void done(Scenario scenario) {
        done.merge(scenario, 1, Integer::sum);
    }

    void ended(Scenario scenario) {
        ended.add(scenario);
    }

    String line(Duration elapsed) {
        return String.format(
                Locale.ROOT,
                "%3d s  %s",
                elapsed.toSeconds(),
                scenarios.stream().map(this::state).collect(Collectors.joining("   ")));
    }

    private String state(Scenario scenario) {
        return scenario.name() + " " + done.getOrDefault(scenario, 0) + "/" + scenario.allCalls()
                + (ended.contains(scenario) ? " (ended)" : "");
    }
}
