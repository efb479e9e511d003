package io.github.reactorratelimit.test.contract;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * What a {@link Dialect} keeps, whatever words it reads. A test of an own one extends this class and gives the dialect and
 * samples of what its server sends; tests of what it reads in them are its own.
 */
public abstract class DialectContract {

    private static final long NOW = 1_767_225_600_000L;
    private static final int SHOWN = 40;
    private static final String DATE = "Thu, 01 Jan 2026 00:00:00 GMT";
    private static final List<Integer> STATUSES = List.of(200, 304, 403, 429, 500, 503, 599);
    private static final List<String> HOSTILE = List.of(
            "",
            " ",
            "-1",
            "-0.5",
            "0",
            "1e400",
            "NaN",
            "Infinity",
            "0x10",
            "99999999999999999999999999",
            "-99999999999999999999999999",
            "9223372036854775807",
            "1.7976931348623157E308",
            "١٢",
            "1,2,3",
            "1;w=",
            ";;;===,,,",
            "\"unclosed",
            "Thu, 99 Foo 9999 99:99:99 GMT",
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "0001-01-01T00:00:00Z",
            "1h2m3s4ms5µs6",
            "true",
            "\u0000\uD800",
            "x".repeat(100_000));

    /** For subclasses. */
    protected DialectContract() {}

    /**
     * The dialect under test, asked for once per test.
     *
     * @return the dialect
     */
    protected abstract Dialect dialect();

    /**
     * Header lines as the server sends them, of refusals and of other answers: every header that the dialect reads should
     * occur in one.
     *
     * @return the samples, at least one
     */
    protected abstract List<Headers> samples();

    private @Nullable Dialect same;

    /** One for all that a test reads, or what it keeps from one response to the next would go unseen. */
    private Dialect same() {
        Dialect known = same;
        if (known == null) {
            known = dialect();
            same = known;
        }
        return known;
    }

    private record Line(String name, String value) {}

    private static List<Line> lines(Headers headers) {
        List<Line> lines = new ArrayList<>();
        headers.forEach((name, value) -> lines.add(new Line(name, value)));
        return lines;
    }

    private static Headers headers(List<Line> lines) {
        return each -> lines.forEach(line -> each.accept(line.name(), line.value()));
    }

    private RateLimitSignal read(int status, Headers headers) {
        return read(status, headers, NOW);
    }

    private RateLimitSignal read(int status, Headers headers, long nowMillis) {
        return read(status, headers, () -> same().read(status, headers, nowMillis));
    }

    private static RateLimitSignal read(int status, Headers headers, Supplier<RateLimitSignal> reading) {
        try {
            RateLimitSignal signal = reading.get();
            assertThat((Object) signal)
                    .as("the signal of %s", shown(status, headers))
                    .isNotNull();
            return signal;
        } catch (RuntimeException e) {
            throw new AssertionError(
                    "Expecting a dialect never to throw, but it threw " + e + ": " + shown(status, headers), e);
        }
    }

    private static String shown(int status, Headers headers) {
        return status
                + lines(headers).stream()
                        .map(line -> ", " + line.name() + ": "
                                + line.value()
                                        .substring(
                                                0, Math.min(SHOWN, line.value().length())))
                        .collect(Collectors.joining());
    }

    private void eachSample(Consumer<Headers> test) {
        List<Headers> samples = samples();
        assertThat(samples).as("samples").isNotEmpty();
        samples.forEach(test);
    }

    private static void assertSane(RateLimitSignal signal, int status, Headers headers) {
        String of = " of " + shown(status, headers);
        assertThat(signal.status()).as("the status" + of).isEqualTo(status);
        assertNotNegative(signal.hint(), "the hint" + of);
        assertNotNegative(signal.delay(), "the delay" + of);
        for (Quota quota : signal.quotas()) {
            assertNotNegative(quota.reset(), "the reset of a quota" + of);
        }
    }

    private static void assertNotNegative(@Nullable Duration time, String what) {
        if (time != null) {
            assertThat(time).as(what).isGreaterThanOrEqualTo(Duration.ZERO);
        }
    }

