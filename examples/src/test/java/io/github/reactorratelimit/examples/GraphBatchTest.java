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
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.InVirtualTime;
import io.github.reactorratelimit.test.OneNoteRules;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.ServiceRules;
import io.github.reactorratelimit.test.SimulatedRequest;
import io.github.reactorratelimit.test.SimulatedService;
import io.github.reactorratelimit.test.VirtualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
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

    private static Mono<GraphBatch.Response> post(SimulatedService service, String body) {
        return service.call(SimulatedRequest.post(BATCH).token("anna").body(body))
                .flatMap(response -> response.bodyAsString()
                        .map(text -> new GraphBatch.Response(response.status(), response.headers(), text)));
    }

    private List<BatchOutcome<Answer>> send(RateLimiter limiter, SimulatedService service, List<Part> parts) {
        return send(new GraphBatch(limiter, body -> post(service, body)), parts);
    }

    private List<BatchOutcome<Answer>> send(GraphBatch graph, List<Part> parts) {
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
        assertThat(service.log().countsByStatus()).isEqualTo(Map.of(200, 3 + 20, 429, 2, 502, 1, 503, 1, 424, 4));
        assertThat(service.log().count(BATCH)).isEqualTo(3);
        assertThat(asked(service.log())).hasSize(28);
        assertThat(asked(service.log()).subList(20, 28))
                .extracting(endpoint -> endpoint.substring("/me/onenote/pages/".length()))
                .containsExactly("4", "8", "13", "16", "9", "10", "17", "18");
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
            assertThat(server.log().count(BATCH)).isEqualTo(3);
            assertThat(asked(server.log())).hasSize(28);
        }
    }

    /** Twenty pages to be made, of which the 4th is refused and the 9th fails. */
    private static List<Part> pages() {
        return IntStream.rangeClosed(1, 20)
                .mapToObj(n -> new Part("" + n, "POST", "/me/onenote/pages/" + n, List.of()))
                .toList();
    }

    private static OneNoteRules refusing() {
        return OneNoteRules.create()
                .fault(Fault.nth(4, Reply.status(429).header("Retry-After", "1")))
                .fault(Fault.nth(9, Reply.status(502)));
    }

    private static void assertTheFailedPageIsTheOnlyOneThatIsMissing(
            List<BatchOutcome<Answer>> outcomes, RequestLog log) {
        assertThat(outcomes.stream().map(outcome -> outcome.answer().orElseThrow()))
                .extracting(Answer::status)
                .containsExactly(
                        200, 200, 200, 200, 200, 200, 200, 200, 502, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200,
                        200);
        assertThat(counts(log, false)).hasSize(20).containsEntry("4", 2L).containsEntry("9", 1L);
        assertThat(counts(log, true))
                .hasSize(19)
                .allSatisfy((page, made) -> assertThat(made).isEqualTo(1));
        assertThat(asked(log)).hasSize(21);
        assertThat(log.count(BATCH)).isEqualTo(2);
    }

    @Test
    void a_page_that_was_refused_is_made_once_and_one_that_failed_is_not_made_again() {
        SimulatedService service = refusing().simulate().on(time::scheduler).latency(ofMillis(50), ofMillis(50));
        assertTheFailedPageIsTheOnlyOneThatIsMissing(send(time.limiter(roomy()), service, pages()), service.log());
        try (RateLimitedServer server = refusing().start()) {
            HttpClient http = HttpClient.create().baseUrl(server.baseUrl());
            assertTheFailedPageIsTheOnlyOneThatIsMissing(
                    Objects.requireNonNull(new GraphBatch(roomy().build(), GraphBatch.over(http, "anna"))
                            .send(pages(), "anna")
                            .block(ofSeconds(30))),
                    server.log());
        }
    }

    /** Some read, some write, and some depend on another. */
    private static List<Part> mixed(Random random) {
        return IntStream.rangeClosed(1, 20)
                .mapToObj(n -> new Part(
                        "" + n,
                        random.nextInt(3) == 0 ? "POST" : "GET",
                        "/me/onenote/pages/" + n,
                        n > 1 && random.nextInt(3) == 0 ? List.of("" + (1 + random.nextInt(n - 1))) : List.of()))
                .toList();
    }

    private static OneNoteRules troubled(Random random) {
        OneNoteRules rules = OneNoteRules.create();
        for (int n = 1; n <= 20; n++) {
            Reply reply = switch (random.nextInt(10)) {
                case 0 -> Reply.status(429);
                case 1 -> Reply.status(429).header("Retry-After", "" + random.nextInt(9));
                case 2 -> Reply.status(502);
                case 3 -> Reply.status(503);
                case 4 -> Reply.status(504);
                default -> null;
            };
            rules = reply == null ? rules : rules.fault(Fault.nth(n, reply));
        }
        return rules;
    }

    @Test
    void whatever_goes_wrong_with_twenty_parts_nothing_is_lost_and_nothing_doubled() {
        for (int seed = 0; seed < 100; seed++) {
            Random random = new Random(seed);
            SimulatedService service =
                    troubled(random).simulate().on(time::scheduler).latency(ofMillis(50), ofMillis(50));
            List<Part> parts = mixed(random);
            List<BatchOutcome<Answer>> outcomes = send(time.limiter(roomy()), service, parts);
            Map<String, Long> wire = counts(service.log(), false);
            Map<String, Long> served = counts(service.log(), true);
            for (int i = 0; i < 20; i++) {
                Part part = parts.get(i);
                BatchOutcome<Answer> outcome = outcomes.get(i);
                boolean made = served.containsKey(part.id());
                assertThat(outcome.sends())
                        .as("wire of %s, seed %d", part, seed)
                        .isEqualTo(wire.getOrDefault(part.id(), 0L).intValue());
                assertThat(served.getOrDefault(part.id(), 0L))
                        .as("served of %s, seed %d", part, seed)
                        .isLessThanOrEqualTo(1);
                assertThat(outcome.answer()
                                .map(Answer::status)
                                .filter(status -> status == 200)
                                .isPresent())
                        .as("outcome of %s, seed %d", part, seed)
                        .isEqualTo(made);
                boolean read = part.method().equals("GET") && part.dependsOn().isEmpty();
                assertThat(made || !read).as("%s, seed %d", part, seed).isTrue();
            }
        }
    }

    @Test
    void a_batch_that_is_refused_as_a_whole_is_sent_again_whole() {
        SimulatedService service =
                OneNoteRules.create().simulate().on(time::scheduler).latency(ofMillis(50), ofMillis(50));
        Instant start = time.wallNow();
        List<Duration> sent = new ArrayList<>();
        GraphBatch graph = new GraphBatch(time.limiter(roomy().jitter(0)), body -> {
            sent.add(Duration.between(start, time.wallNow()));
            return sent.size() == 1
                    ? Mono.just(new GraphBatch.Response(429, Headers.of("Retry-After", "6"), "{\"error\":{}}"))
                    : post(service, body);
        });
        List<BatchOutcome<Answer>> outcomes = send(graph, pages());
        assertThat(outcomes).allMatch(outcome -> outcome.failure().isEmpty() && outcome.sends() == 2);
        assertThat(counts(service.log(), true)).hasSize(20);
        assertThat(sent).containsExactly(Duration.ZERO, ofSeconds(6));
    }

    @Test
    void a_batch_with_a_status_of_its_own_keeps_it_over_a_real_socket() {
        try (RateLimitedServer server = ServiceRules.create()
                .fault(BATCH, Fault.always(Reply.status(502)))
                .start()) {
            HttpClient http = HttpClient.create().baseUrl(server.baseUrl());
            List<BatchOutcome<Answer>> outcomes =
                    Objects.requireNonNull(new GraphBatch(roomy().build(), GraphBatch.over(http, "anna"))
                            .send(pages(), "anna")
                            .block(ofSeconds(30)));
            assertThat(outcomes)
                    .hasSize(20)
                    .allSatisfy(outcome -> assertThat(outcome.failure())
                            .get()
                            .isInstanceOf(GraphBatch.NoAnswers.class)
                            .extracting(Throwable::getMessage)
                            .isEqualTo("the batch was answered with a 502"));
            assertThat(server.log().count()).isEqualTo(1);
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
