package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** In which forms people paste the head of a response, and which of several lines and heads counts. */
class PastedHeadTest {

    private static final Clock NOON = Clock.fixed(Instant.parse("2025-06-01T12:00:00Z"), ZoneOffset.UTC);

    private static List<String> explain(String dialect, String pasted) {
        return Explain.explain(Explain.dialect(dialect), pasted, NOON);
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
}
