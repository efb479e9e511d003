package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The same refusal as every tool prints it and every browser copies it. */
class PastedResponseTest {

    private static final Clock NOON = Clock.fixed(Instant.parse("2025-06-01T12:00:00Z"), ZoneOffset.UTC);

    private static List<String> explain(String dialect, String pasted) {
        return Explain.explain(Explain.dialect(dialect), pasted, NOON);
    }

    /** A refusal of GitHub's, with a request that would say something else. */
    private static void isTheRefusal(String pasted) {
        assertThat(explain("github", pasted))
                .as(pasted)
                .contains(
                        "status   403, refused for a limit",
                        "clock    the server's Date",
                        "quota    core: 0 of 60 requests left, more in 30s, partition core",
                        "wait     30s, and 1 s because its time is in whole seconds",
                        "rule     the reset of an empty quota (core)")
                .noneMatch(line -> line.startsWith("unread") || line.startsWith("hint"));
    }

    @Test
    void httpie_tells_the_request_first() {
        isTheRefusal("""
                GET /rate_limit HTTP/1.1
                Accept: */*
                Host: api.github.com
                Retry-After: 7



                HTTP/1.1 403 rate limit exceeded
                Date: Sun, 01 Jun 2025 12:00:00 GMT
                X-RateLimit-Limit: 60
                X-RateLimit-Remaining: 0
                X-RateLimit-Reset: 1748779230
                X-RateLimit-Resource: core

                {
                    "message": "API rate limit exceeded"
                }


                """);
    }

    @Test
    void powershell_has_the_whole_response_in_one_property() {
        isTheRefusal("""

                StatusCode        : 403
                StatusDescription : Forbidden
                Content           : {"message": "API rate limit exceeded"}
                RawContent        : HTTP/1.1 403 Forbidden
                                    Date: Sun, 01 Jun 2025 12:00:00 GMT
                                    X-RateLimit-Limit: 60
                                    X-RateLimit-Remaining: 0
                                    X-RateLimit-Reset: 1748779230
                                    X-RateLimit-Resource: core

                                    {"message": "API rate limit exceeded"}
                Forms             : {}
                Headers           : {[Retry-After, 7]}
                RawContentLength  : 38
                """);
    }

    @Test
    void powershell_has_a_table_of_headers() {
        isTheRefusal("""
                StatusCode : 403

                Key                   Value
                ---                   -----
                Date                  {Sun, 01 Jun 2025 12:00:00 GMT}
                X-RateLimit-Limit     {60}
                X-RateLimit-Remaining {0}
                X-RateLimit-Reset     {1748779230}
                X-RateLimit-Resource  {core}

                """);
    }

    @ParameterizedTest
    @ValueSource(strings = {": ", ":\n", "\n"})
    void a_browser_has_sections_and_a_name_and_its_value_in_one_line_or_in_two(String between) {
        isTheRefusal("""
                General
                Request URL: https://api.github.com/user
                Request Method: GET
                Status Code: 403 Forbidden
                Remote Address: 140.82.121.6:443
                Response Headers (5)
                date: Sun, 01 Jun 2025 12:00:00 GMT
                x-ratelimit-limit: 60
                x-ratelimit-remaining: 0
                x-ratelimit-reset: 1748779230
                x-ratelimit-resource: core
                Request Headers (2)
                :authority: api.github.com
                retry-after: 7
                """.replaceAll("(?m)^(:?[A-Za-z -]+): ", "$1" + between));
    }

    @Test
    void a_browser_may_show_the_request_before_the_response() {
        isTheRefusal("""
                Summary
                URL: https://api.github.com/user
                Status: 403
                Source: Network

                Request
                :method: GET
                retry-after: 7

                Response
                :status: 403
                date: Sun, 01 Jun 2025 12:00:00 GMT
                x-ratelimit-limit: 60
                x-ratelimit-remaining: 0
                x-ratelimit-reset: 1748779230
                x-ratelimit-resource: core
                """);
    }

