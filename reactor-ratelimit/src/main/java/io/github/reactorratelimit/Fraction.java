package io.github.reactorratelimit;

import java.math.BigDecimal;
import java.math.BigInteger;

/** A part of something, exact and in lowest terms: what is left of a limit, or permits per nanosecond. */
record Fraction(BigInteger over, BigInteger under) {

    static final Fraction WHOLE = of(1, 1);

    Fraction {
        BigInteger common = over.gcd(under);
        over = over.divide(common);
        under = under.divide(common);
    }

    static Fraction of(long over, long under) {
        return new Fraction(BigInteger.valueOf(over), BigInteger.valueOf(under));
    }

    /** The decimal as it is written: 0.2 is 1/5. */
    static Fraction of(BigDecimal decimal) {
        BigInteger digits = decimal.unscaledValue();
        int scale = decimal.scale();
        return scale >= 0
                ? new Fraction(digits, BigInteger.TEN.pow(scale))
                : new Fraction(digits.multiply(BigInteger.TEN.pow(-scale)), BigInteger.ONE);
    }

    Fraction times(Fraction other) {
        return new Fraction(over.multiply(other.over), under.multiply(other.under));
    }

    /** So much of a whole. */
    Fraction partOf(long whole) {
        return new Fraction(over.multiply(BigInteger.valueOf(whole)), under);
    }

    boolean isBelowOne() {
        return over.compareTo(under) < 0;
    }

    /** Its whole ones. */
    long floor() {
        return over.divide(under).longValueExact();
    }

    /** In what time there is one, where there is this much in {@code nanos}; rounded up, and saturating. */
    long nanosOfOne(long nanos) {
        BigInteger[] parts = BigInteger.valueOf(nanos).multiply(under).divideAndRemainder(over);
        BigInteger up = parts[1].signum() == 0 ? parts[0] : parts[0].add(BigInteger.ONE);
        return up.bitLength() > 63 ? Long.MAX_VALUE : up.longValueExact();
    }

    @Override
    public String toString() {
        return over + "/" + under;
    }
}
