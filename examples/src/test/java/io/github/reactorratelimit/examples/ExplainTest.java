package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

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
    void what_curl_prints_with_its_marks_is_understood_and_nothing_pasted_is_no_failure() {
        assertThat(explain("standard", "< HTTP/1.1 429 Too Many Requests\n< Retry-After: 0.5\n<\n"))
                .contains("status   429, refused for a limit", "wait     0.5s");
        for (String nothing : new String[] {"", "\n\n", "hello", "once upon a time\n\nthere was", "foo: bar"}) {
            assertThat(explain("github", nothing))
                    .contains("status   none was given, and nothing else tells of limits: paste the status line too")
                    .noneMatch(line -> line.contains("refused"));
        }
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

    @ParameterizedTest
    @CsvSource({
        "standard, standard",
        "GitHub, GitHub",
        "microsoftGraph, Microsoft Graph",
        "microsoftgraphbatch, Microsoft Graph batches",
        "openai, OpenAI",
        "anthropic, Anthropic",
        "discord, Discord"
    })
    void a_dialect_is_known_by_its_name(String name, String dialect) {
        assertThat(Explain.dialect(name)).hasToString(dialect);
    }

    @Test
    void an_unknown_dialect_is_named() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Explain.dialect("klingon"))
                .withMessageEndingWith("was klingon");
    }

    @Test
    void all_that_curl_v_prints_is_understood() {
        assertThat(explain("github", """
                * Host api.github.com:443 was resolved.
                * ALPN: server accepted h2
                > GET /user HTTP/2
                > Host: api.github.com
                > Retry-After: 7
                >
                * Request completely sent off
                < HTTP/2 403
                < date: Sun, 01 Jun 2025 12:00:00 GMT
                < x-ratelimit-remaining: 4000
                <
                { [64 bytes data]
                {"message": "You have exceeded a secondary rate limit."}* Connection #0 to host api.github.com left intact
                """.replaceAll("(?m)^(>|<)$", "$1 ")))
                .contains(
                        "status   403, refused for a limit",
                        "clock    the server's Date",
                        "rule     GitHub's secondary limit without a hint: at least a minute, doubling")
                .noneMatch(line -> line.startsWith("unread") || line.startsWith("hint"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "HTTP/1.1 200 Connection established",
                "HTTP/1.1 100 Continue\nRetry-After: 1",
                "HTTP/1.1 301 Moved\nLocation: /there\nRetry-After: 9"
            })
    void of_several_heads_the_last_one_counts(String first) {
        String last = "HTTP/1.1 429 Too Many Requests\nRetry-After: 30\n\n{}";
        String marked = (first + "\n\n" + last).replaceAll("(?m)^(?!\\{)", "< ");
        for (String pasted :
                List.of(first + "\n\n" + last, first + "\r\n\r\n\r\n" + last, first + "\n" + last, marked)) {
            assertThat(explain("standard", pasted))
                    .as(pasted)
                    .contains("status   429, refused for a limit", "wait     30s");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                ":status: 403",
                "Status: 403 Forbidden",
                "Status Code: 403",
                "status code: 403 Forbidden",
                "HTTP 403",
                "http/1.1 403",
                "HTTP/2 403 ",
                "403",
                "403 Forbidden",
                "\uFEFFHTTP/1.1 403 Forbidden",
                "< HTTP/1.1 403 Forbidden"
            })
    void a_status_is_found_in_every_form_that_people_paste(String status) {
        assertThat(explain("standard", status + "\nx-ratelimit-remaining: 5"))
                .contains("status   403, not refused for a limit");
    }

    @Test
    void a_status_of_http_2_is_no_header_and_neither_are_the_other_pseudo_headers() {
        assertThat(explain("standard", ":authority: api\nserver: x\n:status: 429\nretry-after: 5"))
                .contains("status   429, refused for a limit", "wait     5s")
                .noneMatch(line -> line.startsWith("unread"));
    }

    @Test
    void folded_lines_are_one_and_a_head_that_is_indented_as_a_whole_is_none() {
        assertThat(explain("standard", "HTTP/1.1 429 X\nRateLimit: \"a\";r=0;t=5,\n   \"b\";r=0;t=40\nServer: x"))
                .contains("wait     40s", "rule     the reset of an empty quota (b)");
        assertThat(explain("standard", "  HTTP/1.1 429 X\n  Retry-After: 5\n  Server: x\n"))
                .contains("wait     5s");
        assertThat(explain("standard", "HTTP/1.1 429 X\nRetry-After 5\n")).contains("unread   Retry-After 5");
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

    private static String run(byte[] pasted, String... args) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream printed = new PrintStream(out, true, StandardCharsets.UTF_8);
        int exit = Explain.run(args, new ByteArrayInputStream(pasted), printed, printed);
        return exit + " " + out.toString(StandardCharsets.UTF_8);
    }

    @Test
    void the_command_reads_what_any_shell_writes_and_names_the_dialects_instead_of_failing() throws IOException {
        String pasted = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 30\r\n";
        for (Charset charset : List.of(StandardCharsets.UTF_8, StandardCharsets.UTF_16LE, StandardCharsets.UTF_16BE)) {
            for (String mark : List.of("", "\uFEFF")) {
                assertThat(run((mark + pasted).getBytes(charset)))
                        .as(charset + mark)
                        .startsWith("0 ")
                        .contains("status   429, refused for a limit", "wait     30s");
            }
        }
        assertThat(run(new byte[0], "github")).startsWith("0 ").contains("none was given");
        assertThat(run(new byte[0], "klingon"))
                .startsWith("2 a dialect is one of standard, github,")
                .contains("was klingon")
                .doesNotContain("Exception");
    }
}
