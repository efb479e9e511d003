package io.github.reactorratelimit.signal;

import java.util.ArrayList;
import java.util.List;

/** The {@code Date} lines of a response, for what is in its body and has no clock of its own. */
final class DateLines {

    private static final String NAME = "Date";
    private static final int MOST = 8;

    private DateLines() {}

    /** Names and values in turns. */
    static List<String> of(Headers headers) {
        List<String> lines = new ArrayList<>(2);
        headers.forEach((name, value) -> {
            if (HeaderName.same(name, NAME) && lines.size() < MOST) {
                lines.add(NAME);
                lines.add(value);
            }
        });
        return lines;
    }
}
