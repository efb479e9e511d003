package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.PriceTable;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.examples.ChatClient.Answer;
import io.github.reactorratelimit.examples.ChatClient.Model;
import io.github.reactorratelimit.examples.ChatClient.Prompt;
import io.github.reactorratelimit.test.ChatDialect;
import io.github.reactorratelimit.test.ChatError;
import io.github.reactorratelimit.test.ChatModel;
import io.github.reactorratelimit.test.ChatRules;
import io.github.reactorratelimit.test.ChatService;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ScriptedApi;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.netty.http.client.HttpClient;
import reactor.test.StepVerifier;

/** The chat client against the simulated service, over a socket. */
class ChatClientTest {

    private static final Prompt SHORT = new Prompt("What is a token bucket?", 50);
    private static final List<Model> MODELS =
            List.of(new Model("gpt-large", 3, 100_000), new Model("deepseek", 100, 100_000));

    private final Spend spend = new Spend();

    private static ChatRules rules() {
        return ChatRules.create()
                .key("key")
                .completions(most -> 40)
                .model(ChatModel.named("gpt-large")
                        .requestsPerMinute(3)
                        .slidingWindow()
                        .price(8_000_000, 8_000_000))
                .model(ChatModel.named("deepseek")
                        .requestsPerMinute(100)
                        .slidingWindow()
                        .price(420_000, 420_000));
    }

    private static ChatClient client(RateLimitedServer server, RateLimiter limiter) {
        HttpClient http = HttpClient.newConnection().baseUrl(server.baseUrl());
        return new ChatClient(http, "key", limiter, ofMillis(200), MODELS);
    }

    @Test
    void the_cheaper_model_answers_what_the_preferred_one_has_no_room_for() {
        ChatService service = rules().service();
        try (RateLimitedServer server = service.start()) {
            RateLimiter limiter = ChatClient.limits(MODELS, 1, spend).build();
            ChatClient client = client(server, limiter);
            List<String> answers = requireNonNull(Flux.range(0, 10)
                    .concatMap(n -> client.ask(SHORT))
                    .map(Answer::model)
                    .collectList()
                    .block(ofSeconds(20)));

            assertThat(answers)
                    .startsWith("gpt-large", "gpt-large", "gpt-large")
                    .hasSize(10);
            assertThat(answers.subList(3, 10)).containsOnly("deepseek");
            assertThat(service.ledger().count(429)).isZero();
            // 6 tokens of the prompt and 40 of the answer
            assertThat(spend.microDollars()).isEqualTo(Map.of("gpt-large", 3 * 46 * 8L, "deepseek", 7 * 20L));
            assertThat(limiter.snapshot().root().limits().get(0).available())
                    .isEqualTo(1_000_000 - 3 * 46 * 8 - 7 * 20);
        }
    }

    @Test
    void a_quota_that_is_used_up_for_good_goes_to_the_next_model_at_once() {
        ChatService service = rules().fault(Fault.nth(1, ChatError.INSUFFICIENT_QUOTA.reply(ChatDialect.OPENAI)))
                .service();
        try (RateLimitedServer server = service.start()) {
            ChatClient client =
                    client(server, ChatClient.limits(MODELS, 1, spend).build());
            StepVerifier.create(client.ask(SHORT).map(Answer::model))
                    .expectNext("deepseek")
                    .expectComplete()
                    .verify(ofSeconds(20));
            assertThat(service.ledger().count()).isEqualTo(2);
        }
    }

    @Test
    void a_stream_comes_in_pieces_and_is_settled_by_its_last() {
        ChatService service = rules().service();
        try (RateLimitedServer server = service.start()) {
            RateLimiter limiter = ChatClient.limits(MODELS, 1, spend).build();
            ChatClient client = client(server, limiter);
            List<String> pieces = client.stream(SHORT).collectList().block(ofSeconds(20));
            assertThat(pieces).hasSizeGreaterThan(1);
            assertThat(spend.microDollars()).isEqualTo(Map.of("gpt-large", 46 * 8L));
            assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(1_000_000 - 46 * 8);
        }
    }

    private void spentIsWhatIsGone(RateLimiter limiter) {
        long spent = spend.microDollars().values().stream()
                .mapToLong(Long::longValue)
                .sum();
        assertThat(left(limiter)).isEqualTo(1_000_000 - spent);
    }

