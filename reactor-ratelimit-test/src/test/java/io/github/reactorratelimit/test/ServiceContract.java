package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What every form of the service answers, as ledgers of (time, request) and expected answers. */
abstract class ServiceContract {

    /** 2026-01-01T00:00:00Z. */
    static final long W0 = 1_767_225_600_000L;

    static final ServiceRules RULES = ServiceRules.create()
            .limit("/search", 5, Duration.ofSeconds(10))
            .limit("/items", 20, Duration.ofSeconds(10))
            .limit("/users/{id}", 1, Duration.ofSeconds(10))
            .fault("/items", Fault.everyNth(8, 503));

    /** Starts the service under test; called once per test. */
    abstract void start(ServiceRules rules);

    /** Sends one request at this time and waits for its answer. Times never step back. */
    abstract Answer at(long epochMillis, SimulatedRequest request);

    abstract RequestLog log();

    private final List<String> rows = new ArrayList<>();

    private void row(long afterMillis, SimulatedRequest request) {
        Answer answer = at(W0 + afterMillis, request);
        rows.add("%d %s %s -> %d, %s of %s, reset +%s, retry %s"
                .formatted(
                        afterMillis,
                        request.path(),
                        request.token(),
                        answer.status(),
                        answer.header("X-RateLimit-Remaining"),
                        answer.header("X-RateLimit-Limit"),
                        sinceStart(answer.header("X-RateLimit-Reset")),
                        answer.header("Retry-After")));
    }

    private static @Nullable Long sinceStart(@Nullable String epochSeconds) {
        return epochSeconds == null ? null : Long.parseLong(epochSeconds) - W0 / 1000;
    }

    @Test
    void a_window_starts_with_the_first_request_and_refuses_what_is_above_it() {
        start(RULES);
        SimulatedRequest search = SimulatedRequest.get("/search?q=reactor");

        row(700, search);
        row(701, search);
        row(2_000, search);
        row(9_000, search);
        row(10_699, search);
        row(10_699, search);
        row(10_700, search);

        assertThat(rows)
                .containsExactly(
                        "700 /search anon -> 200, 4 of 5, reset +10, retry null",
                        "701 /search anon -> 200, 3 of 5, reset +10, retry null",
                        "2000 /search anon -> 200, 2 of 5, reset +10, retry null",
                        "9000 /search anon -> 200, 1 of 5, reset +10, retry null",
                        "10699 /search anon -> 200, 0 of 5, reset +10, retry null",
                        "10699 /search anon -> 429, 0 of 5, reset +10, retry 1",
                        "10700 /search anon -> 200, 4 of 5, reset +20, retry null");
    }

    @Test
    void the_next_window_starts_with_the_next_request_and_not_with_the_end_of_the_last() {
        start(RULES);
        SimulatedRequest user = SimulatedRequest.get("/users/1");

        row(0, user);
        row(14_000, user);
        row(20_001, user);
        row(24_000, user);

        assertThat(rows)
                .containsExactly(
                        "0 /users/1 anon -> 200, 0 of 1, reset +10, retry null",
                        "14000 /users/1 anon -> 200, 0 of 1, reset +24, retry null",
                        "20001 /users/1 anon -> 429, 0 of 1, reset +24, retry 4",
                        "24000 /users/1 anon -> 200, 0 of 1, reset +34, retry null");
    }

    @Test
    void five_of_twelve_pass_at_once_and_the_rest_is_told_to_wait_whole_seconds() {
        start(RULES);

        for (int i = 0; i < 12; i++) {
            row(1, SimulatedRequest.get("/search").token("a"));
        }

        assertThat(log().countsByStatus()).hasToString("{200=5, 429=7}");
        assertThat(rows.subList(5, 12)).containsOnly("1 /search a -> 429, 0 of 5, reset +10, retry 10");
    }

