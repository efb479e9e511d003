package io.github.reactorratelimit.signal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When a body makes a refusal, and when it must not: an answer that was acted on is never sent again. */
class VendorBodiesTest {

    private static final Duration MINUTE = Duration.ofMinutes(1);

    /** As an adapter does it: the body only if asked for. */
    private static RateLimitSignal heard(Dialect dialect, int status, String body, String... headers) {
        return heardAt(0, dialect, status, body, headers);
    }

    private static RateLimitSignal heardAt(long now, Dialect dialect, int status, String body, String... headers) {
        Headers lines = Headers.of(headers);
        return dialect.bodyBytes(status, lines) == 0
                ? dialect.read(status, lines, now)
                : dialect.readBody(status, lines, body.getBytes(UTF_8), now);
    }

    private static String json(String text) {
        return text.replace('\'', '"');
    }

    @Test
    void an_error_list_of_githubs_rest_answers_is_text_of_users() {
        String body = json("{'errors':[{'message':'Unknown owner on line 1: docs/abuse detection/ @x'}]}");
        String[] empty = {"x-ratelimit-resource", "core", "x-ratelimit-limit", "60", "x-ratelimit-remaining", "0"};
        assertThat(heard(Dialects.gitHub(), 200, body, empty).throttled()).isFalse();
    }

    @Test
    void parts_and_providers_without_a_clock_go_by_that_of_the_response() {
        String later = "Tue, 14 Nov 2023 22:13:20 GMT";
        long now = 1_700_000_000_000L - 600_000;
        String part = json(
                "{'responses':[{'id':'2','status':429,'headers':{'Retry-After':'Tue, 14 Nov 2023 22:13:50 GMT'}}]}");
        assertThat(heardAt(now, Dialects.microsoftGraphBatch(), 200, part, "Date", "bad", "Date", later)
                        .delay())
                .isEqualTo(Duration.ofSeconds(30));
        String provider = json(
                "{'error':{'metadata':{'headers':{'X-RateLimit-Remaining':'0','X-RateLimit-Reset':'1700000009000'}}}}");
        assertThat(heardAt(now, Dialects.openAi(), 429, provider, "Date", later).delay())
                .isEqualTo(Duration.ofSeconds(9));
    }

    @Test
    void a_hint_behind_many_other_lines_of_a_part_is_not_lost() {
        StringBuilder lines = new StringBuilder();
        for (int i = 0; i < 100; i++) {
            lines.append("'X-H").append(i).append("':'1',");
        }
        String part = json("{'responses':[{'id':'1','status':429,'headers':{" + lines + "'Retry-After':'7'}}]}");
        assertThat(heard(Dialects.microsoftGraphBatch(), 200, part).delay()).isEqualTo(Duration.ofSeconds(7));
    }

    @Test
    void the_widest_scope_counts_wherever_it_stands() {
        String part = json(
                "{'responses':[{'id':'1','status':429,'headers':{'Retry-After':'7','x-ms-throttle-scope':'User'}}]}");
        assertThat(heard(Dialects.microsoftGraphBatch(), 200, part, "x-ms-throttle-scope", "Application")
                        .scope())
                .isEqualTo("application");
        for (String[] lines : new String[][] {{"GLOBAL", "user"}, {"user, global", "user"}, {"user", "Global"}}) {
            assertThat(heard(Dialects.discord(), 429, "", "X-RateLimit-Scope", lines[0], "X-RateLimit-Scope", lines[1])
                            .scope())
                    .as(String.join(" | ", lines))
                    .isEqualTo("global");
        }
    }

    @Test
    void of_several_lines_what_is_malformed_hides_nothing() {
        String usage = "x-ms-throttle-limit-percentage";
        for (String[] lines : new String[][] {{"1.2", ""}, {"1.2", "0.8"}, {"0.8, 1.2", "x"}}) {
            assertThat(heard(Dialects.microsoftGraph(), 200, "", usage, lines[0], usage, lines[1])
                            .usage())
                    .as(String.join(" | ", lines))
                    .isEqualTo(1.2);
        }
        assertThat(heard(Dialects.microsoftGraph(), 200, "", "x-ms-resource-unit", "5", "x-ms-resource-unit", "x")
                        .cost())
                .isEqualTo(5);
        assertThat(heard(Dialects.openAi(), 429, "", "x-should-retry", "", "x-should-retry", "false")
                        .terminal())
                .isNotNull();
    }