    @Test
    void lines_of_names_and_values_in_turns_need_no_titles() {
        isTheRefusal("""
                :status
                403
                date
                Sun, 01 Jun 2025 12:00:00 GMT
                x-ratelimit-limit
                60
                x-ratelimit-remaining
                0
                x-ratelimit-reset
                1748779230
                x-ratelimit-resource
                core
                """);
        assertThat(explain("standard", "Status Code\n429\nRetry-After\n5")).contains("wait     5s");
        assertThat(explain("standard", "Retry-After:\nX-RateLimit-Remaining: 5\n"))
                .contains("quota    5 of ? requests left, more at an unknown time");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"status\": 403, \"headers\": {%s}, \"data\": {\"retry-after\": \"7\"}}",
                "{'status_code': 403, 'headers': {%s}}",
                "{\"response\": {\"statusCode\": \"403\", \"headers\": {%s}}}",
                "{\":status\": 403, %s}"
            })
    void an_object_of_headers_is_as_good_as_lines(String around) {
        String[][] lines = {
            {"Date", "Sun, 01 Jun 2025 12:00:00 GMT"},
            {"X-RateLimit-Limit", "60"},
            {"X-RateLimit-Remaining", "0"},
            {"X-RateLimit-Reset", "1748779230"},
            {"X-RateLimit-Resource", "core"}
        };
        for (String form : List.of("\"%s\": \"%s\"", "'%s': '%s'", "\n  \"%s\": [\"%s\"]")) {
            StringBuilder pairs = new StringBuilder();
            for (String[] line : lines) {
                pairs.append(pairs.isEmpty() ? "" : ", ").append(form.formatted(line[0], line[1]));
            }
            isTheRefusal(around.replace("%s", pairs));
        }
    }

    @Test
    void an_archives_list_and_the_text_of_springs_headers_are_read_too() {
        isTheRefusal("""
                {"response": {"status": 403, "headers": [
                  {"name": "date", "value": "Sun, 01 Jun 2025 12:00:00 GMT"},
                  {"name": "x-ratelimit-limit", "value": "60"},
                  {"name": "x-ratelimit-remaining", "value": "0"},
                  {"name": "x-ratelimit-reset", "value": "1748779230"},
                  {"name": "x-ratelimit-resource", "value": "core"}], "content": {"size": 12}}}
                """);
        assertThat(explain("standard", "[Date:\"Sun, 01 Jun 2025 12:00:00 GMT\", Retry-After:\"30\"]"))
                .contains("status   429 (assumed, none was given), refused for a limit", "wait     30s");
        assertThat(explain("standard", "{\"retry-after\": 30}")).contains("wait     30s");
        assertThat(explain("standard", "{\"message\": \"hello\"}"))
                .contains("status   none was given, and nothing else tells of limits: paste the status line too");
    }

    @Test
    void an_object_of_any_size_is_read() {
        String longText = "x\\\\\\\"".repeat(50_000);
        assertThat(explain("standard", "{\"data\": \"" + longText + "\", \"retry-after\": \"30\"}"))
                .contains("wait     30s");
    }

    @Test
    void a_body_that_begins_like_a_head_is_a_body() {
        for (String body : List.of("HTTP/1.1 200 OK\nRetry-After: 99", "HTTP/1.1 503 is what I got", "HTTP/1.1")) {
            assertThat(explain("standard", "HTTP/1.1 429 Too Many Requests\nRetry-After: 30\n\n" + body))
                    .as(body)
                    .contains("status   429, refused for a limit", "wait     30s");
        }
        for (String first : List.of(
                "HTTP/1.1 407 Proxy Authentication Required",
                "HTTP/1.1 401 Unauthorized",
                "HTTP/1.1 204 No Content",
                "HTTP/1.1 429 Too Many Requests\nContent-Length: 0")) {
            assertThat(explain("standard", first + "\n\nHTTP/1.1 503 X\nRetry-After: 30"))
                    .as(first)
                    .contains("status   503, refused for a limit", "wait     30s");
        }
    }
}
