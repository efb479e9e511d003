package io.github.reactorratelimit.test;

import io.github.reactorratelimit.test.RequestLog.Entry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Requests in failure messages: number, distance from the first that is shown, status, and whose. */
final class RequestLines {

    private RequestLines() {}

    static String of(List<Entry> entries, List<Integer> shown) {
        List<String> lines = new ArrayList<>();
        for (int i : shown) {
            lines.add("#" + (i + 1) + " "
                    + line(entries.get(i), entries.get(shown.get(0)).at()));
        }
        return Lines.indented(lines);
    }

    private static String line(Entry entry, Instant first) {
        return entry.at() + " (+" + Duration.between(first, entry.at()).toMillis() + " ms) "
                + (entry.status() == 0 ? "no answer" : entry.status()) + " "
                + entry.request().method() + " " + entry.endpoint()
                + (entry.token().equals(SimulatedRequest.ANONYMOUS) ? "" : ", " + tag(entry.token()));
    }

    /** Tells tokens apart without telling them. */
    static String tag(String token) {
        return "token ~" + Integer.toHexString(token.hashCode());
    }
}
