package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.examples.TwentyPages.BATCH;
import static io.github.reactorratelimit.examples.TwentyPages.TROUBLED;
import static io.github.reactorratelimit.examples.TwentyPages.asked;
import static io.github.reactorratelimit.examples.TwentyPages.assertNothingLostNothingDoubled;
import static io.github.reactorratelimit.examples.TwentyPages.assertTheFailedPageIsTheOnlyOneThatIsMissing;
import static io.github.reactorratelimit.examples.TwentyPages.counts;
import static io.github.reactorratelimit.examples.TwentyPages.pages;
import static io.github.reactorratelimit.examples.TwentyPages.refusing;
import static io.github.reactorratelimit.examples.TwentyPages.roomy;
import static io.github.reactorratelimit.examples.TwentyPages.twenty;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.BatchOutcome;
import io.github.reactorratelimit.Presets;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.examples.GraphBatch.Answer;
import io.github.reactorratelimit.examples.GraphBatch.Part;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.InVirtualTime;
import io.github.reactorratelimit.test.OneNoteRules;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.SimulatedRequest;
import io.github.reactorratelimit.test.SimulatedService;
import io.github.reactorratelimit.test.VirtualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

@InVirtualTime
class GraphBatchTest {

    private final VirtualTime time;

    GraphBatchTest(VirtualTime time) {
        this.time = time;
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
    void a_page_that_was_refused_is_made_once_and_one_that_failed_is_not_made_again() {
        SimulatedService service = refusing().simulate().on(time::scheduler).latency(ofMillis(50), ofMillis(50));
        assertTheFailedPageIsTheOnlyOneThatIsMissing(send(time.limiter(roomy()), service, pages()), service.log());
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
