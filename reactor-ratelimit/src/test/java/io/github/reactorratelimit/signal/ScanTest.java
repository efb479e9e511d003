package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the scanner makes of single values. */
class ScanTest {

    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

    private static RateLimitSignal retryAfter(String value) {
        return Dialects.standard().read(429, Headers.of("Retry-After", value), NOW.toEpochMilli());
    }

    private static RateLimitSignal reset(String value) {
        return Dialects.standard()
                .read(200, Headers.of("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", value), NOW.toEpochMilli());
    }

    // B14
    @ParameterizedTest(name = "Retry-After: {0} is {1}")
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '\0',
            ignoreLeadingAndTrailingWhitespace = false,
            value = {
                "2|PT2S",
                "0.503|PT0.503S",
                "1.5|PT1.5S",
                " 5\t|PT5S",
                "\"5\"|PT5S",
                "2814, 2|PT46M54S",
                "120, abc|PT2M",
                "abc, 120|PT2M",
                "1.0000000001|PT1.000000001S",
                "0.9999999999|PT1S",
                "30.000|PT30S",
                "1h2m3s|PT1H2M3S",
                "1.5h|PT1H30M",
                "10ns|PT0.00000001S",
                "0.5ns|PT0.000000001S",
                "7us|PT0.000007S",
                "7\u03bcs|PT0.000007S",
                "7\u00c2\u00b5s|PT0.000007S",
                "Thu, 01 Jan 2026 00:00:30 GMT|PT30S",
                "Thursday, 01-Jan-26 00:00:30 GMT|PT30S",
                "Thu Jan  1 00:00:30 2026|PT30S",
                "Thu, 1 Jan 2026 00:00:30 GMT|PT30S",
                "Thu, 01-Jan-2026 00:00:30 GMT|PT30S",
                "Mon, 01 Jan 2026 00:00:30 GMT|PT30S",
                "Thu, 31 Dec 2026 23:59:60 GMT|PT8760H",
                "Thu Jan 01 2026 01:00:30 GMT+0100 (Central European Standard Time)|PT30S",
                "2026-01-01T01:00:30.1234567891+01:00|PT30.12345679S",
                "2026-01-01T00:00:59.9999999999Z|PT1M",
                "2025-12-31T19:00:30-0500|PT30S",
                "2026-01-01T05:00:30+05|PT30S",
                "Wed, 31 Dec 2025 23:00:00 GMT|PT0S",
                "Tue, 29 Feb 2028 00:00:00 GMT|PT18936H",
                "Sunday, 01-Jan-76 00:00:00 GMT|PT438288H",
                "Sunday, 01-Jan-77 00:00:30 GMT|PT0S",
            })
    void a_wait_is_read_in_every_form_and_never_rounded_down(String value, Duration expected) {
        assertThat(retryAfter(value).delay()).isEqualTo(expected);
        assertThat(retryAfter(value).hint()).isEqualTo(expected);
    }

    @ParameterizedTest(name = "Retry-After: {0} is no wait")
    @ValueSource(
            strings = {
                "",
                " ",
                "\t",
                "abc",
                "-5",
                "+5",
                "NaN",
                "Infinity",
                "1e400",
                "1e3",
                "0x10",
                "0x1p3",
                "1d",
                "30d",
                "30f",
                "120junk",
                "5 6",
                ".5",
                "5.",
                "5..5",
                "1.2.3",
                "1m30",
                "m",
                "1m-5s",
                "1µ",
                "\u0663\u0660",
                "\uff13",
                "\u00a030",
                "30\u00a0",
                "null",
                "undefined",
                "\"",
                "\"\"",
                "Thu, 01 Jan 2026 00:00:30",
                "Thu, 01 Jan 2026 00:00:30 +0200",
                "Thu, 01 Jan 2026 00:00:30 PST",
                "Thu, 30 Feb 2026 00:00:30 GMT",
                "Thu, 29 Feb 2027 00:00:30 GMT",
                "Thu, 01 Jan 100000 00:00:30 GMT",
                "Thu, 00 Jan 2026 00:00:30 GMT",
                "Thu, 01 Jan 2026 24:00:00 GMT",
                "Thu, 01 Jan 2026 00:60:00 GMT",
                "Thu, 01 Foo 2026 00:00:30 GMT",
                "Xyz, 01 Jan 2026 00:00:30 GMT",
                "01 Jan 2026 00:00:30 GMT",
                "Thu, 01 Jan 2026 00:00 GMT",
                "2026-01-01",
                "2026-13-01T00:00:30Z",
                "2026-01-01T00:00:30+1",
                "2026-01-01T00:00:30+99:00",
                "2026-01-01T00:00:30.Z",
                "2026-1-1T00:00:30Z",
                "12026-01-01T00:00:30Z",
                "Sunday, 06",
                "Thu,"
            })
    void what_is_no_wait_is_as_if_absent(String value) {
        assertThat(retryAfter(value).delay()).isNull();
        assertThat(retryAfter(value).throttled()).isTrue();
    }

    // B14
    @Test
    void of_several_lines_of_one_hint_the_longest_counts_and_the_malformed_ones_do_not() {
        Headers lines = Headers.of("Retry-After", "2814", "Retry-After", "2", "Retry-After", "NaN");
        assertThat(Dialects.standard().read(429, lines, NOW.toEpochMilli()).delay())
                .isEqualTo(Duration.ofSeconds(2814));
    }

    // B02
    @ParameterizedTest(name = "Retry-After: {0} is excessive, not malformed")
    @ValueSource(
            strings = {
                "9223372036854775807", "9223372036854775808", "9999999999999999999999999",
                "9223372036854775807.9999999999", "9999999999999999999999h", "9999999999999999999999ms"
            })
    void a_number_beyond_every_long_saturates(String value) {
        assertThat(retryAfter(value).delay()).isGreaterThan(Duration.ofDays(100_000_000_000L));
    }

    @Test
    void a_thousandth_of_the_largest_number_is_exact() {
        assertThat(Dialects.standard()
                        .read(429, Headers.of("retry-after-ms", "1500.25"), 0)
                        .delay())
                .isEqualTo(Duration.ofNanos(1_500_250_000));
        assertThat(retryAfter("9999999999").delay()).isEqualTo(Duration.ofSeconds(9_999_999_999L));
    }

    // B13
    @ParameterizedTest(name = "X-RateLimit-Reset: {0} is {1}")
    @CsvSource(
            delimiter = '|',
            value = {
                "1767225630|PT30S|true",
                "1767225630000|PT30S|false",
                "1767225630.5|PT30.5S|false",
                "30|PT30S|false",
                "0|PT0S|false",
                "1767225570|PT0S|true",
                "6m0s|PT6M|false",
                "17ms|PT0.017S|false",
                "1.5s|PT1.5S|false",
                "23h47m36.648s|PT23H47M36.648S|false",
                "2026-01-01T00:00:30Z|PT30S|true",
                "2026-01-01T00:00:30.000Z|PT30S|false",
                "Thu, 01 Jan 2026 00:00:30 GMT|PT30S|true"
            })
    void a_reset_is_weighed_by_its_size_and_is_coarse_if_it_is_an_instant_in_whole_seconds(
            String value, Duration expected, boolean coarse) {
        assertThat(reset(value).delay()).isEqualTo(expected);
        assertThat(reset(value).coarse()).isEqualTo(coarse);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "abc", "-1", "NaN", "100000000000000", "99999999999999999999"})
    void a_reset_that_cannot_be_weighed_is_absent(String value) {
        assertThat(reset(value).delay()).isNull();
        assertThat(reset(value).quotas()).singleElement().matches(Quota::exhausted);
    }

    @Test
    void the_margin_belongs_to_what_decided() {
        Headers headers =
                Headers.of("Retry-After", "30", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1767225630");
        Headers later =
                Headers.of("Retry-After", "30", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1767225631");

        assertThat(Dialects.standard().read(429, headers, NOW.toEpochMilli()).coarse())
                .isFalse();
        assertThat(Dialects.standard().read(429, later, NOW.toEpochMilli()).coarse())
                .isTrue();
    }

    @Test
    void a_value_longer_than_a_kibibyte_is_not_looked_at() {
        assertThat(retryAfter(" ".repeat(1023) + "5").delay()).isEqualTo(Duration.ofSeconds(5));
        assertThat(retryAfter(" ".repeat(1024) + "5").delay()).isNull();
    }

    @Test
    void names_are_compared_without_the_default_locale() {
        Locale before = Locale.getDefault();
        try {
            Locale.setDefault(Locale.forLanguageTag("tr-TR"));
            RateLimitSignal signal = Dialects.standard()
                    .read(200, Headers.of("X-RATELIMIT-LIMIT", "60", "X-RATELIMIT-REMAINING", "7"), 0);
            assertThat(signal.quotas()).singleElement().matches(quota -> quota.limit() == 60 && quota.remaining() == 7);
        } finally {
            Locale.setDefault(before);
        }
    }
}