    @Test
    void a_stream_that_is_cut_off_is_charged_with_the_most_that_it_can_have_cost() {
        ChatService service = rules().faultInStream(2, Fault.nth(3, ChatError.SERVER_ERROR.reply(ChatDialect.OPENAI)))
                .service();
        try (RateLimitedServer server = service.start()) {
            RateLimiter limiter = ChatClient.limits(MODELS, 1, spend).build();
            ChatClient client = client(server, limiter);
            assertThat(client.stream(SHORT).blockFirst(ofSeconds(20))).isNotNull(); // And cancels the rest.
            assertThat(spend.microDollars()).isEqualTo(Map.of("gpt-large", 56 * 8L));
            assertThat(client.stream(SHORT).collectList().block(ofSeconds(20))).isNotEmpty();
            assertThat(spend.microDollars()).isEqualTo(Map.of("gpt-large", (56 + 46) * 8L));
            StepVerifier.create(client.stream(SHORT))
                    .thenConsumeWhile(piece -> true)
                    .expectErrorSatisfies(error -> assertThat(error).hasMessageContaining("server_error"))
                    .verify(ofSeconds(20));
            assertThat(spend.microDollars()).isEqualTo(Map.of("gpt-large", (56 + 46 + 56) * 8L));
            spentIsWhatIsGone(limiter);
        }
    }

    @Test
    void a_call_that_was_refused_costs_nothing() {
        ChatService service = rules().fault(Fault.first(2, ChatError.RATE_LIMIT_EXCEEDED.reply(ChatDialect.OPENAI)))
                .service();
        try (RateLimitedServer server = service.start()) {
            RateLimiter limiter = ChatClient.limits(MODELS, 1, spend).build();
            Answer answer = requireNonNull(client(server, limiter).ask(SHORT).block(ofSeconds(20)));
            assertThat(service.ledger().count()).isGreaterThan(1);
            assertThat(spend.microDollars()).isEqualTo(Map.of(answer.model(), answer.microDollars()));
            spentIsWhatIsGone(limiter);
        }
    }

    @Test
    void a_budget_that_is_spent_stops_every_model() {
        try (RateLimitedServer server = rules().service().start()) {
            List<Model> models = List.of(new Model("gpt-large", 3, 1_000_000), new Model("deepseek", 100, 1_000_000));
            RateLimiter limiter = ChatClient.limits(models, 1, spend).build();
            HttpClient http = HttpClient.newConnection().baseUrl(server.baseUrl());
            ChatClient client = new ChatClient(http, "key", limiter, ofMillis(200), models);
            limiter.tryAcquire(Demand.of("model", "gpt-large").cost(PriceTable.UNIT, 999_990));
            StepVerifier.create(client.ask(SHORT))
                    .expectErrorSatisfies(error -> assertThat(error)
                            .isInstanceOf(RateLimitedException.class)
                            .hasMessageContaining("micro-dollars in all is spent"))
                    .verify(ofSeconds(20));
        }
    }

    private static String content(String text, String more) {
        return "data: {\"choices\":[{\"delta\":{\"content\":\"" + text + "\"}}]" + more + "}\n\n";
    }

    private static String usage(long prompt, long completion) {
        return ",\"usage\":{\"prompt_tokens\":" + prompt + ",\"completion_tokens\":" + completion + "}";
    }

    private static long left(RateLimiter limiter) {
        return limiter.snapshot().root().limits().get(0).available();
    }

    @Test
    void an_answer_that_does_not_tell_its_usage_is_charged_with_the_most_that_it_can_have_cost() {
        ScriptedApi api = ScriptedApi.create()
                .script(
                        "/v1/chat/completions",
                        Reply.ok().body("{\"choices\":[{\"message\":{\"content\":\"A bucket.\"}}]}"),
                        Reply.ok()
                                .header("Content-Type", "text/event-stream")
                                .body(content("A ", "") + content("b", "")));
        try (RateLimitedServer server = api.start()) {
            RateLimiter limiter = ChatClient.limits(MODELS, 1, spend).build();
            ChatClient client = client(server, limiter);
            Answer answer = requireNonNull(client.ask(SHORT).block(ofSeconds(20)));
            assertThat(answer.microDollars()).isEqualTo(56 * 8);
            assertThat(left(limiter)).isEqualTo(1_000_000 - 56 * 8);
            assertThat(client.stream(SHORT).collectList().block(ofSeconds(20))).containsExactly("A ", "b");
            assertThat(left(limiter)).isEqualTo(1_000_000 - 2 * 56 * 8);
            assertThat(spend.microDollars()).isEqualTo(Map.of("gpt-large", 2 * 56 * 8L));
        }
    }

    @Test
    void of_a_stream_that_tells_its_usage_with_each_piece_the_last_word_counts_and_once() {
        ScriptedApi api = ScriptedApi.create()
                .script(
                        "/v1/chat/completions",
                        Reply.ok()
                                .header("Content-Type", "text/event-stream")
                                .body(content("A ", usage(6, 1)) + content("bucket", usage(6, 20))
                                        + "data: [DONE]\n\n"));
        try (RateLimitedServer server = api.start()) {
            RateLimiter limiter = ChatClient.limits(MODELS, 1, spend).build();
            ChatClient client = client(server, limiter);
            assertThat(client.stream(SHORT).collectList().block(ofSeconds(20))).hasSize(2);
            assertThat(spend.microDollars()).isEqualTo(Map.of("gpt-large", 26 * 8L));
            assertThat(left(limiter)).isEqualTo(1_000_000 - 26 * 8);
        }
    }

