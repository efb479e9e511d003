package io.github.reactorratelimit;

import java.time.Duration;

/**
 * How long a call waits before it is tried again after a failure that is not a limit: uniformly between a floor and
 * min(cap, base · 2^n), n counting from 0. Immutable. With a base of 500 ms and a cap of 30 s the upper bounds are 0.5, 1,
 * 2, 4, 8, 16, 30, 30 s.
 *
 * <p>Source: "full jitter" as described in the AWS Architecture Blog, "Exponential Backoff And Jitter".
 */
public final class Backoff {

    private final long baseNanos;
    private final long capNanos;
    private final long floorNanos;
    private final double jitter;

    private Backoff(long baseNanos, long capNanos, long floorNanos, double jitter) {
        this.baseNanos = baseNanos;
        this.capNanos = capNanos;
        this.floorNanos = floorNanos;
        this.jitter = jitter;
    }

    /**
     * Exponential backoff with full jitter and no floor.
     *
     * @param base the upper bound of the first wait, positive
     * @param cap the most an upper bound grows to, at least the base
     * @return the backoff
     * @throws IllegalArgumentException if a bound is out of range
     */
    public static Backoff exponential(Duration base, Duration cap) {
        if (base.isNegative() || base.isZero()) {
            throw new IllegalArgumentException("a backoff's base must be positive, was " + base);
        }
        if (cap.compareTo(base) < 0) {
            throw new IllegalArgumentException("a backoff's cap must be at least its base of " + base + ", was " + cap);
        }
        return new Backoff(Exact.nanos(base), Exact.nanos(cap), 0, 1);
    }

    /**
     * Sets the least wait; 0 unless said. While an upper bound is below it, every wait is the floor.
     *
     * @param least not negative and not above the cap
     * @return the changed backoff
     * @throws IllegalArgumentException if the floor is out of range
     */
    public Backoff floor(Duration least) {
        if (least.isNegative() || Exact.nanos(least) > capNanos) {
            throw new IllegalArgumentException("a backoff's floor must be between 0 and its cap of "
                    + Duration.ofNanos(capNanos) + ", was " + least);
        }
        return new Backoff(baseNanos, capNanos, Exact.nanos(least), jitter);
    }

    /**
     * Sets which part of the span is random, from the upper bound down; 1, full jitter, unless said. With 0 every wait is
     * its upper bound.
     *
     * @param share between 0 and 1
     * @return the changed backoff
     * @throws IllegalArgumentException if the share is out of range
     */
    public Backoff jitter(double share) {
        if (!(share >= 0 && share <= 1)) {
            throw new IllegalArgumentException("jitter must be between 0 and 1, was " + share);
        }
        return new Backoff(baseNanos, capNanos, floorNanos, share);
    }

    /**
     * The upper bound of the wait after the n-th failure.
     *
     * @param n counting from 0
     * @return min(cap, base · 2^n)
     */
    public Duration bound(int n) {
        return Duration.ofNanos(boundNanos(n));
    }

    /**
     * A wait after the n-th failure.
     *
     * @param n counting from 0
     * @param random uniform in [0, 1)
     * @return the wait
     */
    public Duration delay(int n, double random) {
        return Duration.ofNanos(waitNanos(n, random));
    }

    long waitNanos(int n, double random) {
        long bound = Math.max(floorNanos, boundNanos(n));
        long least = Math.max(floorNanos, (long) (bound * (1 - jitter)));
        return least + (long) ((bound - least) * (jitter == 0 ? 1 : random));
    }

    private long boundNanos(int n) {
        if (n < 0) {
            throw new IllegalArgumentException("a backoff counts from 0, was " + n);
        }
        return n >= 62 || baseNanos > capNanos >> n ? capNanos : baseNanos << n;
    }

    @Override
    public String toString() {
        return "Backoff from " + Duration.ofNanos(baseNanos) + " to " + Duration.ofNanos(capNanos);
    }
}
