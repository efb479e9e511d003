package io.github.reactorratelimit.test;

/**
 * Counts as a bucket that is full at first and refills steadily. It holds parts of a permit, of which one permit has as many
 * as the period has milliseconds, so that each millisecond adds a whole number of them.
 */
final class RefilledBucket implements ServerLimit.Counter {

    /** So that they, and what refills them, fit into a long. */
    static final long MOST_PARTS = 1_000_000_000_000_000_000L;

    private final long capacity;
    private final long refill;
    private final long periodMillis;
    private long parts;
    private long atMillis = Long.MIN_VALUE;

    RefilledBucket(long capacity, long refill, long periodMillis) {
        this.capacity = capacity;
        this.refill = refill;
        this.periodMillis = periodMillis;
        this.parts = capacity * periodMillis;
    }

    @Override
    public ServerLimit.Standing look(long nowMillis) {
        long held = held(nowMillis);
        long left = held / periodMillis;
        return new ServerLimit.Standing(
                capacity,
                left,
                nowMillis + millisFor(capacity * periodMillis - held),
                left > 0 ? nowMillis : nowMillis + millisFor(periodMillis - held));
    }

    @Override
    public void take(long nowMillis) {
        parts = held(nowMillis) - periodMillis;
        atMillis = nowMillis;
        assert parts >= 0 : parts + " parts";
    }

    private long held(long nowMillis) {
        long full = capacity * periodMillis;
        // Until it was used there is no time to count from; and what would overflow has filled it long ago.
        if (atMillis == Long.MIN_VALUE || nowMillis - atMillis >= millisFor(full - parts)) {
            return full;
        }
        return parts + Math.max(0, nowMillis - atMillis) * refill;
    }

    private long millisFor(long missing) {
        return (missing + refill - 1) / refill;
    }
}
