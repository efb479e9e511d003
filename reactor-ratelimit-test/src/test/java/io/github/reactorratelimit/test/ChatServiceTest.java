package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Errors, headers and chance by the call without HTTP. */
class ChatServiceTest extends ChatOnAClock {

    @Test
    void a_call_for_more_than_the_limit_ever_has_is_a_400_and_one_for_all_of_it_passes() {
        start(ChatRules.create().model(LARGE));
        ChatOutcome large = at(0, "large", "a", 1, 1_000);
        assertThat(large.status()).isEqualTo(400);
        assertThat(large.error()).isEqualTo(ChatError.INVALID_REQUEST);
        assertThat(at(0, "large", "a", 0, 1_000).status()).isEqualTo(200);
    }

    @Test
    void keys_are_known_unless_some_are_said() {
        start(ChatRules.create().model(FREE));
        assertThat(at(0, "free", "any", 1, 1).status()).isEqualTo(200);
        assertThat(at(0, "free", "", 1, 1).status()).isEqualTo(401);
        start(ChatRules.create().model(FREE).key("a"));
        assertThat(at(0, "free", "a", 1, 1).status()).isEqualTo(200);
        assertThat(at(0, "free", "any", 1, 1).error()).isEqualTo(ChatError.INVALID_API_KEY);
        assertThat(at(0, "other", "a", 1, 1).error()).isEqualTo(ChatError.MODEL_NOT_FOUND);
        assertThat(service.ledger().count(401)).isEqualTo(1);
        assertThat(service.ledger().count(404)).isEqualTo(1);
    }

    @Test
    void a_balance_is_charged_at_the_end_and_then_refuses_for_good() {
        start(ChatRules.create()
                .completions(most -> most)
                .balance("acme", 1_000)
                .organisation("acme", "a", "b")
                .model(FREE.price(8_000_000, 15_000_000).speed(Duration.ofSeconds(1), Duration.ZERO)));
        ChatOutcome first = at(0, "free", "a", 50, 40);
        assertThat(first.microDollars()).isEqualTo(50 * 8 + 40 * 15);
        assertThat(at(0, "free", "b", 10, 1).status()).isEqualTo(200);
        assertThat(at(0, "free", "b", 10, 1).status()).isEqualTo(200);
        ChatOutcome refused = at(2_000, "free", "b", 10, 1);
        assertThat(refused.status()).isEqualTo(429);
        assertThat(refused.error()).isEqualTo(ChatError.INSUFFICIENT_QUOTA);
        assertThat(refused.refusedBy()).isEqualTo(ChatLimit.BALANCE);
        assertThat(refused.header("retry-after")).isNull();
        assertThat(at(1_000_000, "free", "a", 10, 1).status()).isEqualTo(429);
        assertThat(service.ledger().microDollars()).isEqualTo(1_000 + 2 * 95);
    }

    @Test
    void a_fraction_of_a_micro_dollar_is_charged_as_a_whole_one() {
        ChatModel cheap = FREE.price(420_000, 0);
        assertThat(cheap.cost(new ChatUsage(100, 0))).isEqualTo(42);
        assertThat(cheap.cost(new ChatUsage(101, 9))).isEqualTo(43);
    }

    @Test
    void a_fault_sees_what_the_limits_let_through_and_costs_a_request_but_no_tokens() {
        start(ChatRules.create()
                .completions(most -> most)
                .fault(Fault.nth(1, ChatError.UNAVAILABLE.reply(ChatDialect.OPENAI)))
                .fault(Fault.nth(3, Reply.reset()))
                .model(LARGE));
        assertThat(text(0, "a", 100, 900))
                .isEqualTo("503 null, requests 2 reset 20s, tokens 0 reset 1m0s, retry null null");
        assertThat(text(0, "a", 100, 600)).startsWith("200 null, requests 1 reset 40s, tokens 300");
        assertThat(at(0, "large", "a", 100, 900).status()).isEqualTo(429);
        assertThat(at(0, "large", "a", 100, 100).status()).isZero();
        assertThat(service.ledger().tokensUsed("large")).isEqualTo(700);
    }

    @Test
    void a_fault_before_the_limits_sees_every_call_and_costs_nothing() {
        start(ChatRules.create()
                .fault(Fault.everyNth(2, 500).beforeLimits())
                .key("a")
                .model(LARGE));
        List<Integer> statuses = new ArrayList<>();
        for (String key : List.of("x", "x", "a", "a", "a", "a")) {
            statuses.add(at(0, "large", key, 1, 1).status());
        }
        assertThat(statuses).containsExactly(401, 500, 200, 500, 200, 500);
        assertThat(text(0, "a", 1, 1)).startsWith("200 null, requests 0");
    }

    // ------------------------------------------------------------------------------------------------------ headers

