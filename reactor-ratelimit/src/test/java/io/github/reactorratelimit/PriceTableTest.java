package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class PriceTableTest {

    private final PriceTable prices = PriceTable.empty()
            .with("large", "2.5", "10")
            .with("small", "0.42", "0.42")
            .with("free", "0", "0");

    @Test
    void a_dollar_per_million_tokens_is_a_micro_dollar_per_token() {
        assertThat(prices.microDollars("large", 1_000_000, 0)).isEqualTo(2_500_000);
        assertThat(prices.microDollars("large", 1_000, 100)).isEqualTo(3_500);
        assertThat(prices.microDollars("free", 1_000, 100)).isZero();
    }

    @Test
    void parts_of_a_micro_dollar_round_up_once_per_call() {
        assertThat(prices.microDollars("small", 1, 0)).isEqualTo(1);
        assertThat(prices.microDollars("small", 1, 1)).isEqualTo(1);
        assertThat(prices.microDollars("small", 50, 50)).isEqualTo(42);
        assertThat(prices.microDollars("large", Long.MAX_VALUE, 1)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    @SuppressWarnings("NullAway") // What callers without a checker may do.
    void what_has_no_price_is_told_at_once() {
        assertThatThrownBy(() -> prices.microDollars("huge", 1, 1))
                .hasMessage("the model must be one of [free, large, small], was huge");
        assertThatThrownBy(() -> prices.microDollars(null, 1, 1)).hasMessage("model");
        assertThatThrownBy(() -> prices.microDollars("small", -1, 1)).hasMessageContaining("were -1 and 1");
        assertThatThrownBy(() -> prices.with("a", "-1", "1")).hasMessageContaining("must not be negative, was -1");
        assertThatThrownBy(() -> prices.with("a", "1", "much")).hasMessageContaining("was much");
    }
}
