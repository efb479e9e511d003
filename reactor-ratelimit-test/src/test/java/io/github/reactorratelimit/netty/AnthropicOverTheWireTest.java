package io.github.reactorratelimit.netty;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import io.github.reactorratelimit.test.VirtualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A conversation with Anthropic's messages, in streams, with the limiter in virtual time. */
@ExtendWith(NoLeaks.class)
class AnthropicOverTheWireTest {

    private static final Instant NOON = Instant.parse("2026-03-04T12:00:00Z");
    private static final Pattern USAGE = Pattern.compile("\"(in|out)put_tokens\":(\\d+)");
    private static final Pattern TEXT = Pattern.compile("\"text\":\"(\\w+)\"");

    private static final String START = event(
            "message_start",
            "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}");
    private static final String HELLO = event(
            "content_block_delta",
            "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}");
    private static final String USED =
            event("message_delta", "{\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}");
    private static final String STOP = event("message_stop", "{\"type\":\"message_stop\"}");
    private static final String OVERLOADED =
            event("error", "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}");

    private final VirtualTime time = VirtualTime.startingAt(NOON);

    private static String event(String name, String data) {
        return "event: " + name + "\ndata: " + data + "\n\n";
    }

    private static Reply quotas(Reply reply, int input, int output) {
        return reply.header("Date", "Wed, 04 Mar 2026 12:00:00 GMT")
                .header("anthropic-ratelimit-input-tokens-limit", "1000")
                .header("anthropic-ratelimit-input-tokens-remaining", "" + input)
                .header("anthropic-ratelimit-input-tokens-reset", "2026-03-04T12:01:00Z")
                .header("anthropic-ratelimit-output-tokens-limit", "200")
                .header("anthropic-ratelimit-output-tokens-remaining", "" + output)
                .header("anthropic-ratelimit-output-tokens-reset", "2026-03-04T12:00:30Z");
    }

    private static Reply stream(String... events) {
        return quotas(Reply.ok(), 900, 150)
                .header("Content-Type", "text/event-stream; charset=utf-8")
                .body(String.join("", events));
    }

    private Wire wire(Reply... replies) {
        RateLimiter api = time.limiter(RateLimiter.named("anthropic")
                .limit(
                        Limit.inFlight(Wire.IN_FLIGHT),
                        Limit.of(1_000, ofMinutes(1)).unit("input-tokens"),
                        Limit.of(200, ofMinutes(1)).unit("output-tokens"))
                .jitter(0)
                .dialect(Dialects.anthropic()));
        return Wire.to(ServiceRules.create().script("/v1/messages", replies), api, calls -> calls);
    }

    private static Demand demand() {
        return Demand.one().cost("input-tokens", 40).cost("output-tokens", 100);
    }

    /** The words of an answer. The usage of its beginning is that of the prompt; the last one has all of the answer. */
    private static Flux<String> ask(Wire wire) {
        return wire.api.useMany(source -> demand(), exchange -> {
            long[] used = {-1, -1};
            return RateLimitedHttpClient.of(wire.plain, exchange)
                    .post()
                    .uri("/v1/messages")
                    .body("{\"stream\":true,\"max_tokens\":100}")
                    .response((response, content) ->
                            events(content.asString(UTF_8)).concatMap(event -> word(exchange, event, used)))
                    .doOnComplete(() -> {
                        exchange.settle("input-tokens", used[0]);
                        exchange.settle("output-tokens", used[1]);
                    });
        });
    }

    private static Flux<String> events(Flux<String> pieces) {
        StringBuilder rest = new StringBuilder();
        return pieces.concatMapIterable(piece -> {
            rest.append(piece);
            List<String> whole = new ArrayList<>();
            for (int end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
                whole.add(rest.substring(0, end + 2));
                rest.delete(0, end + 2);
            }
            return whole;
        });
    }