    @Test
    void an_overload_before_the_first_piece_of_a_stream_goes_to_the_next_model_and_is_heard() {
        ChatService service = rules().faultInStream(
                        0, Fault.first(1, ChatError.RATE_LIMIT_EXCEEDED.reply(ChatDialect.OPENAI)))
                .service();
        try (RateLimitedServer server = service.start()) {
            RateLimiter limiter = ChatClient.limits(MODELS, 1, spend).build();
            ChatClient client = client(server, limiter);
            assertThat(client.stream(SHORT).collectList().block(ofSeconds(20))).isNotEmpty();
            assertThat(service.ledger().count()).isEqualTo(2);
            assertThat(spend.microDollars())
                    .as("a stream that began may have cost something")
                    .isEqualTo(Map.of("gpt-large", 56 * 8L, "deepseek", 20L));
            assertThat(limiter.tryAcquire(Demand.of("model", "gpt-large")).allowed())
                    .as("told by the event")
                    .isFalse();
        }
    }

    @Test
    void an_overload_after_the_first_piece_of_a_stream_is_the_end_of_it_and_is_heard() {
        ChatService service = rules().faultInStream(
                        1, Fault.first(1, ChatError.RATE_LIMIT_EXCEEDED.reply(ChatDialect.OPENAI)))
                .service();
        try (RateLimitedServer server = service.start()) {
            RateLimiter limiter = ChatClient.limits(MODELS, 1, spend).build();
            StepVerifier.create(client(server, limiter).stream(SHORT))
                    .expectNextCount(1)
                    .expectErrorMessage("The model answered with status 200: {\"error\":{\"message\":\"Rate limit"
                            + " reached.\",\"type\":\"requests\",\"param\":null,\"code\":\"rate_limit_exceeded\"}}")
                    .verify(ofSeconds(20));
            assertThat(service.ledger().count()).isOne();
            assertThat(limiter.tryAcquire(Demand.of("model", "gpt-large")).allowed())
                    .isFalse();
        }
    }

    @Test
    void an_error_within_a_stream_that_is_no_limit_stops_nobody_else() {
        ChatService service = rules().faultInStream(0, Fault.first(1, ChatError.SERVER_ERROR.reply(ChatDialect.OPENAI)))
                .service();
        try (RateLimitedServer server = service.start()) {
            RateLimiter limiter = ChatClient.limits(MODELS, 1, spend).build();
            StepVerifier.create(client(server, limiter).stream(SHORT))
                    .expectErrorSatisfies(error -> assertThat(error).hasMessageContaining("server_error"))
                    .verify(ofSeconds(20));
            assertThat(limiter.tryAcquire(Demand.of("model", "gpt-large")).allowed())
                    .isTrue();
        }
    }

    @Test
    void a_key_that_one_model_does_not_take_leaves_the_others() {
        ChatService service = rules().fault(Fault.nth(1, ChatError.INVALID_API_KEY.reply(ChatDialect.OPENAI)))
                .service();
        try (RateLimitedServer server = service.start()) {
            ChatClient client =
                    client(server, ChatClient.limits(MODELS, 1, spend).build());
            assertThat(client.ask(SHORT).map(Answer::model).block(ofSeconds(20)))
                    .isEqualTo("deepseek");
        }
    }

    @Test
    void what_a_server_does_not_accept_costs_nothing() {
        ScriptedApi api = ScriptedApi.create()
                .script(
                        "/v1/chat/completions",
                        Reply.status(400).body("{}"),
                        Reply.status(400).body("{}"));
        try (RateLimitedServer server = api.start()) {
            RateLimiter limiter = ChatClient.limits(MODELS, 1, spend).build();
            ChatClient client = client(server, limiter);
            StepVerifier.create(client.ask(SHORT)).expectError().verify(ofSeconds(20));
            StepVerifier.create(client.stream(SHORT)).expectError().verify(ofSeconds(20));
            assertThat(left(limiter)).isEqualTo(1_000_000);
        }
    }

    @Test
    void the_lines_of_a_stream_are_whole_even_where_its_pieces_cut_characters() {
        byte[] stream = "data: Gr\u00fc\u00dfe\n\ndata: \u65e5\u672c\r\n".getBytes(StandardCharsets.UTF_8);
        Flux<byte[]> pieces = Flux.range(0, stream.length).map(i -> new byte[] {stream[i]});
        assertThat(ServerSentEvents.data(pieces).collectList().block(ofSeconds(20)))
                .containsExactly("Gr\u00fc\u00dfe", "\u65e5\u672c");
    }
}
