package io.github.reactorratelimit;

import java.math.BigDecimal;

/** A share of every limit, as an exact decimal between 0 and 1. Immutable. */
public final class Share {

    private final BigDecimal part;

    private Share(BigDecimal part) {
        this.part = part;
    }

    /**
     * A share, read as the exact decimal: 0.5 is one half.
     *
     * @param part above 0 and at most 1
     * @return the share
     * @throws IllegalArgumentException if the part is out of range
     */
    public static Share of(double part) {
        if (!(part > 0 && part <= 1)) {
            throw new IllegalArgumentException("a share must be above 0 and at most 1, was " + part);
        }
        return new Share(BigDecimal.valueOf(part));
    }

    Fraction fraction() {
        return Fraction.of(part);
    }

    boolean isWhole() {
        return part.compareTo(BigDecimal.ONE) == 0;
    }

    @Override
    public String toString() {
        return part.toPlainString();
    }
}