    /** Two readings that must not differ. */
    private static void assertSame(RateLimitSignal signal, RateLimitSignal expected, String what, Headers headers) {
        assertThat(signal)
                .as("%s, of %s", what, shown(expected.status(), headers))
                .hasToString(expected.toString());
    }

    @Test
    void an_answer_without_headers_says_nothing() {
        RateLimitSignal signal = read(200, Headers.of());

        assertThat(signal.throttled()).as("whether a bare 200 is throttled").isFalse();
        assertThat(signal.terminal()).as("a terminal reason of a bare 200").isNull();
        assertThat(signal.hint()).as("a hint of a bare 200").isNull();
        assertThat(signal.delay()).as("a delay of a bare 200").isNull();
        assertThat(signal.quotas()).as("quotas of a bare 200").isEmpty();
        assertThat(read(429, Headers.of()).throttled())
                .as("whether a bare 429 is throttled")
                .isTrue();
    }

    @Test
    void the_status_is_that_of_the_response_and_no_time_is_negative() {
        eachSample(sample -> STATUSES.forEach(status -> assertSane(read(status, sample), status, sample)));
    }

    @Test
    void the_same_response_is_read_the_same_way_each_time() {
        eachSample(sample -> STATUSES.forEach(status -> {
            RateLimitSignal first = read(status, sample);
            assertSame(read(status, sample), first, "the second reading", sample);
        }));
    }

    @Test
    void names_are_read_in_any_case() {
        eachSample(sample -> {
            List<Line> upper = lines(sample).stream()
                    .map(line -> new Line(line.name().toUpperCase(Locale.ROOT), line.value()))
                    .toList();
            assertSame(read(429, headers(upper)), read(429, sample), "names in upper case", headers(upper));
        });
    }

    @Test
    void headers_that_it_does_not_know_change_nothing() {
        eachSample(sample -> {
            List<Line> more = lines(sample);
            more.add(0, new Line("X-Powered-By", "coal"));
            more.add(new Line("Set-Cookie", "Retry-After=7; remaining=0"));
            assertSame(read(429, headers(more)), read(429, sample), "with headers that it can't know", headers(more));
        });
    }

    @Test
    void a_clock_that_is_wrong_changes_nothing_where_the_response_has_a_date() {
        eachSample(sample -> {
            List<Line> dated = lines(sample);
            dated.removeIf(line -> line.name().equalsIgnoreCase("Date"));
            dated.add(new Line("Date", DATE));
            assertSame(
                    read(429, headers(dated), NOW + 86_400_000),
                    read(429, headers(dated)),
                    "by a clock that is a day ahead",
                    headers(dated));
        });
    }

    @Test
    void whatever_stands_in_a_header_it_does_not_throw_and_no_time_is_negative() {
        eachSample(sample -> {
            List<Line> lines = lines(sample);
            for (int i = 0; i < lines.size(); i++) {
                for (String value : HOSTILE) {
                    List<Line> hostile = new ArrayList<>(lines);
                    hostile.set(i, new Line(lines.get(i).name(), value));
                    STATUSES.forEach(status -> assertSane(read(status, headers(hostile)), status, headers(hostile)));
                }
            }
        });
    }

    @Test
    void whatever_the_body_is_it_does_not_throw() {
        List<byte[]> bodies = List.of(
                new byte[0],
                new byte[] {(byte) 0xff, 0},
                "{\"error\":".getBytes(UTF_8),
                "[[[[".getBytes(UTF_8),
                "<html>".getBytes(UTF_8));
        eachSample(sample -> STATUSES.forEach(status -> {
            assertThat(same().bodyBytes(status, sample))
                    .as("how much of a body is read, of %s", shown(status, sample))
                    .isNotNegative();
            for (byte[] body : bodies) {
                RateLimitSignal signal = read(status, sample, () -> same().readBody(status, sample, body, NOW));
                assertSane(signal, status, sample);
            }
        }));
    }
}
