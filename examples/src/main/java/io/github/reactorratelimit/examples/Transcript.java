package io.github.reactorratelimit.examples;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Makes the lines of a response out of what tools print and people copy: without the request, without marks and remarks, a
 * name and its value in one line.
 */
final class Transcript {

    private static final int ANY_CASE = Pattern.CASE_INSENSITIVE;

    private static final Pattern STATUS_LINE = Pattern.compile("(< *)?HTTP/[0-9.]+ +[1-5][0-9][0-9]( .*)?", ANY_CASE);
    private static final Pattern REQUEST_LINE = Pattern.compile("[A-Z]+ \\S+ HTTP/[0-9.]+");
    private static final Pattern MARKED = Pattern.compile("< *HTTP/.*", ANY_CASE);

    /** What {@code curl -v} prints besides the response: what it sent, what it did, how far it is. */
    private static final Pattern REMARK =
            Pattern.compile("[>*]( .*)?|[{}] \\[[0-9]+ bytes data]|.*--:--:--.*| +(% +Total|Dload) .*");

    /** It follows the last line of the body, which often has no end of line. */
    private static final Pattern LAST_REMARK = Pattern.compile("\\* (Connection|Closing connection|shutting down) ?.*");

    /** The titles of a browser's sections, perhaps with a count. */
    private static final Pattern TITLE = Pattern.compile(
            "(general|summary|(?:request|response)(?: headers| cookies| payload| body)?|query string parameters|form data"
                    + "|payload|cookies|timings?)(?: *\\([0-9.,]+ *[a-z]*\\))?:?",
            ANY_CASE);

    private static final Pattern RESPONSE = Pattern.compile("response( headers)?\\b.*", ANY_CASE);
    private static final Pattern STATUS_NAME = Pattern.compile(":?status(?:[ _-]?code)? *:?", ANY_CASE);
    private static final Pattern STATUS = Pattern.compile("[1-5][0-9][0-9]\\b.*");
    private static final Pattern NAME = Pattern.compile(":?[A-Za-z0-9!#$%&'*+.^_`|~-]+ *:?");
    private static final Pattern NAME_AND_VALUE = Pattern.compile(":?[A-Za-z0-9!#$%&'*+.^_`|~-]+ *:.*\\S.*");

    /** PowerShell's list of properties, and its table. */
    private static final Pattern RAW_CONTENT = Pattern.compile("RawContent +: (HTTP/.*)");

    private static final Pattern ROW = Pattern.compile("([A-Za-z0-9_-]+) +\\{(.*)}");

    private Transcript() {}

    static List<String> received(String pasted) {
        String text = pasted.startsWith("\uFEFF") ? pasted.substring(1) : pasted;
        if (PastedPairs.isAll(text)) {
            return PastedPairs.of(text);
        }
        List<String> lines = unmarked(text.lines().toList());
        lines = ofPowerShell(lines);
        lines = withoutRequest(lines);
        return oneLineEach(ofBrowser(lines));
    }

    static String withoutRemark(String body) {
        return LAST_REMARK.matcher(body).replaceFirst("");
    }

    private static List<String> unmarked(List<String> lines) {
        boolean marked = lines.stream().anyMatch(line -> MARKED.matcher(line).matches());
        return lines.stream()
                .filter(line -> !marked || !REMARK.matcher(line).matches())
                .map(line -> line.equals("<") ? "" : line.startsWith("< ") ? line.substring(2) : line)
                .toList();
    }

    /** The whole response is in one property, its lines below each other; else there is a table of the headers. */
    private static List<String> ofPowerShell(List<String> lines) {
        for (int i = 0; i < lines.size(); i++) {
            Matcher raw = RAW_CONTENT.matcher(lines.get(i));
            if (raw.matches()) {
                int indent = raw.start(1);
                List<String> response = new ArrayList<>(List.of(raw.group(1)));
                for (int j = i + 1; j < lines.size() && isIndented(lines.get(j), indent); j++) {
                    String line = lines.get(j);
                    response.add(line.substring(Math.min(indent, line.length())));
                }
                return response;
            }
        }
        boolean table = lines.stream().anyMatch(line -> line.matches("Key +Value *"));
        if (!table) {
            return lines;
        }
        return lines.stream()
                .filter(line -> !line.isBlank() && !line.matches("Key +Value *|--- +----- *"))
                .map(line -> ROW.matcher(line).replaceFirst("$1: $2"))
                .toList();
    }

