package io.github.reactorratelimit.test;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;

/** The service in virtual time, where answers take time and come in chunks. */
@InVirtualTime
class ChatInVirtualTimeTest {

    private static final SimulatedRequest WHOLE =
            ChatWire.chat("key", ChatWire.json("\"hello\"", ",\"max_tokens\":50"));
    private static final SimulatedRequest STREAM =
            ChatWire.chat("key", ChatWire.json("\"hello\"", ",\"max_tokens\":50,\"stream\":true"));

    private final VirtualTime time;
    private final ChatService service = ChatRules.create()
            .model(ChatModel.named("large")
                    .inFlight(1)
                    .price(1_000_000, 1_000_000)
                    .speed(Duration.ofMillis(400), Duration.ofMillis(20)))
            .service();

    /** What came, each with the time since the start. */
    private final List<Duration> heads = new ArrayList<>();

    private final List<Duration> pieces = new ArrayList<>();
    private final StringBuilder text = new StringBuilder();
    private final Instant start;

    ChatInVirtualTimeTest(VirtualTime time) {
        this.time = time;
        this.start = time.wallNow();
    }

    private Duration since() {
        return Duration.between(start, time.wallNow());
    }

    private Flux<byte[]> call(SimulatedRequest request) {
        return service.simulate()
                .on(time::scheduler)
                .call(request)
                .doOnNext(head -> heads.add(since()))
                .flatMapMany(SimulatedResponse::body)
                .doOnNext(piece -> {
                    pieces.add(since());
                    text.append(new String(piece, UTF_8));
                });
    }

    private Duration latency() {
        return service.ledger().calls().get(0).outcome().latency();
    }

    private int status() {
        call(STREAM).subscribe();
        List<ChatLedger.Call> calls = service.ledger().calls();
        return calls.get(calls.size() - 1).outcome().status();
    }

    @Test
    void an_answer_in_one_piece_comes_when_its_last_token_is_there() {
        call(WHOLE).subscribe();
        time.advance(Duration.ofMinutes(1));
        assertThat(heads).containsExactly(latency());
        assertThat(latency()).isBetween(Duration.ofMillis(200 + 6 * 10), Duration.ofMillis(600 + 50 * 30));
    }

    @Test
    void a_stream_has_its_head_at_the_first_token_and_its_chunks_as_they_come() {
        call(STREAM).subscribe();
        time.advance(Duration.ofMinutes(1));
        assertThat(heads.get(0)).isBetween(Duration.ofMillis(200), Duration.ofMillis(600));
        assertThat(pieces.get(0)).isEqualTo(heads.get(0));
        assertThat(pieces.get(pieces.size() - 1)).isEqualTo(latency()).isGreaterThan(heads.get(0));
        assertThat(pieces).isSorted();
        assertThat(pieces.stream().distinct().count()).isGreaterThanOrEqualTo(pieces.size() - 3L);
        assertThat(text).endsWith("data: [DONE]\n\n");
    }

    @Test
    void every_piece_of_a_stream_is_one_event() {
        List<String> events = new ArrayList<>();
        call(STREAM).map(piece -> new String(piece, UTF_8)).subscribe(events::add);
        time.advance(Duration.ofMinutes(1));
        assertThat(events).hasSizeGreaterThan(3).allMatch(event -> event.matches("data: \\V+\\n\\n"));
    }

    @Test
    void a_stream_is_in_flight_to_its_last_chunk() {
        call(STREAM).subscribe();
        Duration end = latency();
        time.advance(end.minusMillis(1));
        assertThat(heads).hasSize(1);
        assertThat(status()).isEqualTo(429);
        time.advance(Duration.ofMillis(1));
        assertThat(status()).isEqualTo(200);
        time.advance(Duration.ofMinutes(1));
    }

    @Test
    void a_stream_whose_caller_goes_is_in_flight_and_paid_to_its_end() {
        Disposable caller = call(STREAM).subscribe();
        time.advance(Duration.ofMillis(700));
        caller.dispose();
        assertThat(status()).isEqualTo(429);
        assertThat(service.ledger().microDollars())
                .isEqualTo(service.ledger().tokensUsed("large"))
                .isGreaterThanOrEqualTo(7);
        time.advance(latency());
        assertThat(status()).isEqualTo(200);
        time.advance(Duration.ofMinutes(1));
    }

    @Test
    void a_broken_stream_ends_with_its_error() {
        ChatService broken = ChatRules.create()
                .model(ChatModel.named("large").speed(Duration.ofMillis(400), Duration.ofMillis(20)))
                .completions(most -> most)
                .faultInStream(2, Fault.always(ChatError.OVERLOADED.reply(ChatDialect.OPENAI)))
                .service();
        List<String> ends = new ArrayList<>();
        broken.simulate()
                .on(time::scheduler)
                .call(STREAM)
                .flatMap(SimulatedResponse::bodyAsString)
                .subscribe(body -> ends.add(since() + " " + body.substring(body.lastIndexOf("data: "))));
        time.advance(Duration.ofMinutes(1));
        ChatOutcome outcome = broken.ledger().calls().get(0).outcome();
        assertThat(ends).hasSize(1);
        assertThat(ends.get(0)).startsWith(outcome.latency() + " data: {\"error\":{\"message\":\"Overloaded\"");
        assertThat(outcome.usage().completionTokens()).isBetween(2L, 16L);
    }
}
