package io.github.reactorratelimit.signal;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A time in seconds and nanoseconds, or nothing; a {@link Duration} that can change. */
final class Span {

    boolean known;
    long seconds;
    int nanos;
    /** Whether it came from an absolute time in whole seconds. */
    boolean coarse;

    void clear() {
        known = false;
        coarse = false;
    }

    void set(long newSeconds, int newNanos, boolean wholeSeconds) {
        known = true;
        seconds = newSeconds;
        nanos = newNanos;
        coarse = wholeSeconds;
    }

    /** Takes a time if it is longer than the one at hand. */
    boolean longest(long newSeconds, int newNanos, boolean wholeSeconds) {
        if (known && (newSeconds < seconds || (newSeconds == seconds && newNanos <= nanos))) {
            return false;
        }
        set(newSeconds, newNanos, wholeSeconds);
        return true;
    }

    boolean longest(Span other) {
        return other.known && longest(other.seconds, other.nanos, other.coarse);
    }

    boolean isAsLongAs(Span other) {
        return known && other.known && seconds == other.seconds && nanos == other.nanos;
    }

    /** Takes what is left from {@code nowMillis} until an instant, 0 if it is past; if it is longer. */
    boolean longestUntil(Span instant, long nowMillis) {
        if (!instant.known) {
            return false;
        }
        long left = instant.seconds - Math.floorDiv(nowMillis, 1000L);
        int leftNanos = instant.nanos - (int) Math.floorMod(nowMillis, 1000L) * 1_000_000;
        if (leftNanos < 0) {
            left--;
            leftNanos += Scan.BILLION;
        }
        return left < 0 ? longest(0, 0, instant.coarse) : longest(left, leftNanos, instant.coarse);
    }

    @Nullable
    Duration duration() {
        return known ? Duration.ofSeconds(seconds, nanos) : null;
    }
}
