package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.examples.TwentyPages.BATCH;
import static io.github.reactorratelimit.examples.TwentyPages.asked;
import static io.github.reactorratelimit.examples.TwentyPages.assertNothingLostNothingDoubled;
import static io.github.reactorratelimit.examples.TwentyPages.assertTheFailedPageIsTheOnlyOneThatIsMissing;
import static io.github.reactorratelimit.examples.TwentyPages.pages;
import static io.github.reactorratelimit.examples.TwentyPages.refusing;
import static io.github.reactorratelimit.examples.TwentyPages.roomy;
import static io.github.reactorratelimit.examples.TwentyPages.twenty;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.BatchOutcome;
import io.github.reactorratelimit.examples.GraphBatch.Answer;
import io.github.reactorratelimit.examples.GraphBatch.Part;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.OneNoteRules;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import reactor.netty.http.client.HttpClient;

/** As in {@link GraphBatchTest}, with a real client and a real server. */
class GraphBatchOverTheWireTest {

    private static List<BatchOutcome<Answer>> send(RateLimitedServer server, List<Part> parts) {
        HttpClient http = HttpClient.create().baseUrl(server.baseUrl());
        GraphBatch graph = new GraphBatch(roomy().build(), GraphBatch.over(http, "anna"));
        return Objects.requireNonNull(graph.send(parts, "anna").block(ofSeconds(30)));
    }

    @Test
    void of_twenty_parts_only_those_that_were_refused_or_failed_are_sent_again() {
        OneNoteRules rules = OneNoteRules.create()
                .fault(Fault.nth(4, Reply.status(429).header("Retry-After", "1")))
                .fault(Fault.nth(8, Reply.status(502)))
                .fault(Fault.nth(11, Reply.status(503)))
                .fault(Fault.nth(14, Reply.status(429)));
        try (RateLimitedServer server = rules.start()) {
            assertNothingLostNothingDoubled(send(server, twenty()), server.log());
            assertThat(server.log().count(BATCH)).isEqualTo(3);
            assertThat(asked(server.log())).hasSize(28);
        }
    }

    @Test
    void a_page_that_was_refused_is_made_once_and_one_that_failed_is_not_made_again() {
        try (RateLimitedServer server = refusing().start()) {
            assertTheFailedPageIsTheOnlyOneThatIsMissing(send(server, pages()), server.log());
        }
    }

    @Test
    void a_batch_with_a_status_of_its_own_keeps_it() {
        try (RateLimitedServer server = ServiceRules.create()
                .fault(BATCH, Fault.always(Reply.status(502)))
                .start()) {
            assertThat(send(server, pages()))
                    .hasSize(20)
                    .allSatisfy(outcome -> assertThat(outcome.failure())
                            .get()
                            .isInstanceOf(GraphBatch.NoAnswers.class)
                            .extracting(Throwable::getMessage)
                            .isEqualTo("the batch was answered with a 502"));
            assertThat(server.log().count()).isEqualTo(1);
        }
    }
}
