package io.github.reactorratelimit;

import java.math.BigInteger;
import java.time.Duration;

/**
 * Integer arithmetic that neither overflows nor drifts: everything saturates, and every division says which way it rounds.
 */
final class Exact {

    /** No instant: what waits for it waits for an event, not for the clock. */
    static final long NEVER = Long.MAX_VALUE;

    private static final BigInteger MAX = BigInteger.valueOf(Long.MAX_VALUE);

    private Exact() {}

    /** Nanoseconds of a duration, {@link Long#MAX_VALUE} (292 years) where they do not fit; never negative. */
    static long nanos(Duration duration) {
        if (duration.isNegative()) {
            return 0;
        }
        long seconds = duration.getSeconds();
        if (seconds >= Long.MAX_VALUE / 1_000_000_000L) {
            return Long.MAX_VALUE;
        }
        return seconds * 1_000_000_000L + duration.getNano();
    }

    static long add(long a, long b) {
        long sum = a + b;
        if (((a ^ sum) & (b ^ sum)) < 0) {
            return a < 0 ? Long.MIN_VALUE : Long.MAX_VALUE;
        }
        return sum;
    }

    static long subtract(long a, long b) {
        long difference = a - b;
        if (((a ^ b) & (a ^ difference)) < 0) {
            return a < 0 ? Long.MIN_VALUE : Long.MAX_VALUE;
        }
        return difference;
    }

    /** ⌊(a·b + c) / d⌋ for a, b, c ≥ 0 and d > 0. */
    static long floorDiv(long a, long b, long c, long d) {
        long high = Math.multiplyHigh(a, b);
        long low = a * b;
        if (high == 0 && low >= 0 && low + c >= 0) {
            return (low + c) / d;
        }
        return saturated(big(a, b, c).divide(BigInteger.valueOf(d)));
    }

    /** ⌈(a·b + c) / d⌉ for a, b, c ≥ 0 and d > 0. */
    static long ceilDiv(long a, long b, long c, long d) {
        long high = Math.multiplyHigh(a, b);
        long low = a * b;
        if (high == 0 && low >= 0 && low + c >= 0) {
            long sum = low + c;
            return sum / d + (sum % d == 0 ? 0 : 1);
        }
        BigInteger[] parts = big(a, b, c).divideAndRemainder(BigInteger.valueOf(d));
        return saturated(parts[1].signum() == 0 ? parts[0] : parts[0].add(BigInteger.ONE));
    }

    /** (a·b + c) mod d for a, b, c ≥ 0 and d > 0. */
    static long remainder(long a, long b, long c, long d) {
        long high = Math.multiplyHigh(a, b);
        long low = a * b;
        if (high == 0 && low >= 0 && low + c >= 0) {
            return (low + c) % d;
        }
        return big(a, b, c).mod(BigInteger.valueOf(d)).longValueExact();
    }

    private static BigInteger big(long a, long b, long c) {
        return BigInteger.valueOf(a).multiply(BigInteger.valueOf(b)).add(BigInteger.valueOf(c));
    }

    private static long saturated(BigInteger value) {
        return value.compareTo(MAX) > 0 ? Long.MAX_VALUE : value.longValueExact();
    }
}
