package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.CharBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Random header sets out of what servers send and what attackers would: nothing throws, nothing is negative, and no more
 * is read than four times what came. A million of them; {@code -Dhostile.sets} and {@code -Dhostile.seed} run others.
 */
class HostileHeadersTest {

    private static final int SETS = Integer.getInteger("hostile.sets", 1_000_000);
    private static final long SEED = Long.getLong("hostile.seed", 20_260_101L);

    private static final int[] STATUSES = {200, 202, 301, 304, 400, 401, 403, 404, 418, 420, 429, 500, 503, 529, 0, -1};

    private static final String[] NAMES = {
        "Date",
        "Age",
        "Retry-After",
        "retry-after-ms",
        "x-ms-retry-after-ms",
        "x-amz-retry-after",
        "X-Retry-In",
        "RateLimit",
        "RateLimit-Policy",
        "RateLimit-Limit",
        "RateLimit-Remaining",
        "RateLimit-Reset",
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "X-RateLimit-Reset-After",
        "X-RateLimit-Reset-Ms",
        "X-RateLimit-Used",
        "X-RateLimit-Window",
        "X-RateLimit-Resource",
        "X-RateLimit-Bucket",
        "X-RateLimit-Scope",
        "X-RateLimit-Global",
        "X-Rate-Limit",
        "X-Rate-Limit-Retry-After-Seconds",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
        "x-ratelimit-remaining-tokens",
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-unified-status",
        "anthropic-ratelimit-unified-reset",
        "anthropic-ratelimit-unified-5h-utilization",
        "x-ms-throttle-scope",
        "x-ms-throttle-limit-percentage",
        "x-ms-resource-unit",
        "x-should-retry",
        "Content-Type",
        "x-ratelimit-",
        "x-ratelimit--limit",
        "iiiiiiiiiiiiiiiiiiiit",
        "ratelimitratelimitratelimit-limit",
        "",
        "\u0130-ratelimit-limit"
    };

    private static final String[] PIECES = {
        "0",
        "1",
        "-1",
        "30",
        "0.5",
        "1700000030",
        "1700000030000",
        "1e9",
        "9223372036854775807",
        "99999999999999999999999",
        "NaN",
        "Infinity",
        "null",
        "unlimited",
        "6m0s",
        "12ms",
        "1h",
        "250\u00b5s",
        "m",
        "h",
        "Fri, 29 Sep 2023 16:26:57 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Tue Feb 16 2021 09:02:42 GMT+0100 (CET)",
        "2023-11-14T22:13:50Z",
        "2021-05-10T11:30Z",
        "2023-02-30T00:00:00Z",
        "9999-12-31T23:59:59.999999999999+18:00",
        "0000-01-01T00:00:00Z",
        "\"default\";r=0;t=50",
        "\"a\";r=",
        "limit=10",
        ", remaining=0",
        ", reset=5",
        ";w=60",
        ";q=100",
        ";pk=:YQ==:",
        ";qu=\"concurrent-requests\"",
        "?1",
        "@1700000000",
        "(",
        ")",
        "\"",
        "\\",
        ":",
        ";",
        ",",
        "=",
        " ",
        "\t",
        "\u00a0",
        "\u0663",
        "\0",
        "\ud83d\ude00",
        "true",
        "rejected",
        "requests",
        "tokens",
        "Tenant_Application/ReadWrite/a/b",
        "application/json"
    };

    private final Dialect[] dialects = {
        Dialects.gitHub(),
        Dialects.microsoftGraph(),
        Dialects.microsoftGraphBatch(),
        Dialects.openAi(),
        Dialects.anthropic(),
        Dialects.discord()
    };

    @Test
    void of_a_million_header_sets_none_throws_or_turns_time_back_or_is_read_more_than_four_times() {
        SplittableRandom random = new SplittableRandom(SEED);
        long worst = 0;
        for (int i = 0; i < SETS; i++) {
            List<String> lines = lines(random);
            int status = STATUSES[random.nextInt(STATUSES.length)];
            long now = random.nextInt(8) == 0 ? random.nextLong() : 1_700_000_000_000L;
            worst = Math.max(worst, readCounted(status, lines, now));
            if (i % 16 == 0) {
                sameTwice(status, lines, now);
            }
            if (i % 4 == 0) {
                Dialect dialect = dialects[random.nextInt(dialects.length)];
                Headers headers = Headers.of(lines.toArray(new String[0]));
                sane(dialect.read(status, headers, now), lines);
                if (dialect.bodyBytes(status, headers) < 0) {
                    throw new AssertionError("a negative size for " + lines);
                }
            }
        }
        assertThat(worst).as("a hundredth of the input").isLessThanOrEqualTo(400);
    }

