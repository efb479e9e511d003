package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The limits, as ledgers of (time, call) and outcomes. */
class ChatLimitsTest extends ChatOnAClock {

    @Test
    void requests_per_minute_refill_continuously() {
        start(ChatRules.create().model(LARGE));
        assertThat(text(0, "a", 1, 1)).startsWith("200 null, requests 2 reset 20s");
        assertThat(text(0, "a", 1, 1)).startsWith("200 null, requests 1 reset 40s");
        assertThat(text(0, "a", 1, 1)).startsWith("200 null, requests 0 reset 1m0s");
        assertThat(text(19_999, "a", 1, 1))
                .startsWith("429 REQUESTS_PER_MINUTE, requests 0 reset 40.001s")
                .endsWith("retry 1 1");
        assertThat(text(20_000, "a", 1, 1)).startsWith("200 null, requests 0 reset 1m0s");
    }

    @Test
    void tokens_are_counted_on_arrival_by_prompt_and_most_and_corrected_at_the_end() {
        start(ChatRules.create()
                .completions(most -> 100)
                .model(LARGE.speed(Duration.ofSeconds(1), Duration.ZERO).requestsPerMinute(100)));
        ChatOutcome first = at(0, "large", "a", 100, 800);
        assertThat(first.header("x-ratelimit-remaining-tokens")).isEqualTo("100");
        assertThat(first.usage()).isEqualTo(new ChatUsage(100, 100));
        assertThat(first.latency()).isBetween(Duration.ofMillis(500), Duration.ofMillis(1_500));
        long end = first.latency().toMillis();
        assertThat(at(end - 1, "large", "a", 100, 800).refusedBy()).isEqualTo(ChatLimit.TOKENS_PER_MINUTE);
        assertThat(at(end, "large", "a", 100, 700).status()).isEqualTo(200);
    }

    @Test
    void a_refusal_names_the_limit_with_the_longest_wait() {
        start(ChatRules.create().model(LARGE));
        assertThat(text(0, "a", 1, 999))
                .isEqualTo("200 null, requests 2 reset 20s, tokens 0 reset 1m0s, retry null null");
        start(ChatRules.create().completions(most -> most).model(LARGE));
        at(0, "large", "a", 1, 999);
        at(0, "large", "b", 1, 999);
        assertThat(text(500, "a", 1, 500))
                .isEqualTo("429 TOKENS_PER_MINUTE, requests 2 reset 19.5s, tokens 8 reset 59.5s, retry 30 29560");
        start(ChatRules.create().completions(most -> most).model(LARGE));
        for (int i = 0; i < 3; i++) {
            at(0, "large", "a", 1, 299);
        }
        assertThat(text(0, "a", 1, 199)).startsWith("429 REQUESTS_PER_MINUTE,").endsWith("retry 20 20000");
        assertThat(text(0, "a", 1, 799)).startsWith("429 TOKENS_PER_MINUTE,").endsWith("retry 42 42000");
    }

    @Test
    void a_refused_call_counts_in_no_limit() {
        start(ChatRules.create().completions(most -> most).model(LARGE));
        at(0, "large", "a", 100, 700);
        for (int i = 0; i < 10; i++) {
            assertThat(at(0, "large", "a", 100, 700).refusedBy()).isEqualTo(ChatLimit.TOKENS_PER_MINUTE);
        }
        assertThat(at(0, "large", "a", 100, 100).header("x-ratelimit-remaining-requests"))
                .isEqualTo("1");
    }

    @Test
    void the_minute_may_be_a_sliding_window() {
        start(ChatRules.create().completions(most -> most).model(LARGE.slidingWindow()));
        at(0, "large", "a", 100, 400);
        at(30_000, "large", "a", 100, 400);
        assertThat(text(30_000, "a", 1, 1))
                .isEqualTo("429 TOKENS_PER_MINUTE, requests 1 reset 1m0s, tokens 0 reset 1m0s, retry 30 30000");
        assertThat(at(59_999, "large", "a", 1, 1).status()).isEqualTo(429);
        assertThat(text(60_000, "a", 100, 400)).startsWith("200 null, requests 1 reset 1m0s, tokens 0 reset 1m0s");
    }

    @Test
    void requests_per_second_have_a_burst() {
        start(ChatRules.create().model(FREE.requestsPerSecond(10, 50)));
        for (int i = 0; i < 50; i++) {
            assertThat(at(0, "free", "a", 1, 1).status()).isEqualTo(200);
        }
        ChatOutcome refused = at(0, "free", "a", 1, 1);
        assertThat(refused.refusedBy()).isEqualTo(ChatLimit.REQUESTS_PER_SECOND);
        assertThat(refused.header("retry-after-ms")).isEqualTo("100");
        assertThat(at(99, "free", "a", 1, 1).status()).isEqualTo(429);
        assertThat(at(100, "free", "a", 1, 1).status()).isEqualTo(200);
        assertThat(at(100, "free", "a", 1, 1).status()).isEqualTo(429);
    }

    @Test
    void a_place_in_flight_is_free_when_the_answer_ends_and_a_refusal_for_it_has_no_hint() {
        start(ChatRules.create().model(FREE.inFlight(2).speed(Duration.ofSeconds(1), Duration.ofMillis(1))));
        long first = at(0, "free", "a", 1, 100).latency().toMillis();
        long second = at(0, "free", "a", 1, 100).latency().toMillis();
        ChatOutcome refused = at(0, "free", "a", 1, 100);
        assertThat(refused.refusedBy()).isEqualTo(ChatLimit.IN_FLIGHT);
        assertThat(refused.header("retry-after")).isNull();
        long end = Math.min(first, second);
        assertThat(at(end - 1, "free", "a", 1, 100).status()).isEqualTo(429);
        assertThat(at(end, "free", "a", 1, 100).status()).isEqualTo(200);
    }

    @Test
    void keys_and_models_count_for_themselves_and_the_keys_of_an_organisation_together() {
        ChatModel one = LARGE.requestsPerMinute(1);
        ChatModel other = ChatModel.named("small").requestsPerMinute(1);
        start(ChatRules.create().model(one).model(other).key("a").organisation("acme", "b", "c"));
        assertThat(at(0, "large", "a", 1, 1).status()).isEqualTo(200);
        assertThat(at(0, "large", "a", 1, 1).status()).isEqualTo(429);
        assertThat(at(0, "small", "a", 1, 1).status()).isEqualTo(200);
        assertThat(at(0, "large", "b", 1, 1).status()).isEqualTo(200);
        assertThat(at(0, "large", "c", 1, 1).status()).isEqualTo(429);
        assertThat(service.ledger().calls().get(4).account()).isEqualTo("acme");
    }
}