    private static boolean isIndented(String line, int indent) {
        return line.isBlank() || line.indent(0).startsWith(" ".repeat(indent));
    }

    /** HTTPie tells the request first. */
    private static List<String> withoutRequest(List<String> lines) {
        boolean begins = lines.stream()
                .filter(line -> !line.isBlank())
                .limit(1)
                .anyMatch(line -> REQUEST_LINE.matcher(line.strip()).matches());
        int response = 0;
        while (begins
                && response < lines.size()
                && !STATUS_LINE.matcher(lines.get(response).strip()).matches()) {
            response++;
        }
        return lines.subList(response, lines.size());
    }

    /** Keeps the status and the response's own section, if there are sections at all. */
    private static List<String> ofBrowser(List<String> lines) {
        int first = 0;
        while (first < lines.size() && !isTitle(lines.get(first))) {
            if (STATUS_LINE.matcher(lines.get(first).strip()).matches() || PastedResponse.isJson(lines.get(first))) {
                return lines;
            }
            first++;
        }
        if (first == lines.size()) {
            return lines;
        }
        List<String> kept = new ArrayList<>();
        // What stands before all titles belongs to the first that is not there.
        boolean response = !RESPONSE.matcher(lines.get(first).strip()).matches();
        boolean named = false;
        for (String line : joined(lines)) {
            if (isTitle(line)) {
                response = RESPONSE.matcher(line.strip()).matches();
            } else if (response || (isStatus(line) && !named)) {
                kept.add(line);
            }
            named |= isStatus(line);
        }
        kept.removeIf(
                line -> line.isBlank() || REQUEST_LINE.matcher(line.strip()).matches());
        return kept;
    }

    private static boolean isTitle(String line) {
        return TITLE.matcher(line.strip()).matches();
    }

    private static boolean isStatus(String line) {
        return line.startsWith("Status: ") && STATUS.matcher(line.substring(8)).matches();
    }

    /** A status under its name, and in one line with it; however it is written. */
    private static List<String> joined(List<String> lines) {
        List<String> joined = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            String line = lines.get(i).strip();
            int colon = line.lastIndexOf(':');
            String next = i + 1 < lines.size() ? lines.get(i + 1).strip() : "";
            if (STATUS_NAME.matcher(line).matches() && STATUS.matcher(next).matches()) {
                joined.add("Status: " + next);
                i++;
            } else if (colon > 0
                    && STATUS_NAME.matcher(line.substring(0, colon)).matches()
                    && STATUS.matcher(line.substring(colon + 1).strip()).matches()) {
                joined.add("Status: " + line.substring(colon + 1).strip());
            } else {
                joined.add(lines.get(i));
            }
        }
        return joined;
    }

    /** Newer browsers copy a name and its value as two lines. */
    private static List<String> oneLineEach(List<String> given) {
        List<String> lines = joined(given);
        List<String> names = lines.stream()
                .filter(line -> !line.isBlank() && !isStatus(line))
                .map(String::strip)
                .toList();
        boolean valued = true;
        for (int i = 0; i < names.size(); i++) {
            boolean isName = NAME.matcher(names.get(i)).matches();
            if (i % 2 == 0 && !isName) {
                return lines;
            }
            valued &= i % 2 == 0 || NAME_AND_VALUE.matcher(names.get(i)).matches();
        }
        if (names.size() < 2 || names.size() % 2 != 0 || valued) {
            return lines;
        }
        List<String> pairs =
                new ArrayList<>(lines.stream().filter(Transcript::isStatus).toList());
        for (int i = 0; i < names.size(); i += 2) {
            String name = names.get(i).replaceFirst(" *:$", "");
            pairs.add(name + ": " + names.get(i + 1));
        }
        return pairs;
    }
}
