package io.github.reactorratelimit.examples;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Headers as programs print them: a JSON object, an archive's list of names and values, a dictionary of Python, the text of
 * Spring's {@code HttpHeaders}. What is around them is left away, but a status is taken along.
 */
final class PastedPairs {

    /** No header of interest is longer, and the matcher's stack is not endless. */
    private static final String TEXT = "(?:\"((?:[^\"\\\\]|\\\\.){0,1024})\"|'((?:[^'\\\\]|\\\\.){0,1024})'|([0-9.]+))";

    private static final String TOKEN = "([A-Za-z0-9!#$%&*+.^_`|~-]+)";

    private static final Pattern PAIR =
            Pattern.compile("(?:\"" + TOKEN + "\"|'" + TOKEN + "'|" + TOKEN + ")\\s*:\\s*\\[?\\s*" + TEXT);

    private static final Pattern NAMED =
            Pattern.compile("\"name\"\\s*:\\s*\"" + TOKEN + "\"\\s*,\\s*\"value\"\\s*:\\s*" + TEXT);

    private static final Pattern HEADERS =
            Pattern.compile("[\"']?(?:response_?)?headers[\"']?\\s*:\\s*[\\[{]", Pattern.CASE_INSENSITIVE);

    private static final Pattern STATUS = Pattern.compile(
            "[\"']?status(?:_?code)?[\"']?\\s*:\\s*[\"']?([1-5][0-9][0-9])\\b", Pattern.CASE_INSENSITIVE);

    private PastedPairs() {}

    /** Whether the whole paste is such a thing. */
    static boolean isAll(String text) {
        String stripped = text.strip();
        return PastedResponse.isJson(stripped) && PAIR.matcher(stripped).find();
    }

    /** As header lines. */
    static List<String> of(String text) {
        List<String> lines = new ArrayList<>();
        String inner = text;
        Matcher headers = HEADERS.matcher(text);
        if (headers.find()) {
            inner = block(text, headers.end() - 1);
        }
        Matcher status = STATUS.matcher(text.replace(inner, ""));
        if (status.find() || (inner.equals(text) && status.reset(text).find())) {
            lines.add("Status: " + status.group(1));
        }
        Matcher pair = NAMED.matcher(inner);
        boolean named = pair.find();
        pair = named ? pair.reset() : PAIR.matcher(inner);
        int names = named ? 1 : 3;
        while (pair.find()) {
            String name = first(pair, 1, names);
            if (!STATUS.matcher(pair.group()).lookingAt()) {
                lines.add(name + ": " + first(pair, names + 1, names + 3).replaceAll("\\\\(.)", "$1"));
            }
        }
        return lines;
    }

    private static String first(Matcher matcher, int from, int to) {
        for (int group = from; group <= to; group++) {
            String text = matcher.group(group);
            if (text != null) {
                return text;
            }
        }
        return "";
    }

    /** From a bracket to the one that closes it. */
    private static String block(String text, int from) {
        int depth = 0;
        char quote = 0;
        for (int i = from; i < text.length(); i++) {
            char c = text.charAt(i);
            if (quote != 0) {
                i += c == '\\' ? 1 : 0;
                quote = c == quote ? 0 : quote;
            } else if (c == '"' || c == '\'') {
                quote = c;
            } else if (c == '{' || c == '[') {
                depth++;
            } else if ((c == '}' || c == ']') && --depth == 0) {
                return text.substring(from, i + 1);
            }
        }
        return text.substring(from);
    }
}