    @Test
    void refused_requests_do_not_lengthen_the_window() {
        start(RULES);
        SimulatedRequest user = SimulatedRequest.get("/users/1");

        row(0, user);
        row(9_500, user);
        row(9_999, user);
        row(10_000, user);

        assertThat(rows)
                .containsExactly(
                        "0 /users/1 anon -> 200, 0 of 1, reset +10, retry null",
                        "9500 /users/1 anon -> 429, 0 of 1, reset +10, retry 1",
                        "9999 /users/1 anon -> 429, 0 of 1, reset +10, retry 1",
                        "10000 /users/1 anon -> 200, 0 of 1, reset +20, retry null");
    }

    @Test
    void tokens_and_endpoints_count_for_themselves_and_a_pattern_counts_as_one() {
        start(RULES);

        row(0, SimulatedRequest.get("/users/1").token("a"));
        row(0, SimulatedRequest.get("/users/2").token("a"));
        row(0, SimulatedRequest.get("/users/1").token("b"));
        row(0, SimulatedRequest.get("/search").token("a"));

        assertThat(rows)
                .containsExactly(
                        "0 /users/1 a -> 200, 0 of 1, reset +10, retry null",
                        "0 /users/2 a -> 429, 0 of 1, reset +10, retry 10",
                        "0 /users/1 b -> 200, 0 of 1, reset +10, retry null",
                        "0 /search a -> 200, 4 of 5, reset +10, retry null");
        assertThat(log().count("/users/{id}", "a")).isEqualTo(2);
    }

    @Test
    void every_eighth_admitted_request_fails_costs_quota_and_tells_it() {
        start(RULES);

        for (int i = 0; i < 22; i++) {
            row(0, SimulatedRequest.get("/items").token(i < 20 ? "a" : "b"));
        }

        assertThat(log().countsByStatus()).hasToString("{200=20, 503=2}");
        assertThat(rows.get(7)).isEqualTo("0 /items a -> 503, 12 of 20, reset +10, retry null");
        assertThat(rows.get(15)).isEqualTo("0 /items a -> 503, 4 of 20, reset +10, retry null");
        assertThat(rows.get(19)).isEqualTo("0 /items a -> 200, 0 of 20, reset +10, retry null");
    }

    @Test
    void an_unknown_path_is_a_404_without_quota_unless_there_is_a_limit_for_the_others() {
        start(RULES);
        row(0, SimulatedRequest.get("/nowhere"));
        start(RULES.otherwise(1, Duration.ofMinutes(1)));
        row(0, SimulatedRequest.get("/nowhere"));
        row(0, SimulatedRequest.get("/nowhere"));
        row(0, SimulatedRequest.get("/elsewhere"));

        assertThat(rows)
                .containsExactly(
                        "0 /nowhere anon -> 404, null of null, reset +null, retry null",
                        "0 /nowhere anon -> 200, 0 of 1, reset +60, retry null",
                        "0 /nowhere anon -> 429, 0 of 1, reset +60, retry 60",
                        "0 /elsewhere anon -> 200, 0 of 1, reset +60, retry null");
    }

    @Test
    void a_request_passes_when_all_limits_have_room_and_the_headers_tell_of_the_tightest() {
        start(ServiceRules.create().limit("/both", 2, Duration.ofSeconds(1)).limit("/both", 3, Duration.ofSeconds(60)));
        SimulatedRequest both = SimulatedRequest.get("/both");

        row(0, both);
        row(0, both);
        row(0, both);
        row(1_000, both);
        row(2_000, both);

        assertThat(rows)
                .containsExactly(
                        "0 /both anon -> 200, 1 of 2, reset +1, retry null",
                        "0 /both anon -> 200, 0 of 2, reset +1, retry null",
                        "0 /both anon -> 429, 0 of 2, reset +1, retry 1",
                        "1000 /both anon -> 200, 0 of 3, reset +60, retry null",
                        "2000 /both anon -> 429, 0 of 3, reset +60, retry 58");
    }

    @Test
    void of_two_limits_that_refuse_the_longer_wait_is_told() {
        start(ServiceRules.create().limit("/both", 1, Duration.ofSeconds(60)).limit("/both", 1, Duration.ofSeconds(1)));

        row(0, SimulatedRequest.get("/both"));
        row(0, SimulatedRequest.get("/both"));

        assertThat(rows.get(1)).isEqualTo("0 /both anon -> 429, 0 of 1, reset +60, retry 60");
    }