    @Test
    void durations_are_written_as_go_writes_them() {
        Map<Long, String> expected = Map.of(
                0L,
                "0s",
                12L,
                "12ms",
                999L,
                "999ms",
                1_000L,
                "1s",
                8_640L,
                "8.64s",
                7_005L,
                "7.005s",
                360_000L,
                "6m0s",
                179_560L,
                "2m59.56s",
                3_600_000L,
                "1h0m0s");
        expected.forEach(
                (millis, text) -> assertThat(ChatHeaders.goDuration(millis)).isEqualTo(text));
    }

    @Test
    void refusals_may_have_no_hint() {
        start(ChatRules.create().withoutHints().model(LARGE.requestsPerMinute(1)));
        at(0, "large", "a", 1, 1);
        ChatOutcome refused = at(0, "large", "a", 1, 1);
        assertThat(refused.header("retry-after")).isNull();
        assertThat(refused.header("retry-after-ms")).isNull();
        assertThat(refused.header("x-ratelimit-reset-requests")).isEqualTo("1m0s");
    }

    @Test
    void the_other_dialect_has_times_of_rfc_3339_and_tokens_in_thousands() {
        start(ChatRules.create()
                .dialect(ChatDialect.ANTHROPIC)
                .completions(most -> most)
                .model(ChatModel.named("large").requestsPerMinute(2).tokensPerMinute(10_000)));
        ChatOutcome first = at(250, "large", "a", 100, 5_500);
        assertThat(first.header("anthropic-ratelimit-requests-limit")).isEqualTo("2");
        assertThat(first.header("anthropic-ratelimit-requests-remaining")).isEqualTo("1");
        assertThat(first.header("anthropic-ratelimit-requests-reset")).isEqualTo("2026-01-01T00:00:31Z");
        assertThat(first.header("anthropic-ratelimit-tokens-limit")).isEqualTo("10000");
        assertThat(first.header("anthropic-ratelimit-tokens-remaining")).isEqualTo("4000");
        assertThat(first.header("x-ratelimit-limit-requests")).isNull();
        ChatOutcome refused = at(250, "large", "a", 1_000, 4_500);
        assertThat(refused.header("retry-after")).isEqualTo("7");
        assertThat(refused.header("retry-after-ms")).isNull();
    }

    // ------------------------------------------------------------------------------------------------------- chance

    @Test
    void answers_are_as_long_as_asked_for_at_most_with_a_heavy_tail_and_a_mean_of_a_quarter() {
        start(ChatRules.create().model(FREE));
        List<Long> tokens = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            tokens.add(at(i, "free", "a", 1, 1_000).usage().completionTokens());
        }
        assertThat(tokens).allMatch(each -> each >= 100 && each <= 1_000);
        assertThat(tokens.stream().mapToLong(Long::longValue).average().orElse(0))
                .isBetween(230.0, 245.0);
        assertThat(tokens.stream().filter(each -> each == 1_000).count()).isBetween(500L, 760L);
        assertThat(at(30_000, "free", "a", 1, 1).usage().completionTokens()).isEqualTo(1);
    }

    @Test
    void chance_is_the_same_for_the_same_seed() {
        ChatRules rules = ChatRules.create().model(FREE.speed(Duration.ofSeconds(1), Duration.ofMillis(20)));
        assertThat(drawn(rules)).isEqualTo(drawn(rules)).isNotEqualTo(drawn(rules.seed(2)));
    }

    private List<String> drawn(ChatRules rules) {
        start(rules);
        List<String> drawn = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            ChatOutcome outcome = at(i, "free", "a", 1, 1_000);
            drawn.add(outcome.usage() + " " + outcome.latency());
        }
        return drawn;
    }

    @Test
    void values_are_checked_where_they_enter() {
        assertThatThrownBy(() -> FREE.requestsPerMinute(0))
                .hasMessageContaining("must be 1 to")
                .hasMessageEndingWith("0");
        assertThatThrownBy(() -> FREE.price(-1, 0)).hasMessage("the price of input must not be negative, was -1");
        assertThatThrownBy(() -> FREE.maxTokens(0)).hasMessage("max tokens must be at least 1, was 0");
        assertThatThrownBy(() -> at(0, "free", "a", 1, 0)).hasMessage("max tokens must be at least 1, was 0");
        assertThatThrownBy(() -> at(0, "free", "a", -1, 1)).hasMessage("prompt tokens must not be negative, was -1");
        assertThatThrownBy(() -> ChatRules.create().balance("a", -1))
                .hasMessage("a balance must not be negative, was -1");
    }

    @Test
    void rules_are_templates() {
        ChatRules rules = ChatRules.create().model(LARGE.requestsPerMinute(1));
        ChatService one = rules.service();
        assertThat(one.request("large", "a", 1, 1, START).status()).isEqualTo(200);
        assertThat(rules.service().request("large", "a", 1, 1, START).status()).isEqualTo(200);
        assertThat(rules.key("b").service().request("large", "a", 1, 1, START).status())
                .isEqualTo(401);
        assertThat(one.request("large", "a", 1, 1, START).status()).isEqualTo(429);
    }
}
