package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What every form of the chat service answers over HTTP. */
abstract class ChatContract extends ChatWire {

    static final ChatModel LARGE = ChatModel.named("large")
            .requestsPerMinute(60)
            .tokensPerMinute(1_000)
            .maxTokens(40);
    static final ChatRules RULES = ChatRules.create().model(LARGE).completions(most -> most - 3);

    private ChatService start(ChatRules rules) {
        ChatService service = rules.service();
        start(service);
        return service;
    }

    private static String stream(String more) {
        return json("\"hello\"", ",\"max_tokens\":33,\"stream\":true" + more);
    }

    @Test
    void an_answer_has_the_form_of_a_chat_completion_with_its_usage() {
        ChatService service = start(RULES.dialect(ChatDialect.OPENAI));
        Answer answer = at(1_500, chat("key", json("\"hello\"", ",\"max_tokens\":10")));
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.header("Content-Type")).startsWith("application/json");
        assertThat(answer.body())
                .isEqualTo("{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1767225601,"
                        + "\"model\":\"large\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
                        + "\"content\":\"" + "word".repeat(7) + "\"},\"finish_reason\":\"stop\"}],"
                        + "\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":7,\"total_tokens\":9}}");
        assertThat(answer.header("x-ratelimit-limit-requests")).isEqualTo("60");
        assertThat(answer.header("x-ratelimit-remaining-tokens")).isEqualTo("988");
        assertThat(answer.header("x-ratelimit-reset-tokens")).isEqualTo("720ms");
        assertThat(answer.header("Date")).isEqualTo("Thu, 01 Jan 2026 00:00:01 GMT");
        assertThat(service.ledger().tokensUsed("large")).isEqualTo(9);
    }

    @Test
    void an_answer_that_is_cut_says_so() {
        start(RULES.completions(most -> most + 5));
        assertThat(at(0, chat("key", json("\"a\"", ",\"max_completion_tokens\":5")))
                        .body())
                .contains("\"finish_reason\":\"length\"", "\"completion_tokens\":5");
    }

    @Test
    void a_prompt_has_a_token_for_four_characters_of_all_its_texts() {
        ChatService service = start(RULES);
        for (String content : List.of(
                "\"\"",
                "\"1234\"",
                "\"12345\"",
                "\"\\u00e4\\ud83d\\ude00\\n\\\"\"",
                "\"12345\"},{\"role\":\"user\",\"content\":\"678\"",
                "[{\"type\":\"text\",\"text\":\"12345\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"x\"}},"
                        + "{\"type\":\"text\",\"text\":\"6789\"}]",
                "null")) {
            assertThat(at(0, chat("key", json(content, ""))).status()).isEqualTo(200);
        }
        assertThat(service.ledger().calls())
                .extracting(ChatLedger.Call::promptTokens)
                .containsExactly(0L, 1L, 2L, 1L, 2L, 3L, 0L);
        assertThat(service.ledger().calls().get(0).maxTokens()).isEqualTo(40);
    }

    @Test
    void what_it_does_not_know_of_a_request_plays_no_part() {
        start(RULES);
        String more = ",\"tools\":[{\"messages\":[1,{\"model\":\"x\"}]}],\"temperature\":0.5,\"max_tokens\":null,"
                + "\"stream\":false,\"stream_options\":null,\"metadata\":{\"stream\":true}";
        assertThat(at(0, chat("key", json("\"hello\"", more))).body()).contains("\"total_tokens\":39");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "no",
                "[]",
                "{}",
                "{\"model\":\"large\"}",
                "{\"model\":\"large\",\"messages\":[]}",
                "{\"messages\":[{\"content\":\"a\"}]}",
                "{\"model\":7,\"messages\":[{\"content\":\"a\"}]}",
                "{\"model\":\"large\",\"messages\":{}}",
                "{\"model\":\"large\",\"messages\":[{\"content\":\"a\"},1]}",
                "{\"model\":\"large\",\"messages\":[{\"content\":[\"a\"]}]}",
                "{\"model\":\"large\",\"messages\":[{\"content\":\"a\"}]",
                "{\"model\":\"large\",\"messages\":[{\"content\":\"a\"}]}}",
                "{\"model\":\"large\",\"messages\":[{\"content\":\"a\"}],\"max_tokens\":0}",
                "{\"model\":\"large\",\"messages\":[{\"content\":\"a\"}],\"max_tokens\":\"9\"}",
                "{\"model\":\"large\",\"messages\":[{\"content\":\"a\"}],\"max_tokens\":1000001}",
                "{\"model\":\"large\",\"messages\":[{\"content\":\"a\"}],\"max_tokens\":99999999999}",
                "{\"model\":\"large\",\"messages\":[{\"content\":\"a\"}],\"stream\":1}",
                "{\"model\":\"large\",\"messages\":[{\"content\":\"a\"}],\"stream_options\":[]}"
            })
    void what_is_no_chat_completion_request_is_a_400(String body) {
        ChatService service = start(RULES);
        Answer answer = at(0, chat("key", body));
        assertThat(answer.status()).isEqualTo(400);
        assertThat(answer.body()).contains("\"type\":\"invalid_request_error\"");
        assertThat(service.ledger().count()).isZero();
        assertThat(log().count(400)).isEqualTo(1);
    }

    @Test
    void other_paths_and_methods_are_a_404() {
        start(RULES);
        assertThat(at(0, SimulatedRequest.post("/v1/embeddings").token("key")).status())
                .isEqualTo(404);
        assertThat(at(0, SimulatedRequest.get("/v1/chat/completions").token("key"))
                        .status())
                .isEqualTo(404);
        assertThat(at(0, chat("key", json("\"a\"", ""))).status()).isEqualTo(200);
    }

    @Test
    void a_request_without_a_key_or_with_an_unknown_one_is_a_401() {
        start(RULES.key("key"));
        assertThat(at(0, SimulatedRequest.post("/chat/completions").body(json("\"a\"", "")))
                        .status())
                .isEqualTo(401);
        Answer unknown = at(0, chat("other", json("\"a\"", "")));
        assertThat(unknown.status()).isEqualTo(401);
        assertThat(unknown.body()).contains("\"code\":\"invalid_api_key\"");
    }

    @Test
    void a_refusal_says_whether_it_is_requests_or_tokens_and_is_understood() {
        start(RULES.completions(most -> most));
        at(0, chat("key", json("\"a\"", ",\"max_tokens\":900")));
        Answer tokens = at(0, chat("key", json("\"a\"", ",\"max_tokens\":199")));
        assertThat(tokens.body())
                .isEqualTo(
                        "{\"error\":{\"message\":\"Rate limit reached for large in organization key on tokens per min"
                                + " (TPM): Limit 1000, Used 901, Requested 200. Please try again in 6.06s.\",\"type\":\"tokens\","
                                + "\"param\":null,\"code\":\"rate_limit_exceeded\"}}");
        RateLimitSignal signal = Dialects.openAi().read(429, tokens.headers(), 0);
        assertThat(signal.throttled()).isTrue();
        assertThat(signal.delay()).isEqualTo(Duration.ofMillis(6_060));
        start(RULES.model(LARGE.requestsPerMinute(1)));
        at(0, chat("key", json("\"a\"", "")));
        assertThat(at(0, chat("key", json("\"a\"", ""))).body())
                .contains("\"type\":\"requests\"", "requests per min (RPM): Limit 1, Used 1, Requested 1.");
    }

    @Test
    void a_refusal_without_hints_has_none_in_its_message_either() {
        start(RULES.withoutHints().model(LARGE.requestsPerMinute(1)));
        at(0, chat("key", json("\"a\"", "")));
        Answer refused = at(0, chat("key", json("\"a\"", "")));
        assertThat(refused.status()).isEqualTo(429);
        assertThat(refused.body()).contains("Requested 1.\"");
        assertThat(refused.header("retry-after")).isNull();
    }

    @Test
    void a_used_up_balance_is_understood_as_what_no_wait_cures() {
        for (ChatDialect dialect : ChatDialect.values()) {
            start(RULES.dialect(dialect).balance("key", 0));
            Answer refused = at(0, chat("key", json("\"a\"", "")));
            var reader = dialect == ChatDialect.OPENAI ? Dialects.openAi() : Dialects.anthropic();
            assertThat(reader.readBody(
                                    refused.status(),
                                    refused.headers(),
                                    refused.body().getBytes(java.nio.charset.StandardCharsets.UTF_8),
                                    0)
                            .terminal())
                    .as(dialect + ": " + refused)
                    .isNotNull();
        }
    }

    @Test
    void errors_are_worded_in_the_dialect() {
        start(RULES.dialect(ChatDialect.ANTHROPIC)
                .fault(Fault.nth(1, ChatError.OVERLOADED.reply(ChatDialect.ANTHROPIC))));
        Answer overloaded = at(0, chat("key", json("\"a\"", "")));
        assertThat(overloaded.status()).isEqualTo(529);
        assertThat(overloaded.body())
                .isEqualTo("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}");
        assertThat(overloaded.header("anthropic-ratelimit-requests-remaining")).isEqualTo("59");
        assertThat(ChatError.OVERLOADED.reply(ChatDialect.OPENAI).body())
                .isEqualTo("{\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\",\"param\":null,"
                        + "\"code\":\"overloaded_error\"}}");
    }

    @Test
    void a_name_that_json_has_to_escape_is_escaped() {
        start(RULES.model(ChatModel.named("a\"\\\n\ud83d\ude00")));
        Answer answer = at(0, chat("key", json("\"a\"", "").replace("large", "a\\\"\\\\\\n\\ud83d\\ude00")));
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.body()).contains("\"model\":\"a\\\"\\\\\\u000a\\ud83d\\ude00\"");
    }

    // ------------------------------------------------------------------------------------------------------ streams

    @Test
    void a_stream_has_a_role_words_a_reason_and_done() {
        ChatService service = start(RULES);
        Answer answer = at(0, chat("key", stream("")));
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.header("Content-Type")).isEqualTo("text/event-stream");
        assertThat(answer.header("Content-Length")).isNull();
        assertThat(answer.header("x-ratelimit-remaining-tokens")).isEqualTo("965");
        List<String> events = answer.events();
        assertThat(events.get(0))
                .isEqualTo("{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,"
                        + "\"model\":\"large\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
                        + "\"content\":\"\"},\"finish_reason\":null}]}");
        assertThat(events.subList(1, events.size() - 2))
                .hasSizeGreaterThan(3)
                .allMatch(event ->
                        event.matches(".*\"delta\":\\{\"content\":\"(word){1,8}\"},\"finish_reason\":null}]}"));
        assertThat(events.get(events.size() - 2)).endsWith("\"delta\":{},\"finish_reason\":\"stop\"}]}");
        assertThat(events.get(events.size() - 1)).isEqualTo("[DONE]");
        assertThat(answer.body()).doesNotContain("usage");
        assertThat(answer.words()).isEqualTo(30);
        assertThat(service.ledger().tokensUsed("large")).isEqualTo(32);
    }

    @Test
    void a_stream_has_its_usage_in_the_last_chunk_if_asked_for() {
        start(RULES);
        List<String> events = at(0, chat("key", stream(",\"stream_options\":{\"x\":[1],\"include_usage\":true}")))
                .events();
        assertThat(events.get(events.size() - 2))
                .endsWith("\"choices\":[],\"usage\":{\"prompt_tokens\":2,\"completion_tokens\":30,"
                        + "\"total_tokens\":32}}");
        assertThat(events.subList(0, events.size() - 2)).allMatch(event -> event.endsWith(",\"usage\":null}"));
    }

    @Test
    void a_stream_breaks_off_with_an_error_event_after_some_chunks_and_is_paid_until_then() {
        ChatService service = start(RULES.completions(most -> most)
                .model(LARGE.price(1_000_000, 1_000_000))
                .faultInStream(3, Fault.nth(2, ChatError.RATE_LIMIT_EXCEEDED.reply(ChatDialect.OPENAI))));
        assertThat(at(0, chat("key", stream(""))).events()).endsWith("[DONE]");
        at(0, chat("key", json("\"hello\"", "")));
        Answer broken = at(0, chat("key", stream("")));
        assertThat(broken.status()).isEqualTo(200);
        assertThat(broken.events()).hasSize(5);
        assertThat(broken.events().get(4))
                .isEqualTo("{\"error\":{\"message\":\"Rate limit reached.\",\"type\":\"requests\",\"param\":null,"
                        + "\"code\":\"rate_limit_exceeded\"}}");
        assertThat(service.ledger().calls().get(2).outcome().microDollars()).isEqualTo(2 + broken.words());
        assertThat(at(0, chat("key", stream(""))).events()).endsWith("[DONE]");
    }

    @Test
    void a_stream_that_is_shorter_breaks_off_at_its_end() {
        start(RULES.completions(most -> 1)
                .dialect(ChatDialect.ANTHROPIC)
                .faultInStream(3, Fault.always(ChatError.OVERLOADED.reply(ChatDialect.ANTHROPIC))));
        Answer broken = at(0, chat("key", stream("")));
        assertThat(broken.events()).hasSize(3);
        assertThat(broken.body()).contains("\n\nevent: error\ndata: {\"type\":\"error\",\"error\":");
    }
}
