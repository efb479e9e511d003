package io.github.reactorratelimit.test;

import java.util.List;

/** Lists in failure messages: a line each, and only as many as somebody reads. */
final class Lines {

    private static final int MOST = 30;

    private Lines() {}

    static String indented(List<String> lines) {
        StringBuilder text = new StringBuilder();
        for (String line : lines.subList(0, Math.min(MOST, lines.size()))) {
            text.append(text.isEmpty() ? "  " : System.lineSeparator() + "  ").append(line);
        }
        if (lines.size() > MOST) {
            text.append(System.lineSeparator())
                    .append("  and ")
                    .append(lines.size() - MOST)
                    .append(" more");
        }
        return text.toString();
    }
}