    @Test
    void a_fault_before_the_limits_sees_every_request_and_costs_nothing() {
        start(ServiceRules.create()
                .limit("/x", 2, Duration.ofSeconds(10))
                .fault("/x", Fault.everyNth(2, 407).beforeLimits())
                .fault("/x", Fault.nth(2, Reply.status(403))));

        for (int i = 0; i < 6; i++) {
            row(0, SimulatedRequest.get("/x"));
        }

        assertThat(rows)
                .containsExactly(
                        "0 /x anon -> 200, 1 of 2, reset +10, retry null",
                        "0 /x anon -> 407, null of null, reset +null, retry null",
                        "0 /x anon -> 403, 0 of 2, reset +10, retry null",
                        "0 /x anon -> 407, null of null, reset +null, retry null",
                        "0 /x anon -> 429, 0 of 2, reset +10, retry 10",
                        "0 /x anon -> 407, null of null, reset +null, retry null");
    }

    @Test
    void a_script_comes_first_and_then_the_usual_rules_apply() {
        start(ServiceRules.create()
                .limit("/x", 1, Duration.ofSeconds(10))
                .script("/x", Reply.status(429).header("Retry-After", "2"), Reply.ok()));

        for (int i = 0; i < 4; i++) {
            row(0, SimulatedRequest.get("/x"));
        }

        assertThat(rows)
                .containsExactly(
                        "0 /x anon -> 429, null of null, reset +null, retry 2",
                        "0 /x anon -> 200, null of null, reset +null, retry null",
                        "0 /x anon -> 200, 0 of 1, reset +10, retry null",
                        "0 /x anon -> 429, 0 of 1, reset +10, retry 10");
    }

    @Test
    void the_date_is_cut_off_to_seconds_and_a_reply_may_bring_its_own() {
        start(RULES.script("/x", Reply.ok().header("date", "Thu, 01 Jan 2026 01:00:00 GMT")));

        assertThat(at(W0 + 1_999, SimulatedRequest.get("/search")).header("Date"))
                .isEqualTo("Thu, 01 Jan 2026 00:00:01 GMT");
        assertThat(at(W0 + 1_999, SimulatedRequest.get("/x")).header("Date"))
                .isEqualTo("Thu, 01 Jan 2026 01:00:00 GMT");
    }

    @Test
    void the_log_holds_time_endpoint_token_method_status_headers_and_body() {
        start(RULES);
        at(
                W0 + 250,
                SimulatedRequest.post("/search?q=1")
                        .token("a")
                        .header("X-Trace", "7")
                        .body("grün"));

        RequestLog.Entry entry = log().entries("/search").get(0);
        assertThat(entry.at().toEpochMilli()).isEqualTo(W0 + 250);
        assertThat(entry.token()).isEqualTo("a");
        assertThat(entry.status()).isEqualTo(200);
        assertThat(entry.request().method()).isEqualTo("POST");
        assertThat(entry.request().path()).isEqualTo("/search");
        assertThat(entry.header("x-trace")).isEqualTo("7");
        assertThat(entry.request().body()).isEqualTo("grün");
        assertThat(entry.bodySize()).isEqualTo(5);
        assertThat(entry.reply().body()).isEqualTo("{\"served\":1}");
    }

    @Test
    void the_busiest_span_is_half_open() {
        start(RULES);
        for (long at : new long[] {0, 400, 999, 1_000, 1_399, 5_000}) {
            at(W0 + at, SimulatedRequest.get("/items").token("a"));
        }

        assertThat(log().busiest("/items", "a", Duration.ofSeconds(1))).isEqualTo(4);
        assertThat(log().busiest("/items", "a", Duration.ofMillis(400))).isEqualTo(2);
        assertThat(log().busiest("/items", "b", Duration.ofMillis(400))).isZero();
    }
}
