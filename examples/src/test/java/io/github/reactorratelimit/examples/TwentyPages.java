package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.BatchOutcome;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.examples.GraphBatch.Answer;
import io.github.reactorratelimit.examples.GraphBatch.Part;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.OneNoteRules;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Twenty parts of one batch, a service that refuses some of them, and what must be true of them in the end. */
final class TwentyPages {

    static final String BATCH = "/v1.0/$batch";

    /** Of the twenty, 4 and 16 are refused, 8 and 13 fail; what depends on a failed one is not counted. */
    static final OneNoteRules TROUBLED = OneNoteRules.create()
            .fault(Fault.nth(4, Reply.status(429).header("Retry-After", "7")))
            .fault(Fault.nth(8, Reply.status(502)))
            .fault(Fault.nth(11, Reply.status(503)))
            .fault(Fault.nth(14, Reply.status(429).header("Retry-After", "3")));

    private TwentyPages() {}

    /** Twenty parts; 9 and 10 depend on 8, which fails at first, 20 on 19, which doesn't, and 17 and 18 on 16. */
    static List<Part> twenty() {
        Map<Integer, String> parents = Map.of(9, "8", 10, "9", 17, "16", 18, "16", 20, "19");
        return IntStream.rangeClosed(1, 20)
                .mapToObj(n -> new Part(
                        "" + n,
                        "GET",
                        "/me/onenote/pages/" + n,
                        parents.containsKey(n) ? List.of(parents.get(n)) : List.of()))
                .toList();
    }

    /** Twenty pages to be made, of which the 4th is refused and the 9th fails. */
    static List<Part> pages() {
        return IntStream.rangeClosed(1, 20)
                .mapToObj(n -> new Part("" + n, "POST", "/me/onenote/pages/" + n, List.of()))
                .toList();
    }

    static OneNoteRules refusing() {
        return OneNoteRules.create()
                .fault(Fault.nth(4, Reply.status(429).header("Retry-After", "1")))
                .fault(Fault.nth(9, Reply.status(502)));
    }

    static List<String> asked(RequestLog log) {
        return log.entries().stream()
                .map(RequestLog.Entry::endpoint)
                .filter(endpoint -> !endpoint.equals(BATCH))
                .toList();
    }

    /** How often each part was served, and how often it came over the wire at all. */
    static Map<String, Long> counts(RequestLog log, boolean servedOnly) {
        return log.entries().stream()
                .filter(entry -> entry.endpoint().startsWith("/me/onenote/pages/"))
                .filter(entry -> !servedOnly || entry.status() == 200)
                .collect(Collectors.groupingBy(
                        entry -> entry.endpoint().substring("/me/onenote/pages/".length()),
                        TreeMap::new,
                        Collectors.counting()));
    }

    static void assertNothingLostNothingDoubled(List<BatchOutcome<Answer>> outcomes, RequestLog log) {
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

    static void assertTheFailedPageIsTheOnlyOneThatIsMissing(List<BatchOutcome<Answer>> outcomes, RequestLog log) {
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

    /** Room for a batch of twenty, which OneNote's five in flight are not. */
    static RateLimiterSpec roomy() {
        return RateLimiter.named("graph").limit(Limit.of(1_000, ofMinutes(1))).dialect(Dialects.microsoftGraph());
    }
}