    @Test
    void no_body_throws_or_turns_time_back() {
        SplittableRandom random = new SplittableRandom(SEED);
        byte[] alphabet = "{}[]\":,0123456789.eE-truefalsenull retry_after error code \\u00ff\n"
                .getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
        byte[] start = "{\"retry_after\":".getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
        for (int i = 0; i < SETS / 100; i++) {
            byte[] body = new byte[random.nextInt(64)];
            for (int at = 0; at < body.length; at++) {
                boolean known = at < start.length && (i & 1) == 0;
                body[at] = known ? start[at] : alphabet[random.nextInt(alphabet.length)];
            }
            Dialect dialect = dialects[random.nextInt(dialects.length)];
            int status = STATUSES[random.nextInt(STATUSES.length)];
            sane(dialect.readBody(status, Headers.of(), body, 0), List.of());
        }
    }

    private static long readCounted(int status, List<String> lines, long now) {
        long[] reads = new long[1];
        long input = 0;
        RateLimitSignal signal;
        Reading reading = Reading.begin(now);
        try {
            for (int i = 0; i < lines.size(); i += 2) {
                input += lines.get(i).length() + lines.get(i + 1).length();
                reading.line(new Counted(lines.get(i), reads), new Counted(lines.get(i + 1), reads));
            }
            signal = reading.signal(status);
        } finally {
            reading.end();
        }
        sane(signal, lines);
        return input == 0 ? 0 : reads[0] * 100 / input;
    }

    /** Names that were met before are not taken apart again; that must not change what they mean. */
    private static void sameTwice(int status, List<String> lines, long now) {
        Headers headers = Headers.of(lines.toArray(new String[0]));
        String first = Dialects.standard().read(status, headers, now).toString();
        String second = Dialects.standard().read(status, headers, now).toString();
        String anew = readAnew(status, lines, now).toString();
        if (!first.equals(anew) || !second.equals(anew)) {
            throw new AssertionError(lines + " was read as " + first + ", " + second + " and " + anew);
        }
    }

    private static RateLimitSignal readAnew(int status, List<String> lines, long now) {
        Reading reading = Reading.begin(now);
        try {
            for (int i = 0; i < lines.size(); i += 2) {
                reading.line(CharBuffer.wrap(lines.get(i)), lines.get(i + 1)); // no String, so it is not remembered
            }
            return reading.signal(status);
        } finally {
            reading.end();
        }
    }

    private static void sane(RateLimitSignal signal, List<String> lines) {
        if (isNegative(signal.delay()) || isNegative(signal.hint())) {
            throw new AssertionError("a negative wait: " + signal + " of " + lines);
        }
        for (Quota quota : signal.quotas()) {
            if (isNegative(quota.reset())
                    || isNegative(quota.window())
                    || quota.limit() < -1
                    || quota.remaining() < -1
                    || quota.used() < -1) {
                throw new AssertionError("a negative quota: " + signal + " of " + lines);
            }
        }
    }

    private static boolean isNegative(@Nullable Duration time) {
        return time != null && time.isNegative();
    }

    private static List<String> lines(SplittableRandom random) {
        int count = random.nextInt(1, 9);
        List<String> lines = new ArrayList<>(count * 2);
        for (int i = 0; i < count; i++) {
            String name = NAMES[random.nextInt(NAMES.length)];
            lines.add(random.nextInt(16) == 0 ? mutated(name, random) : name);
            lines.add(value(random));
        }
        return lines;
    }

    private static String value(SplittableRandom random) {
        StringBuilder value = new StringBuilder();
        int pieces = random.nextInt(5);
        for (int i = 0; i < pieces; i++) {
            String piece = PIECES[random.nextInt(PIECES.length)];
            value.append(random.nextInt(200) == 0 ? piece.repeat(random.nextInt(1, 200)) : piece);
        }
        return random.nextInt(8) == 0 ? mutated(value.toString(), random) : value.toString();
    }

    private static String mutated(String text, SplittableRandom random) {
        if (text.isEmpty()) {
            return text;
        }
        int at = random.nextInt(text.length());
        char c = (char) random.nextInt(random.nextInt(4) == 0 ? 0x3000 : 0x80);
        return switch (random.nextInt(3)) {
            case 0 -> text.substring(0, at) + c + text.substring(at + 1);
            case 1 -> text.substring(0, at) + c + text.substring(at);
            default -> text.substring(0, at) + text.substring(at + 1);
        };
    }

    /** A text that counts how often its characters are read. */
    private static final class Counted implements CharSequence {

        private final String text;
        private final long[] reads;

        Counted(String text, long[] reads) {
            this.text = text;
            this.reads = reads;
        }

        @Override
        public int length() {
            return text.length();
        }

        @Override
        public char charAt(int index) {
            reads[0]++;
            return text.charAt(index);
        }

        @Override
        public CharSequence subSequence(int start, int end) {
            reads[0] += end - start;
            return text.substring(start, end);
        }

        @Override
        public String toString() {
            reads[0] += text.length();
            return text;
        }
    }
}
