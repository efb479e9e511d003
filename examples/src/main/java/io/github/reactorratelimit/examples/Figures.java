package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.test.RequestLog;
import java.time.Duration;
import java.util.List;

/**
 * How a scenario came out.
 *
 * @param sent requests in the service's log
 * @param done calls that ended with a 200, as the client saw it
 * @param refused answers with 429 in the service's log
 * @param unavailable answers with 503 in the service's log
 * @param time from the first call to the last outcome
 */
record Figures(int sent, int done, int refused, int unavailable, Duration time) {

    static Figures of(RequestLog log, Scenario scenario, int done, Duration time) {
        List<Integer> statuses = log.entries(scenario.path()).stream()
                .filter(entry -> scenario.tokens().contains(entry.token()))
                .map(RequestLog.Entry::status)
                .toList();
        return new Figures(statuses.size(), done, count(statuses, 429), count(statuses, 503), time);
    }

    private static int count(List<Integer> statuses, int wanted) {
        return (int) statuses.stream().filter(status -> status == wanted).count();
    }

    double seconds() {
        return time.toNanos() / 1e9;
    }
}
