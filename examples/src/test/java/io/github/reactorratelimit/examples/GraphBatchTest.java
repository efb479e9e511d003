package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.BatchOutcome;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Presets;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.examples.GraphBatch.Answer;
import io.github.reactorratelimit.examples.GraphBatch.Part;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.InVirtualTime;
import io.github.reactorratelimit.test.OneNoteRules;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.SimulatedRequest;
import io.github.reactorratelimit.test.SimulatedResponse;
import io.github.reactorratelimit.test.SimulatedService;
import io.github.reactorratelimit.test.VirtualTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.netty.http.client.HttpClient;

@InVirtualTime
class GraphBatchTest {

    private static final String BATCH = "/v1.0/$batch";

    /** Of the twenty, 4 and 16 are refused, 8 and 13 fail; what depends on a failed one is not counted. */
    private static final OneNoteRules TROUBLED = OneNoteRules.create()
            .fault(Fault.nth(4, Reply.status(429).header("Retry-After", "7")))
            .fault(Fault.nth(8, Reply.status(502)))
            .fault(Fault.nth(11, Reply.status(503)))
            .fault(Fault.nth(14, Reply.status(429).header("Retry-After", "3")));

    private final VirtualTime time;

    GraphBatchTest(VirtualTime time) {
        this.time = time;
    }

    /** Twenty parts; 9 and 10 depend on 8, which fails at first, 20 on 19, which doesn't, and 17 and 18 on 16. */
    private static List<Part> twenty() {
        Map<Integer, String> parents = Map.of(9, "8", 10, "9", 17, "16", 18, "16", 20, "19");
        return IntStream.rangeClosed(1, 20)
                .mapToObj(n -> new Part(
                        "" + n,
                        "GET",
                        "/me/onenote/pages/" + n,
                        parents.containsKey(n) ? List.of(parents.get(n)) : List.of()))
                .toList();
    }

    private static List<String> asked(RequestLog log) {
        return log.entries().stream()
                .map(RequestLog.Entry::endpoint)
                .filter(endpoint -> !endpoint.equals(BATCH))
                .toList();
    }

    /** How often each part was served, and how often it came over the wire at all. */
    private static Map<String, Long> counts(RequestLog log, boolean servedOnly) {
        return log.entries().stream()
                .filter(entry -> entry.endpoint().startsWith("/me/onenote/pages/"))
                .filter(entry -> !servedOnly || entry.status() == 200)
                .collect(Collectors.groupingBy(
                        entry -> entry.endpoint().substring("/me/onenote/pages/".length()),
                        TreeMap::new,
                        Collectors.counting()));
    }

    private static void assertNothingLostNothingDoubled(List<BatchOutcome<Answer>> outcomes, RequestLog log) {
        assertThat(outcomes.stream().map(outcome -> outcome.answer().orElseThrow()))
                .extracting(answer -> answer.id() + " " + answer.status())
                .containsExactlyElementsOf(
                        IntStream.rangeClosed(1, 20).mapToObj(n -> n + " 200").toList());
        assertThat(counts(log, true))
                .hasSize(20)
                .allSatisfy((part, served) -> assertThat(served).isEqualTo(1));
        Map<String, Long> wire = counts(log, false);
        assertThat(outcomes.stream()
                        .collect(Collectors.toMap(
                                outcome -> outcome.answer().orElseThrow().id(), outcome -> (long) outcome.sends())))
                .isEqualTo(wire);
    }

    /** Room for a batch of twenty, which OneNote's five in flight are not. */
    private static RateLimiterSpec roomy() {
        return RateLimiter.named("graph").limit(Limit.of(1_000, ofMinutes(1))).dialect(Dialects.microsoftGraph());
    }

    private List<BatchOutcome<Answer>> send(RateLimiter limiter, SimulatedService service, List<Part> parts) {
        GraphBatch graph = new GraphBatch(
                limiter,
                body -> service.call(SimulatedRequest.post(BATCH).token("anna").body(body))
                        .flatMap(SimulatedResponse::bodyAsString));
        List<List<BatchOutcome<Answer>>> result = new ArrayList<>();
        graph.send(parts, "anna").subscribe(result::add);
        time.advance(Duration.ofHours(1));
        return result.get(0);
    }

