package io.github.reactorratelimit.benchmarks.shared;

import java.util.concurrent.atomic.AtomicLongArray;

/** How long calls took, to an eighth of their length. */
final class Latencies {

    private static final int STEPS = 8;

    private final AtomicLongArray counts = new AtomicLongArray(64 * STEPS);

    void add(long nanos) {
        counts.incrementAndGet(place(Math.max(STEPS, nanos)));
    }

    private static int place(long nanos) {
        int exponent = 63 - Long.numberOfLeadingZeros(nanos);
        return exponent * STEPS + (int) ((nanos >> (exponent - 3)) & (STEPS - 1));
    }

    private static long upper(int place) {
        int exponent = place / STEPS;
        return (1L << exponent) + ((place % STEPS + 1L) << (exponent - 3));
    }

    private long count() {
        long count = 0;
        for (int i = 0; i < counts.length(); i++) {
            count += counts.get(i);
        }
        return count;
    }

    /** So many thousandths of all calls took at most this, in milliseconds. */
    double millis(int perMille) {
        long left = Math.max(1, count() * perMille / 1_000);
        for (int i = 0; i < counts.length(); i++) {
            left -= counts.get(i);
            if (left <= 0) {
                return upper(i) / 1e6;
            }
        }
        return 0;
    }
}
