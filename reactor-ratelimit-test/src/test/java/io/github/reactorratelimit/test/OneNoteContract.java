package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** What every form of the OneNote service answers, as ledgers of (time, request) and expected answers. */
abstract class OneNoteContract {

    static final long MINUTE = 60_000;
    private static final Pattern PART = Pattern.compile("\"id\":\"(\\w+)\",\"status\":(\\d+)");

    /** What a ledger states of an answer. */
    static String text(Answer answer) {
        return answer.status() + " " + answer.header("x-ms-throttle-scope") + " "
                + answer.header("x-ms-throttle-limit-percentage");
    }

    private static Map<String, Integer> parts(Answer answer) {
        Map<String, Integer> parts = new TreeMap<>();
        Matcher part = PART.matcher(answer.body());
        while (part.find()) {
            parts.put(part.group(1), Integer.parseInt(part.group(2)));
        }
        return parts;
    }

    /** Starts the service under test; called once per test. */
    abstract void start(OneNoteRules rules);

    /** Sends one request at this time and waits for its answer. Times never step back. */
    abstract Answer at(long afterMillis, SimulatedRequest request);

    abstract RequestLog log();

    static SimulatedRequest page(String user) {
        return SimulatedRequest.get("/v1.0/me/onenote/pages").token(user);
    }

    private static SimulatedRequest batch(String user, String... parts) {
        return SimulatedRequest.post("/v1.0/$batch")
                .token(user)
                .body("{\"requests\":[" + String.join(",", parts) + "]}");
    }

    private static String part(int id) {
        return "{\"id\":\"" + id + "\",\"method\":\"GET\",\"url\":\"/me/onenote/pages/" + id + "\"}";
    }

    private static String child(int id, int parent) {
        return "{\"dependsOn\":[\"" + parent + "\"],\"id\":\"" + id
                + "\",\"method\":\"POST\",\"url\":\"/me/onenote/pages\",\"headers\":{\"a\":\"b\"},\"body\":{\"x\":[1]}}";
    }

    private static String[] parts(int from, int to) {
        List<String> parts = new ArrayList<>();
        for (int id = from; id <= to; id++) {
            parts.add(part(id));
        }
        return parts.toArray(new String[0]);
    }

    final String last(long afterMillis, String user, int times) {
        String text = "";
        for (int i = 0; i < times; i++) {
            text = text(at(afterMillis, page(user)));
        }
        return text;
    }

    @Test
    void a_user_has_120_a_minute_in_a_sliding_window() {
        start(OneNoteRules.create());
        assertThat(last(0, "anna", 60)).isEqualTo("200 null null");
        assertThat(last(30_000, "anna", 60)).isEqualTo("200 null 1");
        assertThat(last(MINUTE, "anna", 60)).isEqualTo("200 null 1");
        assertThat(text(at(MINUTE, page("ben")))).isEqualTo("200 null null");
        assertThat(text(at(MINUTE, page("anna")))).isEqualTo("429 User 1");
    }

    @Test
    void a_refusal_has_no_hint_and_a_body_that_says_why() {
        start(OneNoteRules.create());
        last(0, "anna", 120);
        Answer refused = at(1, page("anna"));
        assertThat(refused.header("Retry-After")).isNull();
        assertThat(refused.header("Date")).isNotNull();
        assertThat(refused.body()).contains("\"20166\"");
    }

    @Test
    void usage_is_told_from_four_fifths_on() {
        start(OneNoteRules.create());
        assertThat(last(0, "anna", 95)).isEqualTo("200 null null");
        assertThat(last(0, "anna", 1)).isEqualTo("200 null 0.8");
        assertThat(last(0, "anna", 1)).isEqualTo("200 null 0.808");
    }

    @Test
    void each_call_while_throttled_starts_the_thirty_seconds_anew() {
        start(OneNoteRules.create());
        last(0, "anna", 120);
        long last = 50_000;
        for (long at = 20_000; at <= last; at += 10_000) {
            assertThat(at(at, page("anna")).status()).isEqualTo(429);
        }
        assertThat(text(at(last + 29_999, page("anna")))).isEqualTo("429 User 1");
        assertThat(text(at(last + 29_999 + 30_000, page("anna")))).isEqualTo("200 null null");
    }

    @Test
    void a_batch_costs_its_parts_and_answers_each_for_itself_inside_a_200() {
        start(OneNoteRules.create());
        last(0, "anna", 115);
        Answer answer = at(0, batch("anna", parts(1, 7)));
        assertThat(answer.status()).isEqualTo(200);
        assertThat(parts(answer))
                .containsExactlyInAnyOrderEntriesOf(
                        Map.of("1", 200, "2", 200, "3", 200, "4", 200, "5", 200, "6", 429, "7", 429));
        assertThat(answer.body()).contains("\"x-ms-throttle-scope\":\"User\"").doesNotContain("Retry-After");
        assertThat(answer.body().indexOf("\"id\":\"7\""))
                .isLessThan(answer.body().indexOf("\"id\":\"1\""));
        assertThat(log().count("/v1.0/$batch")).isEqualTo(1);
        assertThat(log().count("/me/onenote/pages/6")).isEqualTo(1);
        assertThat(log().count(429)).isEqualTo(2);
    }

    @Test
    void a_part_that_depends_on_a_failed_one_is_a_424_and_costs_nothing() {
        start(OneNoteRules.create().fault(Fault.nth(2, Reply.status(502))));
        Answer answer = at(0, batch("anna", part(1), part(2), child(3, 2), child(4, 3), child(5, 1)));
        assertThat(parts(answer))
                .containsExactlyInAnyOrderEntriesOf(Map.of("1", 200, "2", 502, "3", 424, "4", 424, "5", 200));
        assertThat(last(0, "anna", 93)).isEqualTo("200 null 0.8");
    }

    @Test
    void what_is_no_batch_of_1_to_20_is_a_400() {
        start(OneNoteRules.create());
        assertThat(at(0, batch("anna", parts(1, 20))).status()).isEqualTo(200);
        assertThat(at(0, batch("anna", parts(1, 21))).status()).isEqualTo(400);
        assertThat(at(0, batch("anna")).status()).isEqualTo(400);
        assertThat(at(0, batch("anna", part(1), part(1))).status()).isEqualTo(400);
        assertThat(at(0, batch("anna", child(1, 2), part(2))).status()).isEqualTo(400);
        assertThat(at(0, batch("anna").body("{\"requests\":[{")).status()).isEqualTo(400);
        assertThat(at(0, batch("anna").body("no")).status()).isEqualTo(400);
        assertThat(log().count(400)).isEqualTo(6);
    }

    @Test
    void a_fault_sees_what_the_limits_let_through() {
        start(OneNoteRules.create().fault(Fault.nth(121, Reply.status(503))));
        last(0, "anna", 120);
        assertThat(at(0, page("anna")).status()).isEqualTo(429);
        assertThat(at(0, page("ben")).status()).isEqualTo(503);
    }

    @Test
    void rules_are_templates() {
        OneNoteRules plain = OneNoteRules.create();
        OneNoteRules slow = plain.takes(Duration.ofSeconds(1));
        assertThat(plain.takes()).isZero();
        assertThat(slow.fault(Fault.always(Reply.ok())).takes()).isEqualTo(Duration.ofSeconds(1));
        assertThat(slow.faults()).isEmpty();
    }
}
