package io.github.reactorratelimit;

import java.math.BigInteger;

/**
 * The exact rational rate of a limit and how much of it may go at once. What one permit costs is reckoned once, because
 * nearly all cost one and a division costs as much as the rest of a decision.
 */
final class Pace {

    final long permits;
    final long nanos;
    final long burst;
    /** The time of one permit: whole nanoseconds, and a remainder of 1/{@code permits}. */
    private final long step;

    private final long stepRest;
    /** How early the last permit of a burst may come. */
    private final long lead;

    private final long leadRest;

    private Pace(long permits, long nanos, long burst) {
        this.permits = permits;
        this.nanos = nanos;
        this.burst = burst;
        this.step = nanos / permits;
        this.stepRest = nanos % permits;
        this.lead = Exact.floorDiv(burst - 1, nanos, 0, permits);
        this.leadRest = Exact.remainder(burst - 1, nanos, 0, permits);
    }

    /** At most {@code burst} at once, and {@code rate} permits per nanosecond. */
    static Pace of(Fraction rate, long burst) {
        BigInteger permits = rate.over();
        BigInteger nanos = rate.under();
        // Beyond 63 bits one part in 2^60 is given up, on the slow side.
        while (permits.bitLength() > 62 || nanos.bitLength() > 62) {
            permits = permits.shiftRight(1).max(BigInteger.ONE);
            nanos = nanos.shiftRight(1).add(BigInteger.ONE);
            if (permits.equals(BigInteger.ONE) && nanos.bitLength() > 62) {
                return new Pace(1, Long.MAX_VALUE, burst);
            }
        }
        return new Pace(permits.longValueExact(), nanos.longValueExact(), burst);
    }

    /** The whole nanoseconds of {@code cost} permits and a remainder. */
    long whole(long cost, long rest) {
        if (cost == 1) {
            return stepRest + rest < permits ? step : step + 1;
        }
        return cost == burst - 1 && rest == 0 ? lead : Exact.floorDiv(cost, nanos, rest, permits);
    }

    /** The remainder that {@link #whole} leaves. */
    long rest(long cost, long rest) {
        if (cost == 1) {
            long sum = stepRest + rest;
            return sum < permits ? sum : sum - permits;
        }
        return cost == burst - 1 && rest == 0 ? leadRest : Exact.remainder(cost, nanos, rest, permits);
    }
}