    @Test
    void data_of_graphql_is_an_answer_however_long_or_empty_it_is() {
        String graphQl = "graphql";
        for (String data : new String[] {"{'a':{}}", "{'a':[]}", "{'a':{'body':'" + "x".repeat(5_000) + "'}}"}) {
            String body = json("{'data':" + data + ",'errors':[{'type':'RATE_LIMITED'}]}");
            assertThat(heard(Dialects.gitHub(), 200, body, "x-ratelimit-resource", graphQl)
                            .throttled())
                    .as(data.length() > 100 ? "long" : data)
                    .isFalse();
        }
        String none = json("{'data':{'a':null,'rateLimit':{'cost':1}},'errors':[{'type':'RATE_LIMITED'}]}");
        assertThat(heard(Dialects.gitHub(), 200, none, "x-ratelimit-resource", graphQl)
                        .throttled())
                .isTrue();
    }

    @Test
    void a_batch_with_parts_that_were_acted_on_is_no_call_to_send_again() {
        String refused = "{'id':'2','status':429,'headers':{'Retry-After':'7'}}";
        RateLimitSignal some = heard(
                Dialects.microsoftGraphBatch(), 200, json("{'responses':[{'id':'1','status':201}," + refused + "]}"));
        assertThat(some.throttled()).isTrue();
        assertThat(some.partial()).isTrue();
        assertThat(some.delay()).isEqualTo(Duration.ofSeconds(7));
        assertThat(heard(Dialects.microsoftGraphBatch(), 200, json("{'responses':[" + refused + "]}"))
                        .partial())
                .isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'message':'You have exceeded a secondary rate limit'}",
                "{'message':'abuse detection','documentation_url':'x'}",
                "{'message':'API rate limit exceeded'}",
                "[{'message':'secondary rate limit'}]",
                "{'data':{'issue':{'title':'secondary rate limit'}},'errors':[{'type':'NOT_FOUND','message':'no'}]}",
                "{'data':{'createIssue':{'id':'1'}},'errors':[{'type':'RATE_LIMITED','message':'secondary rate limit'}]}"
            })
    void a_success_of_github_stays_one_whatever_its_text_says(String body) {
        for (int status : new int[] {200, 201, 202}) {
            RateLimitSignal signal = heard(
                    Dialects.gitHub(),
                    status,
                    json(body),
                    "x-ratelimit-limit",
                    "5000",
                    "x-ratelimit-remaining",
                    "0",
                    "x-ratelimit-reset",
                    "30");
            assertThat(signal.throttled()).as(body).isFalse();
            assertThat(signal.delay()).isEqualTo(Duration.ofSeconds(30));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'errors':[{'type':'RATE_LIMITED','message':'x'}]}",
                "{'errors':[{'type':'RATE_LIMIT','code':'graphql_rate_limit','message':'API rate limit already exceeded'}]}",
                "{'errors':[{'code':'graphql_rate_limit'}]}",
                "{'errors':[{'extensions':{'code':'RATE_LIMITED'}}]}",
                "{'errors':[{'extensions':{'code':'graphql_rate_limit'}}]}",
                "{'data':null,'errors':[{'message':'You have exceeded a secondary rate limit.'}]}",
                "{'data':{'viewer':null,'rateLimit':{'cost':1}},'errors':[{'type':'rate_limit'}]}"
            })
    void a_graphql_answer_of_200_that_was_not_acted_on_is_a_refusal_and_without_a_time_at_least_a_minute(String body) {
        RateLimitSignal signal = heard(Dialects.gitHub(), 200, json(body), "X-RateLimit-Resource", "GraphQL");

        assertThat(signal.throttled()).as(body).isTrue();
        assertThat(signal.delay()).isEqualTo(MINUTE);
        assertThat(signal.guessed()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"x-ratelimit-remaining, 0", "x-ratelimit-remaining, '\"0\"'", "x-ratelimit-remaining, 0.4"})
    void an_empty_quota_makes_github_look_for_graphqls_errors(String name, String value) {
        assertThat(heard(Dialects.gitHub(), 200, json("{'errors':[{'type':'RATE_LIMITED'}]}"), name, value)
                        .throttled())
                .isTrue();
    }

    @Test
    void no_stream_and_no_archive_of_github_is_looked_into() {
        for (String type : List.of("text/event-stream", "application/zip", "text/html; charset=utf-8")) {
            assertThat(Dialects.gitHub().bodyBytes(200, Headers.of("x-ratelimit-remaining", "0", "Content-Type", type)))
                    .as(type)
                    .isZero();
        }
        assertThat(Dialects.gitHub()
                        .bodyBytes(
                                200, Headers.of("x-ratelimit-remaining", "0", "Content-Type", "application/JSON; v=1")))
                .isPositive();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "API rate limit exceeded for user ID 1.",
                "API rate limit already exceeded for user ID 1.",
                "You have exceeded a secondary rate limit."
            })
    void a_403_of_github_without_any_header_waits_at_least_a_minute(String message) {
        RateLimitSignal signal = heard(Dialects.gitHub(), 403, json("{'message':'" + message + "'}"));

        assertThat(signal.throttled()).isTrue();
        assertThat(signal.delay()).isEqualTo(MINUTE);
        assertThat(signal.guessed()).isTrue();
        assertThat(Dialects.gitHub()
                        .read(429, Headers.of("x-ratelimit-remaining", "0"), 0)
                        .delay())
                .isEqualTo(MINUTE);
    }

    @ParameterizedTest
    @CsvSource({
        "core, 5000, 0",
        "core, 60, -1",
        ", 5000, 0",
        ", 60, -1",
        "search, 30, 0",
        "search, 10, -1",
        "code_search, 10, 0",
        "graphql, 60, 0",
        "core, , -1"
    })
    void a_304_is_free_for_who_is_authorised_whatever_the_resource(
            @Nullable String resource, @Nullable String limit, long cost) {
        Headers headers = line -> {
            if (limit != null) {
                line.accept("x-ratelimit-limit", limit);
            }
            line.accept("x-ratelimit-remaining", "9");
            if (resource != null) {
                line.accept("x-ratelimit-resource", resource);
            }
        };
        assertThat(Dialects.gitHub().read(304, headers, 0).cost()).isEqualTo(cost);
    }

    @Test
    void no_adapter_holds_up_a_stream_for_an_error_event_of_anthropic_but_who_reads_it_can_have_it_read() {
        Headers stream = Headers.of("Content-Type", "text/event-stream; charset=utf-8");
        String before = "event: ping\ndata: {}\n\nevent:errorless\ndata: {\"error\":{}}\n\n";
        String error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n";

        assertThat(Dialects.anthropic().bodyBytes(200, stream)).isZero();
        for (String piece : List.of(error, before + error, error + before)) {
            RateLimitSignal signal = Dialects.anthropic().readBody(200, stream, piece.getBytes(UTF_8), 0);
            assertThat(signal.throttled()).as(piece).isTrue();
            assertThat(signal.delay()).isNull();
            assertThat(signal.reason()).endsWith("overloaded_error");
        }
        for (String piece : List.of(
                "",
                before,
                "event: error",
                "event: error\ndata:",
                "event:",
                error.replace("overloaded", "api"),
                error.replace("event: error", "event: errors"),
                error.replace("event: error", "event: content_block_delta"))) {
            assertThat(Dialects.anthropic().readBody(200, stream, piece.getBytes(UTF_8), 0))
                    .as(piece)
                    .isSameAs(RateLimitSignal.none(200));
        }
        assertThat(Dialects.anthropic().readBody(200, Headers.of(), error.getBytes(UTF_8), 0))
                .isSameAs(RateLimitSignal.none(200));
    }

    @Test
    void an_error_within_a_stream_of_openai_is_a_limit_only_if_it_says_so() {
        Headers stream = Headers.of("Content-Type", "text/event-stream");
        String before = "data: {\"choices\":[{\"delta\":{\"content\":\"data: {}\"}}]}\n\n";
        assertThat(Dialects.openAi().bodyBytes(200, stream)).isZero();
        for (String error : List.of(
                "{'type':'requests','code':'rate_limit_exceeded'}",
                "{'type':'tokens','code':'rate_limit_exceeded','message':'Please try again in 20s.'}",
                "{'type':'overloaded_error'}",
                "{'code':429,'message':'Provider returned error'}",
                "{'type':'insufficient_quota','code':'insufficient_quota'}")) {
            String event = "data: " + json("{'id':'1','error':" + error + "}") + "\n\n";
            for (String piece : List.of(event, before + event, event + before, "event: error\r\n" + event)) {
                RateLimitSignal signal = Dialects.openAi().readBody(200, stream, piece.getBytes(UTF_8), 0);
                assertThat(signal.throttled()).as(piece).isTrue();
                assertThat(signal.terminal() != null).as(piece).isEqualTo(error.contains("quota"));
                assertThat(signal.delay()).isEqualTo(error.contains("20s") ? Duration.ofSeconds(20) : null);
                assertThat(signal.reason()).startsWith("an error event within the stream: ");
            }
            assertThat(Dialects.openAi().readBody(200, Headers.of(), event.getBytes(UTF_8), 0))
                    .isSameAs(RateLimitSignal.none(200));
        }
        for (String piece : List.of(
                "",
                before,
                "data:",
                "data: [DONE]\n\n",
                json("data: {'error':{'type':'server_error','code':null}}\n\n"),
                json("data: {'error':{'type':'invalid_request_error','message':'try again in 20s'}}\n\n"),
                json("data: {'choices':[{'delta':{'content':'rate_limit_exceeded'}}]}\n\n"),
                json(": data: {'error':{'code':429}}\n\n"))) {
            assertThat(Dialects.openAi().readBody(200, stream, piece.getBytes(UTF_8), 0))
                    .as(piece)
                    .isSameAs(RateLimitSignal.none(200));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "null", "-1", "soon", "1m30"})
    void a_hint_of_anthropic_that_cannot_be_read_does_not_hide_the_spend_limit(String hint) {
        String body = json("{'error':{'details':{'error_code':'enforced_spend_limit_reached'}}}");

        assertThat(heard(Dialects.anthropic(), 429, body, "retry-after", hint).terminal())
                .isNotNull();
        assertThat(heard(Dialects.anthropic(), 429, body, "retry-after", "30").terminal())
                .isNull();
    }

    @Test
    void what_the_head_says_for_good_needs_no_body() {
        Headers headers = Headers.of("x-should-retry", "\"false\"");

        assertThat(Dialects.openAi().read(429, headers, 0).terminal()).isNotNull();
        assertThat(Dialects.openAi().bodyBytes(429, headers)).isZero();
        assertThat(Dialects.openAi().bodyBytes(429, Headers.of())).isPositive();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\u0130\u0130\u0130\u0130 Please try again in 20s.",
                "PLEASE TRY AGAIN IN 20s",
                "\u0130try again in 20s"
            })
    void a_letter_that_grows_in_lower_case_does_not_move_the_time_behind_a_phrase(String message) {
        assertThat(heard(Dialects.openAi(), 429, json("{'error':{'message':'" + message + "'}}"))
                        .delay())
                .isEqualTo(Duration.ofSeconds(20));
    }

    @Test
    void a_message_that_ends_with_the_phrase_or_is_full_of_growing_letters_throws_nothing() {
        for (String message : List.of("\u0130".repeat(300) + "try again in ", "try again in", "\u0130", "")) {
            assertThat(heard(Dialects.openAi(), 429, json("{'error':{'message':'" + message + "'}}"))
                            .delay())
                    .isNull();
        }
    }

    @Test
    void of_graphs_scopes_in_several_lines_the_widest_counts() {
        assertThat(heard(
                                Dialects.microsoftGraph(),
                                429,
                                "",
                                "x-ms-throttle-scope",
                                "Application",
                                "x-ms-throttle-scope",
                                "User")
                        .scope())
                .isEqualTo("application");
        assertThat(heard(
                                Dialects.microsoftGraph(),
                                429,
                                "",
                                "x-ms-throttle-scope",
                                "\"User\"",
                                "x-ms-throttle-scope",
                                "Tenant_Application/ReadWrite/a/b")
                        .scope())
                .isEqualTo("tenant_application");
        assertThat(heard(Dialects.microsoftGraph(), 429, "", "x-ms-throttle-scope", " \"User\" ")
                        .scope())
                .isEqualTo("user");
        assertThat(heard(Dialects.microsoftGraph(), 429, "", "x-ms-throttle-scope", "User, Mailbox/x/y")
                        .scope())
                .isEqualTo("user, mailbox");
        for (String blank : List.of("", "  ", ",", "\"\"", "/ReadWrite")) {
            assertThat(heard(Dialects.microsoftGraph(), 429, "", "x-ms-throttle-scope", blank)
                            .scope())
                    .as(blank)
                    .isNull();
        }
    }

    private static String part(int status, String headers) {
        return "{'id':'1','status':" + status + ",'headers':{" + headers + "}}";
    }

    private static String parts(String... parts) {
        return json("{'responses':[" + String.join(",", parts) + "]}");
    }

    @Test
    void the_widest_scope_of_a_batchs_parts_holds_for_the_longest_of_their_waits() {
        String user = part(429, "'x-ms-throttle-scope':'User','Retry-After':'30'");
        String everybody = part(429, "'x-ms-throttle-scope':'Application','Retry-After':'5'");
        String timeless = part(429, "'x-ms-throttle-scope':'Application'");
        for (String body :
                List.of(parts(user, everybody), parts(everybody, user), parts(user, timeless), parts(timeless, user))) {
            RateLimitSignal signal = heard(Dialects.microsoftGraphBatch(), 200, body);
            assertThat(signal.throttled()).isTrue();
            assertThat(signal.scope()).as(body).isEqualTo("application");
            assertThat(signal.delay()).isEqualTo(Duration.ofSeconds(30));
        }
    }

    @Test
    void the_dates_of_a_batchs_parts_are_measured_by_the_servers_clock() {
        String refused = part(429, "'Retry-After':'Thu, 01 Jan 2026 00:10:30 GMT'");
        String own = part(429, "'Retry-After':'Thu, 01 Jan 2026 00:10:30 GMT','Date':'Thu, 01 Jan 2026 00:10:20 GMT'");
        long skewed = Instant.parse("2026-01-01T00:00:00Z").toEpochMilli();

        assertThat(heardAt(
                                skewed,
                                Dialects.microsoftGraphBatch(),
                                200,
                                parts(refused),
                                "Date",
                                "Thu, 01 Jan 2026 00:10:00 GMT")
                        .delay())
                .isEqualTo(Duration.ofSeconds(30));
        assertThat(heardAt(
                                skewed,
                                Dialects.microsoftGraphBatch(),
                                200,
                                parts(own),
                                "Date",
                                "Thu, 01 Jan 2026 00:10:00 GMT")
                        .delay())
                .isEqualTo(Duration.ofSeconds(10));
    }

    @Test
    void a_deep_body_of_one_part_does_not_hide_the_refusal_of_another() {
        String deep = "{'id':'1','status':200,'body':" + "[".repeat(100) + "]".repeat(100) + "}";
        String long_ = "{'id':'1','status':200,'body':{'" + "k".repeat(5_000) + "':{'a':1}}}";

        for (String before : List.of(deep, long_)) {
            assertThat(heard(Dialects.microsoftGraphBatch(), 200, parts(before, part(429, "'Retry-After':'5'")))
                            .delay())
                    .isEqualTo(Duration.ofSeconds(5));
        }
    }

    @Test
    void no_part_of_a_batch_however_odd_hides_the_refusal_of_another() {
        String before = "{'id':'1','status':200,'body':%s}";
        for (String odd : List.of(
                "[".repeat(1_500) + "]".repeat(1_500),
                "{'a':".repeat(9_000) + "1" + "}".repeat(9_000),
                "1".repeat(2_000),
                "1e" + "1".repeat(2_000),
                "0." + "1".repeat(2_000),
                "{'" + "k".repeat(60_000) + "':1}",
                "'" + "v".repeat(200_000) + "'")) {
            assertThat(heard(
                                    Dialects.microsoftGraphBatch(),
                                    200,
                                    parts(before.formatted(odd), part(429, "'Retry-After':'5'")))
                            .delay())
                    .as(odd.substring(0, 20))
                    .isEqualTo(Duration.ofSeconds(5));
        }
    }

    @Test
    void a_batch_of_nothing_but_depth_is_read_up_to_the_deepest_and_fails_nothing() {
        RateLimitSignal signal = heard(
                Dialects.microsoftGraphBatch(),
                200,
                json("{'responses':[" + part(429, "'Retry-After':'5'") + ",") + "[".repeat(200_000));

        assertThat(signal.delay()).isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void an_exact_figure_of_discords_body_takes_the_place_of_the_rounded_one_and_of_no_reset() {
        String body = json("{'retry_after':64.57,'global':false}");
        String[] head = {"Retry-After", "65", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset-After", "64.57"};

        assertThat(heard(Dialects.discord(), 429, body, head).delay()).isEqualTo(Duration.ofMillis(64_570));
        head[5] = "64.8";
        assertThat(heard(Dialects.discord(), 429, body, head).delay()).isEqualTo(Duration.ofMillis(64_800));
        head[5] = "64.2";
        assertThat(heard(Dialects.discord(), 429, body, head).delay()).isEqualTo(Duration.ofMillis(64_570));
        head[1] = "70";
        assertThat(heard(Dialects.discord(), 429, body, head).delay()).isEqualTo(Duration.ofSeconds(70));
        assertThat(Dialects.discord().read(429, Headers.of(head), 0).delay()).isEqualTo(Duration.ofSeconds(70));
    }

    @Test
    void a_cached_copy_tells_no_bucket_and_no_usage() {
        assertThat(Dialects.discord()
                        .read(200, Headers.of("Age", "3", "X-RateLimit-Bucket", "b"), 0)
                        .bucket())
                .isNull();
        assertThat(Dialects.discord()
                        .read(200, Headers.of("Age", "0", "X-RateLimit-Bucket", "b"), 0)
                        .bucket())
                .isEqualTo("b");
        assertThat(Dialects.anthropic()
                        .read(200, Headers.of("Age", "3", "anthropic-ratelimit-unified-5h-utilization", "1.0"), 0)
                        .usage())
                .isNaN();
    }

    @Test
    void an_empty_quota_of_github_without_a_reset_is_its_primary_limit() {
        RateLimitSignal primary =
                Dialects.gitHub().read(403, Headers.of("x-ratelimit-limit", "60", "x-ratelimit-remaining", "0"), 0);

        assertThat(primary.delay()).isEqualTo(MINUTE);
        assertThat(primary.reason()).startsWith("GitHub's limit without a hint");
        assertThat(Dialects.gitHub()
                        .read(429, Headers.of("x-ratelimit-remaining", "14"), 0)
                        .reason())
                .startsWith("GitHub's secondary limit without a hint");
    }

    @Test
    void a_message_says_when_to_try_again_where_the_providers_headers_do_not() {
        String body = json(
                "{'error':{'message':'Please try again in 20s.','metadata':{'headers':{'X-RateLimit-Limit':'%s'}}}}");

        assertThat(heard(Dialects.openAi(), 429, body.formatted("5")).delay()).isEqualTo(Duration.ofSeconds(20));
        assertThat(heard(Dialects.openAi(), 429, body.formatted("x")).delay()).isEqualTo(Duration.ofSeconds(20));
    }

    @Test
    void a_rejected_subscription_stays_rejected_whatever_another_line_says() {
        String status = "anthropic-ratelimit-unified-status";
        assertThat(Dialects.anthropic()
                        .read(
                                429,
                                Headers.of(status, "rejected", status, "", "anthropic-ratelimit-unified-reset", "600"),
                                0)
                        .delay())
                .isEqualTo(Duration.ofMinutes(10));
    }

    @Test
    void a_key_that_looks_like_a_path_is_none() {
        assertThat(heard(Dialects.openAi(), 429, json("{'error.code':'insufficient_quota'}"))
                        .terminal())
                .isNull();
        assertThat(heard(Dialects.openAi(), 429, json("{'error':{'code':'insufficient_quota'}}"))
                        .terminal())
                .isNotNull();
        for (String body : List.of(
                "{'':{'retry_after':5}}",
                "{'a':{},'':{'':{'retry_after':5}}}",
                "{'x':{'retry_after':5}}",
                "[{'retry_after':5}]")) {
            assertThat(heard(Dialects.discord(), 429, json(body)).delay())
                    .as(body)
                    .isNull();
        }
        assertThat(heard(
                                Dialects.microsoftGraphBatch(),
                                200,
                                json("{'responses[]':{'status':429},'responses':{'[]':{'status':429}}}"))
                        .throttled())
                .isFalse();
    }

    @Test
    void figures_are_checked_where_they_enter() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RateLimitSignal.of(200).usage(-0.1))
                .withMessage("usage must not be negative, was -0.1");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RateLimitSignal.of(200).cost(-2))
                .withMessage("cost must be -1 or more, was -2");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RateLimitSignal.of(200).usage(Double.POSITIVE_INFINITY))
                .withMessage("usage must be finite, was Infinity");
        for (String none : List.of("", " ", "x ratelimit", "x:", "r\u00e9set", "x\n")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Dialects.standard().alias(none, "retry-after"))
                    .withMessage("theirs must be the name of a header, was \"" + none + '"');
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Dialects.standard().alias("x-retry", none))
                    .withMessageStartingWith("ours must be the name of a header");
        }
        assertThat(RateLimitSignal.of(200).usage(Double.NaN).cost(-1).build().usage())
                .isNaN();
        assertThatNullPointerException()
                .isThrownBy(() -> Dialects.standard().alias(nothing(), "retry-after"))
                .withMessage("theirs");
        assertThatNullPointerException()
                .isThrownBy(() -> Dialects.standard().alias("x-retry", nothing()))
                .withMessage("ours");
    }

    @SuppressWarnings("NullAway") // what callers without a checker may do
    private static String nothing() {
        return null;
    }
}
