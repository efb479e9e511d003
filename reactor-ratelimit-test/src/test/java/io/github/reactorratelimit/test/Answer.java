package io.github.reactorratelimit.test;

import io.github.reactorratelimit.signal.Headers;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The parts of an answer that a test states, whichever way it came. */
record Answer(int status, List<String> lines, String body) {

    private static final Pattern WORDS = Pattern.compile("\"content\":\"((?:word)+)\"");

    static Answer of(int status, Headers headers, String body) {
        List<String> lines = new ArrayList<>();
        headers.forEach((name, value) -> lines.add(name + ": " + value));
        return new Answer(status, lines, body);
    }

    @Nullable
    String header(String name) {
        return lines.stream()
                .filter(line -> line.regionMatches(true, 0, name + ": ", 0, name.length() + 2))
                .map(line -> line.substring(name.length() + 2))
                .findFirst()
                .orElse(null);
    }

    Headers headers() {
        return line -> lines.forEach(each -> {
            int colon = each.indexOf(": ");
            line.accept(each.substring(0, colon), each.substring(colon + 2));
        });
    }

    /** The data of the events. */
    List<String> events() {
        List<String> events = new ArrayList<>();
        for (String event : body.split("\n\n", -1)) {
            if (!event.isEmpty()) {
                events.add(event.substring(event.indexOf("data: ") + 6));
            }
        }
        return events;
    }

    long words() {
        long characters = 0;
        Matcher content = WORDS.matcher(body);
        while (content.find()) {
            characters += content.group(1).length();
        }
        return characters / 4;
    }
}