    @Test
    void of_twenty_parts_only_those_that_were_refused_or_failed_are_sent_again() { // B40
        SimulatedService service = TROUBLED.simulate().on(time::scheduler).latency(ofMillis(50), ofMillis(50));
        RateLimiter limiter = time.limiter(roomy().jitter(0));

        List<BatchOutcome<Answer>> outcomes = send(limiter, service, twenty());

        assertNothingLostNothingDoubled(outcomes, service.log());
        assertThat(service.log().countsByStatus()).isEqualTo(Map.of(200, 2 + 20, 429, 2, 502, 1, 503, 1, 424, 4));
        assertThat(service.log().count(BATCH)).isEqualTo(2);
        assertThat(asked(service.log())).hasSize(28);
        assertThat(asked(service.log()).subList(20, 28))
                .extracting(endpoint -> endpoint.substring("/me/onenote/pages/".length()))
                .containsExactly("4", "8", "9", "10", "13", "16", "17", "18");
    }

    @Test
    void the_longest_hint_of_its_parts_is_waited_for() {
        SimulatedService service = TROUBLED.simulate().on(time::scheduler).latency(ofMillis(50), ofMillis(50));
        send(time.limiter(roomy().jitter(0)), service, twenty());
        List<RequestLog.Entry> batches = service.log().entries(BATCH);
        assertThat(Duration.between(batches.get(0).at(), batches.get(1).at())).isEqualTo(ofMillis(7_100));
    }

    @Test
    void the_same_over_a_real_socket() {
        OneNoteRules rules = OneNoteRules.create()
                .fault(Fault.nth(4, Reply.status(429).header("Retry-After", "1")))
                .fault(Fault.nth(8, Reply.status(502)))
                .fault(Fault.nth(11, Reply.status(503)))
                .fault(Fault.nth(14, Reply.status(429)));
        try (RateLimitedServer server = rules.start()) {
            HttpClient http = HttpClient.create().baseUrl(server.baseUrl());
            List<BatchOutcome<Answer>> outcomes =
                    Objects.requireNonNull(new GraphBatch(roomy().build(), GraphBatch.over(http, "anna"))
                            .send(twenty(), "anna")
                            .block(ofSeconds(30)));
            assertNothingLostNothingDoubled(outcomes, server.log());
            assertThat(server.log().count(BATCH)).isEqualTo(2);
            assertThat(asked(server.log())).hasSize(28);
        }
    }

    @Test
    void under_one_notes_limits_a_batch_is_as_large_as_five_in_flight() {
        SimulatedService service = OneNoteRules.create()
                .takes(ofMillis(200))
                .simulate()
                .on(time::scheduler)
                .latency(ofMillis(50), ofMillis(50));
        List<BatchOutcome<Answer>> outcomes = send(time.limiter(Presets.oneNote()), service, twenty());
        assertNothingLostNothingDoubled(outcomes, service.log());
        assertThat(service.log().count(BATCH)).isGreaterThanOrEqualTo(4);
        assertThat(service.log().count(429)).isZero();
    }

    @Test
    void a_batch_that_the_service_throttles_waits_without_a_hint_and_loses_nothing() {
        SimulatedService service =
                OneNoteRules.create().simulate().on(time::scheduler).latency(ofMillis(50), ofMillis(50));
        for (int i = 0; i < 110; i++) {
            service.call(SimulatedRequest.get("/somebody/else").token("anna")).subscribe();
        }
        List<BatchOutcome<Answer>> outcomes = send(time.limiter(roomy()), service, twenty());
        assertThat(outcomes).allMatch(outcome -> outcome.failure().isEmpty());
        assertThat(counts(service.log(), true)).containsEntry("1", 1L).containsEntry("20", 1L);
    }
}
