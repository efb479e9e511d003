package io.github.reactorratelimit.test;

/** Counts in windows that start at whole multiples of their length on the server's clock. */
final class AlignedWindow implements ServerLimit.Counter {

    private final long permits;
    private final long periodMillis;
    private long window = Long.MIN_VALUE;
    private long used;

    AlignedWindow(long permits, long periodMillis) {
        this.permits = permits;
        this.periodMillis = periodMillis;
    }

    @Override
    public ServerLimit.Standing look(long nowMillis) {
        long left = permits - (window == at(nowMillis) ? used : 0);
        long endMillis = (at(nowMillis) + 1) * periodMillis;
        return new ServerLimit.Standing(permits, left, endMillis, left > 0 ? nowMillis : endMillis);
    }

    @Override
    public void take(long nowMillis) {
        if (window != at(nowMillis)) {
            window = at(nowMillis);
            used = 0;
        }
        used++;
        assert used <= permits : used + " of " + permits;
    }

    private long at(long nowMillis) {
        return Math.floorDiv(nowMillis, periodMillis);
    }
}
