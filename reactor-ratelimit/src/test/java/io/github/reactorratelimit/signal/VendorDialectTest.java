package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the vendors' dialects say beyond waits: whom a refusal is about, what it cost, and what no wait cures. */
class VendorDialectTest {

    private static final Duration MINUTE = Duration.ofMinutes(1);

    private static byte[] body(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    // B39
    @ParameterizedTest
    @ValueSource(
            strings = {
                "You have exceeded a secondary rate limit. Please wait a few minutes.",
                "You have triggered an abuse detection mechanism."
            })
    void a_403_of_github_with_units_left_is_a_limit_if_its_message_says_so(String message) {
        Headers headers = Headers.of("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "14");
        Dialect gitHub = Dialects.gitHub();

        assertThat(gitHub.bodyBytes(403, headers)).isPositive();
        RateLimitSignal signal = gitHub.readBody(403, headers, body("{\"message\":\"" + message + "\"}"), 0);

        assertThat(signal.throttled()).isTrue();
        assertThat(signal.delay()).isEqualTo(MINUTE);
        assertThat(signal.guessed()).isTrue();
        assertThat(signal.toBuilder().build().guessed()).isTrue();
    }

    @Test
    void a_time_that_github_itself_gave_does_not_grow() {
        Headers headers = Headers.of("Retry-After", "60", "X-RateLimit-Remaining", "14");

        assertThat(Dialects.gitHub().read(403, headers, 0).guessed()).isFalse();
        assertThat(Dialects.gitHub().read(429, headers, 0).guessed()).isFalse();
    }

    @Test
    void github_reads_no_body_that_the_headers_explain() {
        assertThat(Dialects.gitHub().bodyBytes(403, Headers.of("Retry-After", "60")))
                .isZero();
        assertThat(Dialects.gitHub().bodyBytes(200, Headers.of("x-ratelimit-remaining", "9")))
                .isZero();
    }

    @Test
    void an_authorised_304_of_github_is_free_and_an_anonymous_one_is_not() {
        Headers authorised = Headers.of("x-ratelimit-limit", "5000", "x-ratelimit-remaining", "9");
        Headers anonymous = Headers.of("x-ratelimit-limit", "60", "x-ratelimit-remaining", "9");

        assertThat(Dialects.gitHub().read(304, authorised, 0).cost()).isZero();
        assertThat(Dialects.gitHub().read(304, anonymous, 0).cost()).isEqualTo(-1);
        assertThat(Dialects.gitHub().read(200, authorised, 0).cost()).isEqualTo(-1);
    }

    @ParameterizedTest
    @CsvSource({
        "User, user",
        "Application, application",
        "'user, application', application",
        "Tenant_Application/ReadWrite/9a3d/0785, tenant_application"
    })
    void graph_names_the_scope_in_two_spellings(String value, String scope) {
        Headers headers = Headers.of("X-MS-Throttle-Scope", value);

        assertThat(Dialects.microsoftGraph().read(429, headers, 0).scope()).isEqualTo(scope);
    }

    @Test
    void graph_tells_usage_and_cost() {
        Headers headers = Headers.of("x-ms-resource-unit", "5", "x-ms-throttle-limit-percentage", "1.8");
        RateLimitSignal signal = Dialects.microsoftGraph().read(200, headers, 0);

        assertThat(signal.cost()).isEqualTo(5);
        assertThat(signal.usage()).isEqualTo(1.8);
        assertThat(signal.delay()).isNull();
    }

    // B40
    @Test
    void a_batch_of_graph_that_was_cut_off_still_tells_of_the_parts_before() {
        String cut =
                "{\"responses\":[{\"headers\":{\"Retry-After\":\"5\"},\"id\":\"1\",\"status\":429},{\"id\":\"2\",\"st";
        Dialect batch = Dialects.microsoftGraphBatch();

        assertThat(batch.readBody(200, Headers.of(), body(cut), 0).delay()).isEqualTo(Duration.ofSeconds(5));
        assertThat(Dialects.microsoftGraph().bodyBytes(200, Headers.of())).isZero();
    }

    @Test
    void should_retry_false_is_terminal_on_a_refusal_only() {
        Headers headers = Headers.of("x-should-retry", " False");

        assertThat(Dialects.openAi().read(429, headers, 0).terminal()).isNotNull();
        assertThat(Dialects.anthropic().read(429, headers, 0).terminal()).isNotNull();
        assertThat(Dialects.openAi().read(200, headers, 0).terminal()).isNull();
    }

    @Test
    void openrouter_repeats_the_headers_in_the_body() {
        byte[] body = body("{\"error\":{\"metadata\":{\"headers\":{\"X-RateLimit-Limit\":\"80\","
                + "\"X-RateLimit-Remaining\":\"0\",\"X-RateLimit-Reset\":\"1743638400000\"}}}}");

        assertThat(Dialects.openAi()
                        .readBody(429, Headers.of(), body, 1_743_638_370_000L)
                        .delay())
                .isEqualTo(Duration.ofSeconds(30));
    }

    @Test
    void an_allowed_subscription_of_anthropic_tells_its_highest_usage_and_holds_nothing() {
        Headers headers = Headers.of(
                "anthropic-ratelimit-unified-status", "allowed",
                "anthropic-ratelimit-unified-7d-utilization", "0.13",
                "anthropic-ratelimit-unified-5h-utilization", "0.12",
                "anthropic-ratelimit-unified-5h-reset", "1770685200");
        RateLimitSignal signal = Dialects.anthropic().read(429, headers, 0);

        assertThat(signal.usage()).isEqualTo(0.13);
        assertThat(signal.delay()).isNull();
    }

    // B44
    @Test
    void discord_tells_bucket_and_global_and_takes_the_bodys_fractions() {
        Headers headers = Headers.of("Retry-After", "65", "X-RateLimit-Bucket", "abcd", "X-RateLimit-Remaining", "0");
        RateLimitSignal signal =
                Dialects.discord().readBody(429, headers, body("{\"retry_after\":64.57,\"global\":true}"), 0);

        assertThat(signal.scope()).isEqualTo("global");
        assertThat(signal.delay()).isEqualTo(Duration.ofMillis(64_570));
        assertThat(signal.quotas()).singleElement().matches(quota -> "abcd".equals(quota.partition()));
    }

    @Test
    void a_header_of_discord_that_is_no_rounding_of_the_body_stays() {
        RateLimitSignal signal =
                Dialects.discord().readBody(429, Headers.of("Retry-After", "99"), body("{\"retry_after\":64.57}"), 0);

        assertThat(signal.delay()).isEqualTo(Duration.ofSeconds(99));
    }

    @Test
    void a_single_limit_is_for_all_of_a_list() {
        Headers headers = Headers.of("X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "5, 0");

        assertThat(Dialects.standard().read(200, headers, 0).quotas())
                .extracting(Quota::limit)
                .containsExactly(10L, 10L);
    }
}
