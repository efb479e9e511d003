package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Ledgers of how services count and what they tell of it, beyond the fixed windows of {@link ServiceContract}. */
class KindsOfLimitsTest {

    private static final long W0 = Instant.parse("2026-01-01T00:00:00Z").toEpochMilli();

    private final List<String> rows = new ArrayList<>();
    private RateLimitedService service = ServiceRules.create().service();

    private void start(ServiceRules rules) {
        service = rules.service();
    }

    private void row(long afterMillis, SimulatedRequest request) {
        Reply reply = service.answer(request, W0 + afterMillis);
        String reset = reply.header("X-RateLimit-Reset");
        rows.add("%d %s %s -> %d, %s of %s, reset +%s, retry %s"
                .formatted(
                        afterMillis,
                        request.path(),
                        request.token(),
                        reply.status(),
                        reply.header("X-RateLimit-Remaining"),
                        reply.header("X-RateLimit-Limit"),
                        reset == null ? null : Long.parseLong(reset) - W0 / 1000,
                        reply.header("Retry-After")));
    }

    @Test
    void an_aligned_window_starts_at_whole_multiples_of_its_length() {
        start(ServiceRules.create().limit("/x", ServerLimit.alignedWindow(2, Duration.ofSeconds(10))));
        SimulatedRequest x = SimulatedRequest.get("/x");

        row(9_000, x);
        row(9_500, x);
        row(9_999, x);
        row(10_000, x);

        assertThat(rows)
                .containsExactly(
                        "9000 /x anon -> 200, 1 of 2, reset +10, retry null",
                        "9500 /x anon -> 200, 0 of 2, reset +10, retry null",
                        "9999 /x anon -> 429, 0 of 2, reset +10, retry 1",
                        "10000 /x anon -> 200, 1 of 2, reset +20, retry null");
    }

    @Test
    void a_bucket_is_full_at_first_and_refills_steadily() {
        start(ServiceRules.create().limit("/x", ServerLimit.bucket(2, 3, Duration.ofSeconds(10))));
        SimulatedRequest x = SimulatedRequest.get("/x");

        row(0, x);
        row(0, x);
        row(3_333, x);
        row(3_334, x);
        row(6_666, x);
        row(6_667, x);

        assertThat(rows)
                .containsExactly(
                        "0 /x anon -> 200, 1 of 2, reset +3, retry null",
                        "0 /x anon -> 200, 0 of 2, reset +6, retry null",
                        "3333 /x anon -> 429, 0 of 2, reset +6, retry 1",
                        "3334 /x anon -> 200, 0 of 2, reset +10, retry null",
                        "6666 /x anon -> 429, 0 of 2, reset +10, retry 1",
                        "6667 /x anon -> 200, 0 of 2, reset +13, retry null");
    }

    @Test
    void what_is_in_flight_has_no_quota_but_a_time_to_wait() {
        start(ServiceRules.create().limit("/x", ServerLimit.inFlight(1, Duration.ofSeconds(3))));

        row(0, SimulatedRequest.get("/x"));
        row(1, SimulatedRequest.get("/x"));
        row(3_000, SimulatedRequest.get("/x"));

        assertThat(rows)
                .containsExactly(
                        "0 /x anon -> 200, null of null, reset +null, retry null",
                        "1 /x anon -> 429, null of null, reset +null, retry 3",
                        "3000 /x anon -> 200, null of null, reset +null, retry null");
    }

    @Test
    void a_service_without_hints_tells_neither_quota_nor_time() {
        start(ServiceRules.create().limit("/x", 1, Duration.ofSeconds(10)).withoutHints());

        row(0, SimulatedRequest.get("/x"));
        row(0, SimulatedRequest.get("/x"));

        assertThat(rows)
                .containsExactly(
                        "0 /x anon -> 200, null of null, reset +null, retry null",
                        "0 /x anon -> 429, null of null, reset +null, retry null");
    }

    @Test
    void a_service_whose_clock_is_wrong_goes_by_it_and_tells_it() {
        start(ServiceRules.create()
                .limit("/x", ServerLimit.alignedWindow(1, Duration.ofSeconds(10)))
                .clockAhead(Duration.ofSeconds(-63)));

        assertThat(service.answer(SimulatedRequest.get("/x"), W0).header("Date"))
                .isEqualTo("Wed, 31 Dec 2025 23:58:57 GMT");
        row(2_999, SimulatedRequest.get("/x"));
        row(3_000, SimulatedRequest.get("/x"));

        assertThat(rows)
                .containsExactly(
                        "2999 /x anon -> 429, 0 of 1, reset +-60, retry 1",
                        "3000 /x anon -> 200, 0 of 1, reset +-50, retry null");
        assertThat(service.log().entries().get(0).at().toEpochMilli()).isEqualTo(W0);
    }

    @Test
    void a_bucket_that_no_long_can_count_is_refused_with_its_figures() {
        assertThatThrownBy(() -> ServerLimit.bucket(1_000_000_000, 1, Duration.ofDays(365)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("1000000000 over PT8760H");
        ServerLimit.bucket(1_000_000, 1, Duration.ofDays(365));
        Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
        assertThatThrownBy(() -> ServerLimit.bucket(1, 1, endless))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith("was " + endless);
        assertThatThrownBy(() -> ServerLimit.slidingWindow(1, endless)).isInstanceOf(IllegalArgumentException.class);
    }
}
