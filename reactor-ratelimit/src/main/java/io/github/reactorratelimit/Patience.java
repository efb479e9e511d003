package io.github.reactorratelimit;

/**
 * How long one call may wait in all before somebody else is asked: in line, for scopes to open, between attempts. Used by
 * one attempt at a time, over several sources.
 */
final class Patience {

    private long leftNanos;

    Patience(long nanos) {
        this.leftNanos = nanos;
    }

    long leftNanos() {
        return leftNanos;
    }

    void spend(long nanos) {
        leftNanos = Math.max(0, leftNanos - Math.max(0, nanos));
    }
}
