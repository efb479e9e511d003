package io.github.reactorratelimit.test;

import java.util.ArrayDeque;
import java.util.Deque;

/** Counts what passed in the period that ends now. */
final class SlidingWindow implements ServerLimit.Counter {

    private final long permits;
    private final long periodMillis;
    private final Deque<Long> passed = new ArrayDeque<>();

    SlidingWindow(long permits, long periodMillis) {
        this.permits = permits;
        this.periodMillis = periodMillis;
    }

    @Override
    public ServerLimit.Standing look(long nowMillis) {
        forget(nowMillis);
        long left = permits - passed.size();
        Long first = passed.peekFirst();
        Long last = passed.peekLast();
        return new ServerLimit.Standing(
                permits,
                left,
                last == null ? nowMillis : last + periodMillis,
                left > 0 || first == null ? nowMillis : first + periodMillis);
    }

    @Override
    public void take(long nowMillis) {
        passed.addLast(nowMillis);
        assert passed.size() <= permits : passed.size() + " of " + permits;
    }

    private void forget(long nowMillis) {
        Long first = passed.peekFirst();
        while (first != null && first + periodMillis <= nowMillis) {
            passed.removeFirst();
            first = passed.peekFirst();
        }
    }
}
