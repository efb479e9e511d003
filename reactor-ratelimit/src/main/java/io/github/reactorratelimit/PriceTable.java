package io.github.reactorratelimit;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * What tokens cost, per model, input and output apart: turns usage into {@link #UNIT}, the unit of spend limits. Immutable
 * and thread-safe. Prices are exact decimals; what a call costs is rounded up to a whole micro-dollar.
 */
public final class PriceTable {

    /** The unit of spend limits: a millionth of a dollar. A dollar per million tokens is one of them per token. */
    public static final String UNIT = "micro-dollars";

    private final Map<String, Price> prices;

    private PriceTable(Map<String, Price> prices) {
        this.prices = prices;
    }

    /**
     * A table without any model.
     *
     * @return the table
     */
    public static PriceTable empty() {
        return new PriceTable(Map.of());
    }

    /**
     * Adds or replaces a model.
     *
     * @param model its name
     * @param input dollars per million input tokens, as a decimal such as {@code "2.5"}, not negative
     * @param output dollars per million output tokens, not negative
     * @return the changed table
     * @throws IllegalArgumentException if a price is negative or no decimal
     */
    public PriceTable with(String model, String input, String output) {
        Map<String, Price> more = new HashMap<>(prices);
        more.put(Objects.requireNonNull(model, "model"), new Price(price(input), price(output)));
        return new PriceTable(Map.copyOf(more));
    }

    private static BigDecimal price(String dollars) {
        BigDecimal price;
        try {
            price = new BigDecimal(Objects.requireNonNull(dollars, "price"));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("a price must be a decimal such as 2.5, was " + dollars, e);
        }
        if (price.signum() < 0) {
            throw new IllegalArgumentException("a price must not be negative, was " + dollars);
        }
        return price;
    }

    /**
     * What a call costs, or would at most.
     *
     * @param model a model of this table
     * @param inputTokens tokens of the prompt, not negative
     * @param outputTokens tokens of the answer, not negative
     * @return micro-dollars, rounded up; {@link Long#MAX_VALUE} for what does not fit
     * @throws IllegalArgumentException if the model is unknown or a figure is negative
     */
    public long microDollars(String model, long inputTokens, long outputTokens) {
        Price price = prices.get(Objects.requireNonNull(model, "model"));
        if (price == null) {
            throw new IllegalArgumentException("the model must be one of "
                    + prices.keySet().stream().sorted().toList() + ", was " + model);
        }
        if (inputTokens < 0 || outputTokens < 0) {
            throw new IllegalArgumentException(
                    "tokens must not be negative, were " + inputTokens + " and " + outputTokens);
        }
        BigDecimal sum = price.input
                .multiply(BigDecimal.valueOf(inputTokens))
                .add(price.output.multiply(BigDecimal.valueOf(outputTokens)))
                .setScale(0, RoundingMode.CEILING);
        return sum.compareTo(BigDecimal.valueOf(Long.MAX_VALUE)) > 0 ? Long.MAX_VALUE : sum.longValueExact();
    }

    private record Price(BigDecimal input, BigDecimal output) {}
}
