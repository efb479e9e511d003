package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A response as people copy it: from {@code curl -i}, from {@code curl -v} with its {@code < } before each line, or the
 * header lines alone; with the body behind a blank line, or behind the headers if it is JSON.
 */
record PastedResponse(int status, boolean isStatusAssumed, Headers headers, String body) {

    /** What a response without a status line is taken for: people ask because they were refused. */
    private static final int ASSUMED = 429;

    private static final Pattern STATUS = Pattern.compile("(?:HTTP/[0-9.]+ +)?([1-5][0-9][0-9])(?: .*)?");

    static PastedResponse of(String pasted) {
        Iterator<String> lines = pasted.lines()
                .map(line -> line.startsWith("<") ? line.substring(1) : line)
                .map(String::strip)
                .dropWhile(String::isEmpty)
                .iterator();
        int status = -1;
        List<String> headers = new ArrayList<>();
        StringBuilder body = new StringBuilder();
        while (lines.hasNext()) {
            String line = lines.next();
            Matcher statusLine = STATUS.matcher(line);
            int colon = line.indexOf(':');
            if (line.isEmpty()) {
                break;
            } else if (line.startsWith("{") || line.startsWith("[")) {
                body.append(line).append('\n'); // The blank line got lost: no header begins like JSON.
                break;
            } else if (headers.isEmpty() && statusLine.matches()) {
                status = Integer.parseInt(statusLine.group(1));
            } else if (colon > 0) {
                headers.add(line.substring(0, colon).strip());
                headers.add(line.substring(colon + 1).strip());
            }
        }
        lines.forEachRemaining(line -> body.append(line).append('\n'));
        Headers all = Headers.of(headers.toArray(new String[0]));
        return new PastedResponse(status < 0 ? ASSUMED : status, status < 0, all, body.toString());
    }

    RateLimitSignal read(Dialect dialect, long wallNowMillis) {
        int wanted = dialect.bodyBytes(status, headers);
        if (wanted == 0) {
            return dialect.read(status, headers, wallNowMillis);
        }
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        return dialect.readBody(status, headers, Arrays.copyOf(bytes, Math.min(wanted, bytes.length)), wallNowMillis);
    }
}
