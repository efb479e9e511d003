package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is malformed hides nothing, and what comes several times is weighed member by member. */
class ListedValuesTest {

    private static final long NOW = Instant.parse("2026-01-01T00:00:00Z").toEpochMilli();

    private static RateLimitSignal read(int status, String... namesAndValues) {
        return Dialects.standard().read(status, Headers.of(namesAndValues), NOW);
    }

    private static Duration seconds(long seconds) {
        return Duration.ofSeconds(seconds);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1m30, 40",
                "5m5, 40",
                "5m, 5x, 5h1., 40",
                "30\u00b5, 40",
                "1., 40",
                "Sun, 6, 40",
                "Sun Nov, 40",
                "Sun, 06 Nov, 40",
                "2026-01-01T, 40",
                "2026-, 40",
                "Tue Feb 16 2021 09:02:42 GMT (x), 40",
                "Tue Feb 16 2021 09:02:42 GMT (x, 40",
                "Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time), 40",
                "Tue, 40",
                "Tue, 40, 4",
                "Tue, 4000ms, 40",
                "Tue, 40 , 4",
                "Tue, 30ms, 40",
                "Tue, 30, 40",
                "Tue, 2026-01-01T00:00:40Z",
                "2026-01-01 00:00:40 UTC",
                "2026-01-01T00:00:40.000 gmt, 5",
                "Thu, 01 Foo 2026 00:00:50 GMT, 40",
                "\"40\", \"5\"",
                "\"5\", \"40\"",
                "\"5, 40",
                "5\", 40"
            })
    void a_malformed_member_does_not_hide_the_valid_one_behind_it(String value) {
        Duration expected = value.startsWith("5m, ") ? Duration.ofMinutes(5) : seconds(40);
        assertThat(read(429, "Retry-After", value).delay()).isEqualTo(expected);
    }

    @Test
    void a_malformed_member_keeps_its_place_in_parallel_lists() {
        assertThat(read(429, "X-RateLimit-Remaining", "5, 0", "X-RateLimit-Reset", "1m30, 60")
                        .delay())
                .isEqualTo(seconds(60));
        assertThat(read(200, "X-RateLimit-Limit", "10;w=\"x, 20;w=60", "X-RateLimit-Remaining", "3, 4")
                        .quotas())
                .extracting(Quota::limit)
                .containsExactly(10L, 20L);
    }

    @ParameterizedTest
    @ValueSource(strings = {"Tue, 30", "Tue, 30 ", "Tue, 30 Nov", "Tue, 30 Nov 2027", "Tuesday, 30-Nov-27"})
    void a_date_that_is_cut_off_is_no_list_of_a_word_and_a_number(String value) {
        assertThat(read(429, "Retry-After", value).hint()).isNull();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1m30.",
                "5h1.",
                "1m1.",
                "1m30",
                "1h2",
                "Sun, 06 Nov 1994 08:49:37 GMTjunk",
                "Sun, 06 Novxyz 1994 08:49:37 GMT",
                "Tue Feb 16 2021 09:02:42 GMTjunk",
                "Sunday, 06-Novx-94 08:49:37 GMT",
                "Sun Novx  6 08:49:37 1994"
            })
    void what_is_followed_by_junk_is_no_time(String value) {
        assertThat(read(429, "Retry-After", value).hint()).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        // more than fifty years ahead by its timestamp, not by its year alone (RFC 9110, section 5.6.7)
        "'Friday, 31-Dec-76 00:00:00 GMT', 0",
        "'Thursday, 01-Jan-26 00:01:00 GMT', 60",
        "'Saturday, 02-Jan-27 00:00:00 GMT', 31622400",
        "'Saturday, 31-Dec-75 23:59:59 GMT', 1577836799"
    })
    void a_year_of_two_digits_is_told_by_its_whole_date(String value, long wait) {
        assertThat(read(429, "Retry-After", value).delay()).isEqualTo(seconds(wait));
    }

    @Test
    void a_date_fifty_years_ahead_to_the_second_is_ahead_and_a_second_later_is_past() {
        assertThat(read(429, "Retry-After", "Wednesday, 01-Jan-76 00:00:00 GMT").delay())
                .isGreaterThan(Duration.ofDays(18_000));
        assertThat(read(429, "Retry-After", "Wednesday, 01-Jan-76 00:00:01 GMT").delay())
                .isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.9999999999", "0.99999999999999999999", "0.5"})
    void less_than_one_left_is_empty_however_close_to_one(String remaining) {
        assertThat(read(200, "X-RateLimit-Remaining", remaining, "X-RateLimit-Reset", "9")
                        .delay())
                .isEqualTo(seconds(9));
        assertThat(BodyText.count("1" + remaining)).isEqualTo(10);
    }

    @Test
    void after_in_the_name_is_a_delta_whatever_its_size() {
        assertThat(read(429, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-After-Ms", "1767225630000")
                        .delay())
                .isEqualTo(seconds(1_767_225_630));
        assertThat(read(429, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-In-Ms", "1500")
                        .delay())
                .isEqualTo(Duration.ofMillis(1500));
        assertThat(read(429, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-Ms", "1767225630000")
                        .delay())
                .isEqualTo(seconds(30));
    }

    @Test
    void a_hint_behind_any_number_of_other_lines_is_read() {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 140; i++) {
            lines.add("X-RateLimit-Remaining-Thing" + i);
            lines.add("5");
        }
        lines.add("Retry-After");
        lines.add("40");

        assertThat(read(429, lines.toArray(new String[0])).delay()).isEqualTo(seconds(40));
    }

    @Test
    void of_several_dates_the_first_readable_one_is_the_servers_clock() {
        assertThat(read(
                                429,
                                "Date",
                                "yesterday",
                                "Date",
                                "Thu, 01 Jan 2026 00:10:00 GMT",
                                "Retry-After",
                                "Thu, 01 Jan 2026 00:10:30 GMT")
                        .delay())
                .isEqualTo(seconds(30));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Thu, 01 Jan 2026 00:10:00 GMT, Thu, 01 Jan 2026 00:10:00 GMT",
                "Thu, 01 Jan 2026 00:10:00 GMT, yesterday",
                "yesterday, Thu, 01 Jan 2026 00:10:00 GMT"
            })
    void two_dates_that_a_proxy_joined_are_as_good_as_two_lines(String date) {
        assertThat(read(429, "Date", date, "Retry-After", "Thu, 01 Jan 2026 00:10:30 GMT")
                        .delay())
                .isEqualTo(seconds(30));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "\"\"", "0"})
    void a_date_that_says_nothing_is_no_clock_even_where_no_other_was_read_before(String date)
            throws InterruptedException {
        AtomicReference<Duration> wait = new AtomicReference<>();
        Thread fresh = new Thread(() -> wait.set(
                read(429, "Date", date, "X-RateLimit-Reset", "1767225630").delay()));
        fresh.start();
        fresh.join();

        assertThat(wait.get()).isEqualTo(seconds(30));
    }

    // B44
    @Test
    void what_is_called_a_time_from_now_beats_what_looks_like_one() {
        assertThat(read(429, "X-RateLimit-Reset", "30", "X-RateLimit-Reset-After", "12.5")
                        .delay())
                .isEqualTo(Duration.ofMillis(12_500));
        assertThat(read(429, "X-RateLimit-Reset-After", "30", "X-RateLimit-Reset", "12")
                        .delay())
                .isEqualTo(seconds(30));
        assertThat(read(429, "X-RateLimit-Reset-After", "soon", "X-RateLimit-Reset", "12")
                        .delay())
                .isEqualTo(seconds(12));
    }

    @ParameterizedTest
    @CsvSource({
        "9223372036854775807ns, PT2562047H47M16.854775807S",
        "9223372036854775807us, PT2562047788H54.775807S",
        "9223372036854775808ns, PT2562047788015215H30M6.9S",
        "1h9223372036854775807ns, PT2562048H47M16.854775807S"
    })
    void the_longest_number_of_a_small_unit_is_that_long_and_only_a_longer_one_is_without_end(
            String value, Duration wait) {
        assertThat(read(429, "Retry-After", value).delay()).isGreaterThanOrEqualTo(wait);
        assertThat(read(429, "Retry-After", value).delay()).isLessThanOrEqualTo(wait.plusMillis(999));
    }

    @Test
    void members_in_quotes_are_members_of_parallel_lists_too() {
        assertThat(read(200, "X-RateLimit-Remaining", "\"5\", \"0\"", "X-RateLimit-Reset", "\"1m\", \"60\"")
                        .quotas())
                .extracting(Quota::remaining, Quota::reset)
                .containsExactly(tuple(5L, seconds(60)), tuple(0L, seconds(60)));
    }

    @Test
    void a_cached_copy_names_nobody() {
        RateLimitSignal signal = read(429, "Age", "9", "X-RateLimit-Global", "true", "X-RateLimit-Scope", "shared");

        assertThat(signal.throttled()).isTrue();
        assertThat(signal.scope()).isNull();
    }

    @Test
    void a_global_refusal_is_global_whatever_comes_before_or_behind() {
        for (String[] lines : List.of(
                new String[] {"X-RateLimit-Global", "true", "X-RateLimit-Scope", "user"},
                new String[] {"X-RateLimit-Scope", "user", "X-RateLimit-Global", "True"},
                new String[] {"X-RateLimit-Scope", "global", "X-RateLimit-Scope", "user"},
                new String[] {"X-RateLimit-Global", "true", "X-RateLimit-Global", "false"})) {
            assertThat(read(429, lines).scope()).as(String.join(" ", lines)).isEqualTo("global");
            assertThat(Dialects.discord().read(429, Headers.of(lines), NOW).scope())
                    .isEqualTo("global");
        }
        assertThat(read(429, "X-RateLimit-Global", "false", "X-RateLimit-Scope", "user")
                        .scope())
                .isEqualTo("user");
    }
}
