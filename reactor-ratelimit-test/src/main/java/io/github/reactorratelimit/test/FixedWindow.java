package io.github.reactorratelimit.test;

/** Counts in windows that start with the first request. */
final class FixedWindow implements ServerLimit.Counter {

    private final long permits;
    private final long periodMillis;
    private long endMillis;
    private long used;

    FixedWindow(long permits, long periodMillis) {
        this.permits = permits;
        this.periodMillis = periodMillis;
    }

    @Override
    public ServerLimit.Standing look(long nowMillis) {
        if (!open(nowMillis)) {
            return new ServerLimit.Standing(permits, permits, nowMillis + periodMillis, nowMillis);
        }
        long left = permits - used;
        return new ServerLimit.Standing(permits, left, endMillis, left > 0 ? nowMillis : endMillis);
    }

    @Override
    public void take(long nowMillis) {
        if (!open(nowMillis)) {
            endMillis = nowMillis + periodMillis;
            used = 0;
        }
        used++;
        assert used <= permits : used + " of " + permits;
    }

    private boolean open(long nowMillis) {
        return used > 0 && nowMillis < endMillis;
    }
}
