package io.github.reactorratelimit.test;

/** Counts in a token bucket that is full at the start and refills continuously. */
final class ChatBucket implements ChatMeter {

    private final long capacity;
    private final long refill;
    private final long periodMillis;

    /** What is there in parts, of which {@code periodMillis} are one permit: so a millisecond adds a whole number. */
    private long parts;

    private long atMillis = Long.MIN_VALUE;

    ChatBucket(long capacity, long refill, long periodMillis) {
        this.capacity = capacity;
        this.refill = refill;
        this.periodMillis = periodMillis;
        this.parts = capacity * periodMillis;
    }

    @Override
    public long limit() {
        return capacity;
    }

    @Override
    public long remaining(long nowMillis) {
        fill(nowMillis);
        return parts / periodMillis;
    }

    @Override
    public long passesAt(long cost, long nowMillis) {
        fill(nowMillis);
        return nowMillis + millisFor(cost * periodMillis - parts);
    }

    @Override
    public long fullAt(long nowMillis) {
        return passesAt(capacity, nowMillis);
    }

    @Override
    public void take(long cost, long nowMillis) {
        fill(nowMillis);
        parts -= cost * periodMillis;
        assert parts >= 0 : cost + " more than was there";
    }

    @Override
    public void giveBack(long cost, long takenMillis, long nowMillis) {
        fill(nowMillis);
        parts = Math.min(capacity * periodMillis, parts + cost * periodMillis);
    }

    @Override
    public long mostIn(long spanMillis) {
        return capacity + refill * spanMillis / periodMillis;
    }

    private void fill(long nowMillis) {
        if (atMillis == Long.MIN_VALUE) {
            atMillis = nowMillis;
        } else if (nowMillis > atMillis) {
            long missing = capacity * periodMillis - parts;
            boolean full = nowMillis - atMillis >= millisFor(missing);
            parts += full ? missing : (nowMillis - atMillis) * refill;
            atMillis = nowMillis;
        }
    }

    private long millisFor(long missing) {
        return missing <= 0 ? 0 : -Math.floorDiv(-missing, refill);
    }
}
