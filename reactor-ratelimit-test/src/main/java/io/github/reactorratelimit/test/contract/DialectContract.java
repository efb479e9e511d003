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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * What a {@link Dialect} keeps, whatever words it reads. A test of an own one extends this class and gives the dialect and
 * samples of what its server sends; tests of what it reads in them are its own.
 */
public abstract class DialectContract {

    private static final long NOW = 1_767_225_600_000L;
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
     * The dialect under test.
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
        return dialect().read(status, headers, nowMillis);
    }

    private void eachSample(Consumer<Headers> test) {
        List<Headers> samples = samples();
        assertThat(samples).isNotEmpty();
        samples.forEach(test);
    }

    private static void assertSane(@Nullable RateLimitSignal signal, int status, String what) {
        assertThat(signal).as(what).isNotNull();
        if (signal == null) {
            return;
        }
        assertThat(signal.status()).as(what).isEqualTo(status);
        assertNotNegative(signal.hint(), what);
        assertNotNegative(signal.delay(), what);
        for (Quota quota : signal.quotas()) {
            assertNotNegative(quota.reset(), what);
        }
    }

    private static void assertNotNegative(@Nullable Duration time, String what) {
        if (time != null) {
            assertThat(time).as(what).isGreaterThanOrEqualTo(Duration.ZERO);
        }
    }

    @Test
    void an_answer_without_headers_says_nothing() {
        RateLimitSignal signal = read(200, Headers.of());

        assertThat(signal.throttled()).isFalse();
        assertThat(signal.terminal()).isNull();
        assertThat(signal.hint()).isNull();
        assertThat(signal.delay()).isNull();
        assertThat(signal.quotas()).isEmpty();
        assertThat(read(429, Headers.of()).throttled()).as("a bare 429").isTrue();
    }

    @Test
    void the_status_is_that_of_the_response_and_no_time_is_negative() {
        eachSample(sample ->
                STATUSES.forEach(status -> assertSane(read(status, sample), status, status + " " + lines(sample))));
    }

    @Test
    void the_same_response_is_read_the_same_way_each_time() {
        eachSample(sample -> STATUSES.forEach(status -> assertThat(read(status, sample))
                .hasToString(read(status, sample).toString())));
    }

    @Test
    void names_are_read_in_any_case() {
        eachSample(sample -> {
            List<Line> upper = lines(sample).stream()
                    .map(line -> new Line(line.name().toUpperCase(Locale.ROOT), line.value()))
                    .toList();
            assertThat(read(429, headers(upper))).hasToString(read(429, sample).toString());
        });
    }

    @Test
    void headers_that_it_does_not_know_change_nothing() {
        eachSample(sample -> {
            List<Line> more = lines(sample);
            more.add(0, new Line("X-Powered-By", "coal"));
            more.add(new Line("Set-Cookie", "Retry-After=7; remaining=0"));
            assertThat(read(429, headers(more))).hasToString(read(429, sample).toString());
        });
    }

    @Test
    void a_clock_that_is_wrong_changes_nothing_where_the_response_has_a_date() {
        eachSample(sample -> {
            List<Line> dated = lines(sample);
            dated.removeIf(line -> line.name().equalsIgnoreCase("Date"));
            dated.add(new Line("Date", DATE));
            assertThat(read(429, headers(dated), NOW + 86_400_000))
                    .hasToString(read(429, headers(dated)).toString());
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
                    String what = lines.get(i).name() + ": " + value.substring(0, Math.min(40, value.length()));
                    STATUSES.forEach(status -> assertSane(read(status, headers(hostile)), status, what));
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
            assertThat(dialect().bodyBytes(status, sample)).isNotNegative();
            for (byte[] body : bodies) {
                assertSane(dialect().readBody(status, sample, body, NOW), status, status + " with a body");
            }
        }));
    }
}