    private static Mono<String> word(Exchange exchange, String event, long[] used) {
        RateLimitSignal signal = Dialects.anthropic()
                .readBody(200, Headers.of("Content-Type", "text/event-stream"), event.getBytes(UTF_8), 0);
        if (signal.throttled()) {
            exchange.hear(signal);
            return Mono.error(new IllegalStateException(event));
        }
        for (Matcher usage = USAGE.matcher(event); usage.find(); ) {
            used["in".equals(usage.group(1)) ? 0 : 1] = Long.parseLong(usage.group(2));
        }
        Matcher text = TEXT.matcher(event);
        return text.find() ? Mono.just(text.group(1)) : Mono.empty();
    }

    private static long left(Wire wire, int limit) {
        return wire.api.snapshot().root().limits().get(limit).available();
    }

    @Test
    void a_stream_is_settled_by_the_prompt_of_its_beginning_and_the_answer_of_its_last_usage() {
        try (Wire wire = wire(stream(START, HELLO, USED, STOP))) {
            assertThat(ask(wire).collectList().block(Wire.PATIENCE)).containsExactly("Hello");
            assertThat(left(wire, 1)).isEqualTo(1_000 - 25);
            assertThat(left(wire, 2)).isEqualTo(200 - 15);
            wire.assertIdle();
        }
    }

    @Test
    void an_overload_within_a_stream_ends_it_stays_charged_and_closes_the_scope_for_those_who_come_later() {
        try (Wire wire = wire(stream(START, HELLO, OVERLOADED), stream(START, HELLO, USED, STOP))) {
            List<String> words = new ArrayList<>();
            assertThat(Wire.failure(ask(wire).doOnNext(words::add))).hasMessageContaining("overloaded_error");
            assertThat(words).containsExactly("Hello");
            assertThat(wire.wire()).as("never sent again after an element").isOne();
            assertThat(left(wire, 1)).isEqualTo(1_000 - 40);
            assertThat(left(wire, 2)).isEqualTo(200 - 100);
            assertThat(wire.api.snapshot().root().closedFor()).isEqualTo(ofSeconds(1));
            time.advance(ofSeconds(1));
            assertThat(ask(wire).collectList().block(Wire.PATIENCE)).containsExactly("Hello");
        }
    }

    @Test
    void a_529_at_the_head_is_waited_for_and_the_call_sent_again() {
        Reply overloaded = Reply.status(529).body("{\"error\":{\"type\":\"overloaded_error\"}}");
        try (Wire wire = wire(overloaded, stream(START, HELLO, USED, STOP))) {
            var words = ask(wire).collectList().toFuture();
            Wire.await(() -> wire.api.snapshot().waiting() == 1);
            Duration closed = wire.api.snapshot().root().closedFor();
            assertThat(closed).isEqualTo(ofSeconds(1));
            time.advance(closed);
            Wire.await(words::isDone);
            assertThat(words).isCompletedWithValue(List.of("Hello"));
        }
    }

    @Test
    void of_the_quotas_of_input_and_output_the_one_that_is_empty_says_how_long() {
        try (Wire wire = wire(quotas(Reply.status(429), 800, 0), stream(START, HELLO, USED, STOP))) {
            var words = ask(wire).collectList().toFuture();
            Wire.await(() -> wire.api.snapshot().waiting() == 1);
            Duration closed = wire.api.snapshot().root().closedFor();
            assertThat(closed).isBetween(ofSeconds(30), ofSeconds(31));
            Decision refused = wire.api.tryAcquire(demand());
            assertThat(refused.allowed()).isFalse();
            time.advance(closed);
            Wire.await(words::isDone);
            assertThat(words).isCompletedWithValue(List.of("Hello"));
        }
    }

    @Test
    void a_reader_that_leaves_after_a_word_has_paid_for_all_and_holds_nothing() {
        try (Wire wire = wire(stream(START, HELLO, HELLO, USED, STOP))) {
            assertThat(ask(wire).next().block(Wire.PATIENCE)).isEqualTo("Hello");
            Wire.await(() -> wire.permits() == Wire.IN_FLIGHT);
            assertThat(left(wire, 1)).isEqualTo(1_000 - 40);
            assertThat(left(wire, 2)).isEqualTo(200 - 100);
        }
    }
}
