package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A response as people copy it: from {@code curl}, HTTPie, PowerShell, a browser, as JSON, or the header lines alone. Of several
 * heads (a proxy's, a redirect's, 100) the last one counts.
 *
 * @param status what was given, {@link #ASSUMED} if nothing was
 * @param isStatusAssumed whether nothing was
 * @param headers the header lines, folded ones in one piece
 * @param body what came behind the blank line
 * @param unread lines of the head that are no header
 */
record PastedResponse(int status, boolean isStatusAssumed, Headers headers, String body, List<String> unread) {

    /** What a response without a status line is taken for: people ask because they were refused. */
    private static final int ASSUMED = 429;

    static PastedResponse of(String pasted) {
        Head head = new Head();
        List<String> lines = Transcript.received(pasted);
        int at = 0;
        while (at < lines.size()) {
            String line = lines.get(at++);
            if (head.isBegun() && isJson(line)) {
                at--; // The blank line got lost: no header begins like JSON.
                break;
            } else if (!line.isBlank()) {
                head.line(line);
            } else if (head.isBegun() && !(head.hasNoBody() && isHead(lines, at))) {
                break;
            }
        }
        String body = Transcript.withoutRemark(String.join("\n", lines.subList(at, lines.size())));
        boolean assumed = head.status < 0;
        Headers headers = Headers.of(head.headers.toArray(new String[0]));
        return new PastedResponse(assumed ? ASSUMED : head.status, assumed, headers, body, head.unread);
    }

    static boolean isJson(String line) {
        String text = line.strip();
        return text.startsWith("{") || text.startsWith("[");
    }

    /** Whether another head follows, behind any number of blank lines. */
    private static boolean isHead(List<String> lines, int from) {
        int at = from;
        while (at < lines.size() && lines.get(at).isBlank()) {
            at++;
        }
        return at < lines.size()
                && Head.STATUS_LINE.matcher(lines.get(at).strip()).matches();
    }

    RateLimitSignal read(Dialect dialect, long wallNowMillis) {
        int wanted = dialect.bodyBytes(status, headers);
        if (wanted == 0) {
            return dialect.read(status, headers, wallNowMillis);
        }
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        return dialect.readBody(status, headers, Arrays.copyOf(bytes, Math.min(wanted, bytes.length)), wallNowMillis);
    }

    /** One head while its lines come. */
    private static final class Head {

        static final Pattern STATUS_LINE =
                Pattern.compile("HTTP(?:/[0-9.]+)? +([1-5][0-9][0-9])( .*)?", Pattern.CASE_INSENSITIVE);

        private static final Pattern BARE_STATUS = Pattern.compile("([1-5][0-9][0-9])(?: .*)?");

        private static final Pattern NAMED_STATUS =
                Pattern.compile(":?status[ _-]?(?:code)? *[: ] *([1-5][0-9][0-9])(?: .*)?", Pattern.CASE_INSENSITIVE);

        private static final Pattern HEADER = Pattern.compile("([^\\s:]+)[ \\t]*:(.*)");

        private final List<String> headers = new ArrayList<>();
        private final List<String> unread = new ArrayList<>();
        private int status = -1;
        /** A proxy's answer to a CONNECT. */
        private boolean tunnel;
        /** How far the lines are indented, if the whole head is. */
        private int indent = -1;

        /** Whether what follows it, of a status that is not the last word or of no length, is another head and no body. */
        boolean hasNoBody() {
            boolean answered = status >= 200 && status != 204 && (status < 300 || status >= 400);
            boolean again = status == 401 || status == 407 || tunnel;
            return !answered || again || "0".equals(value("Content-Length"));
        }

        private @Nullable String value(String name) {
            for (int i = 0; i < headers.size(); i += 2) {
                if (headers.get(i).equalsIgnoreCase(name)) {
                    return headers.get(i + 1);
                }
            }
            return null;
        }

        boolean isBegun() {
            return status >= 0 || !headers.isEmpty() || !unread.isEmpty();
        }

        void line(String raw) {
            String line = raw.strip();
            Matcher statusLine = STATUS_LINE.matcher(line);
            Matcher bare = BARE_STATUS.matcher(line);
            Matcher named = NAMED_STATUS.matcher(line);
            if (statusLine.matches()) {
                headers.clear();
                unread.clear();
                status = Integer.parseInt(statusLine.group(1));
                String phrase = statusLine.group(2);
                tunnel = phrase != null && phrase.toLowerCase(Locale.ROOT).contains("connection established");
                indent = indentOf(raw);
            } else if (!isBegun() && bare.matches()) {
                status = Integer.parseInt(bare.group(1));
            } else if (named.matches()) {
                status = status < 0 ? Integer.parseInt(named.group(1)) : status;
            } else {
                field(raw, line);
            }
        }

        private void field(String raw, String line) {
            Matcher header = HEADER.matcher(line);
            indent = indent < 0 ? indentOf(raw) : indent;
            if (indentOf(raw) > indent && !headers.isEmpty()) {
                int last = headers.size() - 1;
                headers.set(last, headers.get(last) + " " + line);
            } else if (header.matches()) {
                headers.add(header.group(1));
                headers.add(header.group(2).strip());
            } else if (!line.startsWith(":")) {
                unread.add(line);
            }
        }

        private static int indentOf(String raw) {
            return raw.length() - raw.stripLeading().length();
        }
    }
}
