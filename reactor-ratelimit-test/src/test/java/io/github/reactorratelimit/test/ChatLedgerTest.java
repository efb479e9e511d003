package io.github.reactorratelimit.test;

import static io.github.reactorratelimit.test.RateLimitAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class ChatLedgerTest {

    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final ChatService service = ChatRules.create()
            .completions(most -> most)
            .model(ChatModel.named("large")
                    .requestsPerMinute(4)
                    .tokensPerMinute(600)
                    .price(2_000_000, 3_000_000))
            .model(ChatModel.named("small").price(1_000_000, 1_000_000))
            .service();
    private final ChatLedger ledger = service.ledger();

    private void at(long millis, String model, String key, long prompt, long most) {
        service.request(model, key, prompt, most, ChatOnAClock.START.plusMillis(millis));
    }

    private void calls() {
        at(0, "large", "a", 100, 200);
        at(10_000, "large", "a", 100, 100);
        at(20_000, "large", "secret", 10, 10);
        at(45_000, "large", "a", 100, 500);
        at(60_000, "large", "a", 100, 100);
        at(70_000, "small", "a", 50, 50);
    }

    private static AbstractThrowableAssert<?, ? extends Throwable> fails(ThrowingCallable claim) {
        return assertThatThrownBy(claim).isInstanceOf(AssertionError.class);
    }

    @Test
    void it_sums_tokens_and_micro_dollars_and_counts_refusals_by_limit() {
        calls();
        assertThat(ledger.count()).isEqualTo(6);
        assertThat(ledger.calls("large")).hasSize(5);
        assertThat(ledger.count(200)).isEqualTo(5);
        assertThat(ledger.count(429)).isEqualTo(1);
        assertThat(ledger.refusals()).isEqualTo(Map.of(ChatLimit.TOKENS_PER_MINUTE, 1));
        assertThat(ledger.tokensUsed("large")).isEqualTo(720);
        assertThat(ledger.microDollarsByModel()).isEqualTo(Map.of("large", 1_850L, "small", 100L));
        assertThat(ledger.microDollars()).isEqualTo(1_950);
        assertThat(ledger.toString())
                .isEqualTo("ChatLedger[6 calls, refused {TOKENS_PER_MINUTE=1}, 1950 micro-dollars]");
    }

    @Test
    void it_tells_how_tokens_were_used_over_time_beside_what_the_limit_allows() {
        calls();
        assertThat(ledger.tokensOverTime("large", Duration.ofSeconds(30)))
                .containsExactly(progress(30, 520, 900), progress(60, 520, 1_200), progress(90, 720, 1_500));
        assertThat(ledger.tokensOverTime("other", MINUTE)).isEmpty();
        assertThat(ledger.tokensOverTime("small", MINUTE).get(0).allowed()).isEqualTo(Long.MAX_VALUE);
    }

    private static ChatLedger.Progress progress(int seconds, long used, long allowed) {
        // two keys, and for each of them the full bucket and what refills
        return new ChatLedger.Progress(ChatOnAClock.START.plusSeconds(seconds), used, 2 * allowed);
    }

    @Test
    void assertions_narrow_to_models_and_keys() {
        calls();
        assertThat(ledger).served(5).refusals(ChatLimit.TOKENS_PER_MINUTE, 1).spentAtMost(1_950);
        assertThat(ledger).forModel("small").noRefusals().served(1).usedAtLeast(100);
        assertThat(ledger)
                .forModel("large")
                .forKey("secret")
                .noRefusals()
                .calls()
                .hasSize(1);
        assertThat(ledger).forModel("large").neverMoreTokensThan(520).inAny(MINUTE);
    }

    @Test
    void refusals_are_shown_with_their_limit() {
        calls();
        fails(() -> assertThat(ledger).forModel("large").noRefusals())
                .hasMessage("Expecting no refusals by the service, model large, but 1 of 5 calls were refused:"
                        + System.lineSeparator()
                        + "  2026-01-01T00:00:45Z (+45000 ms) 429 TOKENS_PER_MINUTE large, asked 600, used 0 tokens, 0"
                        + " micro-dollars, token ~61");
        fails(() -> assertThat(ledger).refusals(ChatLimit.TOKENS_PER_MINUTE, 2))
                .hasMessageStartingWith("Expecting 2 refusals for TOKENS_PER_MINUTE by the service, but there were 1:");
        fails(() -> assertThat(ledger).refusals(ChatLimit.IN_FLIGHT, 1))
                .hasMessage("Expecting 1 refusals for IN_FLIGHT by the service, but there were 0.");
    }

    @Test
    void the_span_with_the_most_tokens_is_shown_and_no_key() {
        calls();
        fails(() -> assertThat(ledger)
                        .forModel("large")
                        .neverMoreTokensThan(519)
                        .inAny(MINUTE))
                .hasMessageStartingWith("Expecting no more than 519 tokens of the service, model large in any PT1M, but"
                        + " 520 were used from 2026-01-01T00:00:00Z on:")
                .hasMessageContaining("(+20000 ms)")
                .satisfies(failure -> assertThat(failure.getMessage()).doesNotContain("secret", "(+60000 ms)"));
        assertThat(ledger).forModel("large").neverMoreTokensThan(300).inAny(Duration.ofSeconds(10));
        fails(() ->
                assertThat(ledger).forModel("large").neverMoreTokensThan(300).inAny(Duration.ofMillis(10_001)));
    }

    @Test
    void too_few_tokens_calls_or_too_much_money_fail() {
        calls();
        fails(() -> assertThat(ledger).usedAtLeast(821))
                .hasMessage("Expecting at least 821 tokens used of the service, but there were 820.");
        fails(() -> assertThat(ledger).served(6))
                .hasMessageStartingWith("Expecting 6 calls served by the service, but there were 5:")
                .hasMessageContaining("429");
        fails(() -> assertThat(ledger).spentAtMost(1_949))
                .hasMessageStartingWith(
                        "Expecting no more than 1949 micro-dollars spent at the service, but it was 1950:")
                .hasMessageContaining(" small, asked 100, used 100 tokens, 100 micro-dollars")
                .satisfies(failure -> assertThat(failure.getMessage()).doesNotContain("large"));
    }

    @Test
    void a_model_that_was_never_called_passes_nothing() {
        calls();
        List<ThrowingCallable> claims = List.of(
                () -> assertThat(ledger).forModel("misspelt").noRefusals(),
                () -> assertThat(ledger).forModel("misspelt").usedAtLeast(0),
                () -> assertThat(ledger)
                        .forModel("misspelt")
                        .neverMoreTokensThan(1)
                        .inAny(MINUTE));
        assertThat(claims)
                .allSatisfy(claim ->
                        fails(claim).hasMessage("Expecting calls of the service, model misspelt, but none came."));
    }

    @Test
    void a_claim_of_less_than_nothing_and_a_price_beyond_all_figures_are_refused_with_their_value() {
        assertThatThrownBy(() -> RateLimitAssertions.assertThat(ChatRules.create()
                                .model(ChatModel.named("m"))
                                .service()
                                .ledger())
                        .spentAtMost(-1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("was -1");
        assertThatThrownBy(() -> ChatModel.named("m").price(Long.MAX_VALUE, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("the price of input must be at most 1000000000000, was " + Long.MAX_VALUE);
    }
}
