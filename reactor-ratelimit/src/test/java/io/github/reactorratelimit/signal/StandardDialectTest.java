package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rules of the standard dialect that no single row shows. */
class StandardDialectTest {

    private static final long NOW = Instant.parse("2026-01-01T00:00:00Z").toEpochMilli();

    private static RateLimitSignal read(int status, String... namesAndValues) {
        return Dialects.standard().read(status, Headers.of(namesAndValues), NOW);
    }

    private static Duration seconds(long seconds) {
        return Duration.ofSeconds(seconds);
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 407, 501})
    void a_status_about_rights_or_abilities_never_holds_back(int status) {
        RateLimitSignal signal =
                read(status, "Retry-After", "30", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60");

        assertThat(signal.throttled()).isFalse();
        assertThat(signal.delay()).isNull();
        assertThat(signal.hint()).isEqualTo(seconds(30));
        assertThat(signal.quotas()).hasSize(1);
    }

    @Test
    void a_redirect_waits_but_a_304_and_a_202_do_not() {
        assertThat(read(302, "Retry-After", "5").delay()).isEqualTo(seconds(5));
        assertThat(read(304, "Retry-After", "5").delay()).isNull();
        assertThat(read(202, "Retry-After", "5").delay()).isNull();
        assertThat(read(202, "Retry-After", "5").hint()).isEqualTo(seconds(5));
    }

    @Test
    void a_hint_on_a_success_counts_only_with_an_empty_quota() {
        assertThat(read(200, "Retry-After", "5", "X-RateLimit-Remaining", "0").delay())
                .isEqualTo(seconds(5));
        assertThat(read(200, "Retry-After", "5", "X-RateLimit-Remaining", "1").delay())
                .isNull();
    }

    @Test
    void milliseconds_beat_seconds_of_the_same_hint() {
        assertThat(read(429, "Retry-After", "2", "retry-after-ms", "50").delay())
                .isEqualTo(Duration.ofMillis(50));
        assertThat(read(429, "Retry-After", "2", "retry-after-ms", "x").delay()).isEqualTo(seconds(2));
    }

    // B23
    @Test
    void of_several_quotas_the_longest_reset_of_an_empty_one_decides() {
        assertThat(read(429, "RateLimit", "\"a\";r=20;t=20, \"b\";r=0;t=300").delay())
                .isEqualTo(seconds(300));
        assertThat(read(429, "RateLimit", "\"a\";r=20;t=20", "RateLimit", "\"b\";r=0;t=300")
                        .delay())
                .isEqualTo(seconds(300));
        assertThat(read(429, "RateLimit", "\"a\";r=0;t=20", "RateLimit", "\"b\";r=0;t=300")
                        .quotas())
                .extracting(Quota::name)
                .containsExactly("a", "b");
    }

    // B23
    @Test
    void an_empty_token_quota_outlasts_a_request_quota_with_some_left() {
        RateLimitSignal signal = read(
                429,
                "x-ratelimit-remaining-requests",
                "5",
                "x-ratelimit-reset-requests",
                "1s",
                "x-ratelimit-remaining-tokens",
                "0",
                "x-ratelimit-reset-tokens",
                "6m0s");

        assertThat(signal.delay()).isEqualTo(Duration.ofMinutes(6));
        assertThat(signal.quotas()).extracting(Quota::unit).containsExactly("requests", "tokens");
        assertThat(signal.quotas()).extracting(Quota::name).containsExactly("requests", "tokens");
    }

    // B25
    @ParameterizedTest
    @ValueSource(longs = {-600, -90, 0, 90, 600})
    void a_skewed_clock_changes_nothing(long skewSeconds) {
        Headers headers =
                Headers.of("Date", "Thu, 01 Jan 2026 00:00:00 GMT", "Retry-After", "Thu, 01 Jan 2026 00:00:30 GMT");

        assertThat(Dialects.standard()
                        .read(429, headers, NOW + skewSeconds * 1000)
                        .delay())
                .isEqualTo(seconds(30));
    }

    @Test
    void without_a_date_the_own_clock_counts_to_the_millisecond() {
        Headers headers = Headers.of("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1767225630");

        assertThat(Dialects.standard().read(200, headers, NOW + 250).delay()).isEqualTo(Duration.ofMillis(29_750));
    }

    @Test
    void an_ietf_quota_gets_limit_window_unit_and_partition_from_its_policy() {
        RateLimitSignal signal = read(
                200,
                "RateLimit-Policy",
                "\"burst\";q=100;w=60;pk=:YQ==:, \"bytes\";q=5000;qu=\"content-bytes\";w=10",
                "RateLimit",
                "\"burst\";r=50;t=30;pk=:YQ==:, \"bytes\";r=3;t=4");

        assertThat(signal.quotas())
                .containsExactly(
                        new Quota("burst", "requests", 100, 50, -1, seconds(30), seconds(60), "YQ=="),
                        new Quota("bytes", "content-bytes", 5000, 3, -1, seconds(4), seconds(10), null));
    }

    @Test
    void a_policy_of_another_partition_is_not_the_quotas() {
        RateLimitSignal signal =
                read(200, "RateLimit-Policy", "\"a\";q=9;w=60;pk=:YQ==:", "RateLimit", "\"a\";r=5;pk=:Yg==:");

        assertThat(signal.quotas())
                .containsExactly(
                        new Quota("a", "requests", -1, 5, -1, null, null, "Yg=="),
                        new Quota("a", "requests", 9, -1, -1, null, seconds(60), "YQ=="));
    }

    @Test
    void a_broken_list_leaves_nothing_behind_and_hides_no_other_line() {
        RateLimitSignal signal = read(200, "RateLimit", "\"a\";r=0;t=5, \"b", "RateLimit", "\"c\";r=0;t=7");

        assertThat(signal.quotas()).extracting(Quota::name).containsExactly("c");
        assertThat(signal.delay()).isEqualTo(seconds(7));
    }

    @Test
    void the_window_is_the_upper_bound_of_an_empty_quota_without_any_time() {
        assertThat(read(200, "ratelimit-limit", "100;w=21600", "ratelimit-remaining", "0;w=21600")
                        .delay())
                .isEqualTo(seconds(21_600));
        assertThat(read(200, "RateLimit-Policy", "\"a\";q=9;w=60", "RateLimit", "\"a\";r=0")
                        .delay())
                .isEqualTo(seconds(60));
        assertThat(read(429, "RateLimit-Policy", "\"a\";q=9;w=60", "RateLimit", "\"a\";r=0", "Retry-After", "5")
                        .delay())
                .isEqualTo(seconds(5));
    }

    @Test
    void the_limit_list_of_the_early_drafts_is_the_limit_and_its_policies() {
        RateLimitSignal signal = read(
                200,
                "X-RateLimit-Limit",
                "100, 100;window=60, 10000;window=86400",
                "X-RateLimit-Remaining",
                "99",
                "X-RateLimit-Reset",
                "3");

        assertThat(signal.quotas())
                .containsExactly(
                        new Quota("", "requests", 100, 99, -1, seconds(3), seconds(60), null),
                        new Quota("", "requests", 10_000, -1, -1, null, Duration.ofDays(1), null));
    }

    @Test
    void left_and_quota_with_a_nameless_reset_in_milliseconds_are_one_quota() {
        RateLimitSignal signal = read(
                429,
                "X-Rate-Limit-Requests-Left",
                "0",
                "X-Rate-Limit-Requests-Quota",
                "150",
                "X-Rate-Limit-Time-Reset-Ms",
                "15000",
                "X-Rate-Limit-Time-Window-Ms",
                "30000");

        assertThat(signal.quotas())
                .containsExactly(new Quota("requests", "requests", 150, 0, -1, seconds(15), seconds(30), null));
        assertThat(signal.delay()).isEqualTo(seconds(15));
    }

    @Test
    void windows_in_the_name_are_quotas_of_their_own() {
        RateLimitSignal signal = read(
                200,
                "X-RateLimit-Limit-Second",
                "5",
                "X-RateLimit-Remaining-Second",
                "4",
                "x-ratelimit-day-limit",
                "100",
                "x-ratelimit-day-remaining",
                "0");

        assertThat(signal.quotas())
                .containsExactly(
                        new Quota("second", "requests", 5, 4, -1, null, null, null),
                        new Quota("day", "requests", 100, 0, -1, null, null, null));
    }

    @Test
    void a_resource_names_and_partitions_the_quota_and_a_global_flag_is_a_scope() {
        RateLimitSignal signal = read(
                200,
                "x-ratelimit-limit",
                "5000",
                "x-ratelimit-remaining",
                "4999",
                "x-ratelimit-used",
                "1",
                "x-ratelimit-reset",
                "1767229200",
                "x-ratelimit-resource",
                "core");

        assertThat(signal.quotas())
                .containsExactly(new Quota("core", "requests", 5000, 4999, 1, Duration.ofHours(1), null, "core", true));
        assertThat(read(429, "X-RateLimit-Global", "true").scope()).isEqualTo("global");
        assertThat(read(429, "X-RateLimit-Scope", "shared").scope()).isEqualTo("shared");
    }

    @Test
    void names_that_only_look_like_ours_are_left_alone() {
        RateLimitSignal signal = read(
                200,
                "x-corporate-limit-remaining",
                "0",
                "x-ratelimited-remaining",
                "0",
                "x-limit-remaining",
                "0",
                "rate-limi",
                "0",
                "limit",
                "0",
                "x-ratelimit-delay",
                "9");

        assertThat(signal).isSameAs(RateLimitSignal.none(200));
    }

    @Test
    void a_response_that_says_nothing_is_one_shared_signal() {
        assertThat(read(200, "Content-Type", "text/plain", "Date", "Thu, 01 Jan 2026 00:00:00 GMT"))
                .isSameAs(RateLimitSignal.none(200));
        assertThat(RateLimitSignal.none(-1).status()).isEqualTo(-1);
        assertThat(RateLimitSignal.none(1_000).status()).isEqualTo(1_000);
    }

    @Test
    void a_response_leaves_nothing_to_the_next() {
        read(429, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60", "Retry-After", "9", "Age", "5", "Date", "x");
        read(429, "X-RateLimit-Scope", "user", "X-RateLimit-Bucket", "b", "RateLimit-Policy", "\"a\";q=1");

        assertThat(read(200, "X-RateLimit-Remaining", "3").quotas())
                .isEqualTo(List.of(new Quota("", "requests", -1, 3, -1, null, null, null)));
    }

    @Test
    void headers_that_read_another_response_while_they_are_read_disturb_nothing() {
        Headers nested = line -> {
            line.accept("X-RateLimit-Remaining", "0");
            assertThat(read(429, "Retry-After", "99").delay()).isEqualTo(seconds(99));
            line.accept("X-RateLimit-Reset", "7");
        };

        RateLimitSignal signal = Dialects.standard().read(200, nested, NOW);

        assertThat(signal.delay()).isEqualTo(seconds(7));
        assertThat(signal.hint()).isNull();
    }

    @Test
    void every_decision_has_its_reason() {
        assertThat(read(429).reason()).contains("backoff");
        assertThat(read(429, "Retry-After", "1").reason()).contains("hint");
        assertThat(read(200, "Retry-After", "1").reason()).contains("not a hold");
        assertThat(read(200, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1")
                        .reason())
                .contains("reset");
        assertThat(read(200, "ratelimit-remaining", "0;w=9").reason()).contains("window");
        assertThat(read(200, "X-RateLimit-Remaining", "9").reason()).isNull();
    }
}
