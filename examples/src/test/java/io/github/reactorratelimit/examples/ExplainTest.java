package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;

class ExplainTest {

    private static final Clock NOON = Clock.fixed(Instant.parse("2025-06-01T12:00:00Z"), ZoneOffset.UTC);

    private static List<String> explain(String dialect, String pasted) {
        return Explain.explain(Explain.dialect(dialect), pasted, NOON);
    }

    @Test
    void a_refusal_of_github_is_told_as_the_readme_shows_it() throws IOException {
        List<String> told = explain("github", """
                HTTP/2 403
                date: Sun, 01 Jun 2025 12:00:00 GMT
                x-ratelimit-limit: 5000
                x-ratelimit-remaining: 0
                x-ratelimit-used: 5000
                x-ratelimit-reset: 1748780415
                x-ratelimit-resource: core
                """);

        assertThat(told)
                .containsExactly(
                        "dialect  GitHub",
                        "status   403, refused for a limit",
                        "clock    the server's Date",
                        "scope    not named",
                        "quota    core: 0 of 5000 requests left, 5000 used, more in 20m 15s, partition core",
                        "wait     20m 15s, and 1 s because its time is in whole seconds",
                        "rule     the reset of an empty quota (core)");
        assertThat(Files.readString(Path.of("..", "README.md"))).contains(String.join("\n", told));
    }

    @Test
    void a_body_behind_a_blank_line_is_read_where_the_dialect_asks_for_it() {
        String refusal = """
                HTTP/1.1 403 Forbidden
                x-ratelimit-remaining: 4000

                {"message": "You have exceeded a secondary rate limit."}
                """;
        assertThat(explain("github", refusal))
                .contains(
                        "status   403, refused for a limit",
                        "wait     1m, doubling with each wave of refusals: nobody said so, it is advice",
                        "rule     GitHub's secondary limit without a hint: at least a minute, doubling");
        assertThat(explain("standard", refusal))
                .contains("status   403, not refused for a limit", "wait     none", "rule     nothing to decide");
    }

    @Test
    void a_batch_is_told_by_its_refused_parts_even_if_the_blank_line_got_lost() {
        String batch = """
                HTTP/1.1 200 OK
                Content-Type: application/json
                %s{
                  "responses": [
                    {"id": "1", "status": 200, "headers": {}, "body": {}},
                    {"id": "2", "status": 429, "headers": {"Retry-After": "10"}, "body": {}},
                    {"id": "3", "status": 429, "headers": {"Retry-After": "25", "x-ms-throttle-scope": "User"}}
                  ]
                }
                """;
        for (String pasted : List.of(batch.formatted("\n"), batch.formatted(""))) {
            assertThat(explain("microsoft-graph-batch", pasted))
                    .contains(
                            "dialect  Microsoft Graph batches",
                            "status   200, refused for a limit",
                            "scope    user",
                            "wait     25s",
                            "rule     parts of the batch were refused: the server's hint");
            assertThat(explain("microsoft-graph", pasted)).contains("status   200, not refused for a limit");
        }
    }

    @Test
    void of_two_empty_budgets_the_one_that_decided_is_named() {
        assertThat(explain("openai", """
                HTTP/1.1 429 Too Many Requests
                x-ratelimit-limit-requests: 500
                x-ratelimit-remaining-requests: 0
                x-ratelimit-reset-requests: 120ms
                x-ratelimit-limit-tokens: 40000
                x-ratelimit-remaining-tokens: 0
                x-ratelimit-reset-tokens: 1m0s
                """))
                .contains(
                        "quota    requests: 0 of 500 requests left, more in 0.12s",
                        "quota    tokens: 0 of 40000 tokens left, more in 1m",
                        "wait     1m",
                        "rule     the reset of an empty quota (tokens)");
    }

    @Test
    void a_quota_without_a_reset_or_without_a_remaining_is_named_too_where_it_decided() {
        assertThat(explain("standard", "429\nRateLimit: \"day\";r=0\nRateLimit-Policy: \"day\";q=5;w=60"))
                .contains("rule     an empty quota without a reset: its window is the upper bound (day)");
        assertThat(explain("standard", "429\nx-ratelimit-limit-tokens: 9\nx-ratelimit-reset-tokens: 60"))
                .contains("rule     refused, and a quota tells its reset but not what is left (tokens)");
        assertThat(explain("standard", "429\nRetry-After: 9\nRateLimit: \"day\";r=0;t=5"))
                .contains("rule     the server's hint");
    }

    @Test
    void a_bucket_and_a_global_scope_are_told() {
        assertThat(explain("discord", """
                HTTP/1.1 429 Too Many Requests
                x-ratelimit-bucket: abcd1234
                x-ratelimit-global: true

                {"message": "You are being rate limited.", "retry_after": 64.57, "global": true}
                """))
                .contains(
                        "scope    global", "bucket   abcd1234", "wait     1m 4.57s", "rule     the body's retry_after");
    }

    @Test
    void a_terminal_throttle_says_that_no_wait_helps() {
        assertThat(explain("openai", """
                HTTP/1.1 429 Too Many Requests
                x-ratelimit-remaining-requests: 0
                x-ratelimit-reset-requests: 6m0s

                {"error": {"code": "insufficient_quota"}}
                """))
                .contains(
                        "wait     no wait helps: insufficient_quota",
                        "rule     a refusal that waiting does not help with");
    }

    @Test
    void headers_alone_are_taken_for_a_refusal_and_the_hint_is_told_beside_the_wait() {
        assertThat(explain("standard", "Retry-After: 90\r\nRateLimit: \"burst\";r=3;t=5\r\n"))
                .containsExactly(
                        "dialect  standard",
                        "status   429 (assumed, none was given), refused for a limit",
                        "clock    ours, the response has no Date",
                        "scope    not named",
                        "quota    burst: 3 of ? requests left, more in 5s",
                        "hint     1m 30s",
                        "wait     1m 30s",
                        "rule     the server's hint");
    }

    @Test
    void usage_scope_and_window_are_told_where_the_response_has_them() {
        assertThat(explain("microsoft-graph", """
                429
                x-ms-throttle-limit-percentage: 0.85
                x-ms-throttle-scope: Application/ReadWrite/aaaa/bbbb
                ratelimit-limit: 10
                ratelimit-remaining: 0;w=60
                """))
                .anyMatch(line -> line.startsWith("scope    ") && !line.contains("not named"))
                .contains("usage    85 %");
    }

    @Test
    void a_date_that_cannot_be_read_is_not_the_clock() {
        assertThat(explain("standard", "HTTP/1.1 429 X\nDate: yesterday\nRetry-After: 5"))
                .contains("clock    ours, the response's Date is none that can be read");
        assertThat(explain("standard", "HTTP/1.1 429 X\nDate: yesterday\nDate: Sun, 01 Jun 2025 12:00:00 GMT"))
                .contains("clock    the server's Date");
    }

    @Test
    void what_is_about_rights_names_its_rule() {
        assertThat(explain("standard", "HTTP/1.1 401 X\nX-RateLimit-Remaining: 0\nRetry-After: 5"))
                .contains(
                        "status   401, not refused for a limit",
                        "wait     none",
                        "rule     a status about rights or abilities is never a limit: nothing of it holds");
    }
}
