package io.github.reactorratelimit.test;

import io.github.reactorratelimit.test.ServerLimit.Counter;
import io.github.reactorratelimit.test.ServerLimit.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/**
 * One user of OneNote, or the application: so many per minute, per hour and in flight, and a throttle that each call that
 * comes too early makes longer.
 */
final class ThrottledScope {

    private static final long THROTTLE_MILLIS = 30_000;

    private final List<Counter> windows;
    private final int mostInFlight;
    private final PriorityQueue<Long> ends = new PriorityQueue<>();
    private long throttledUntil = Long.MIN_VALUE;

    ThrottledScope(int perMinute, int perHour, int mostInFlight) {
        this.windows = List.of(
                ServerLimit.slidingWindow(perMinute, Duration.ofMinutes(1)).newCounter(),
                ServerLimit.slidingWindow(perHour, Duration.ofHours(1)).newCounter());
        this.mostInFlight = mostInFlight;
    }

    /** Whether it has no room for one more call, and what this call does to the throttle. */
    boolean refuses(long nowMillis) {
        boolean refuses = nowMillis < throttledUntil || fullest(nowMillis) >= 1;
        if (refuses) {
            throttledUntil = Math.max(throttledUntil, nowMillis + THROTTLE_MILLIS);
        }
        return refuses;
    }

    void take(long nowMillis, long endMillis) {
        windows.forEach(window -> window.take(nowMillis));
        ends.add(endMillis);
    }

    /** The use of the limit that has least left, 1 if it is all used. */
    double fullest(long nowMillis) {
        List<Double> uses = new ArrayList<>();
        for (Counter window : windows) {
            Standing standing = window.look(nowMillis);
            uses.add((double) (standing.limit() - standing.remaining()) / standing.limit());
        }
        uses.add((double) inFlight(nowMillis) / mostInFlight);
        return uses.stream().mapToDouble(Double::doubleValue).max().orElse(0);
    }

    private int inFlight(long nowMillis) {
        while (!ends.isEmpty() && ends.peek() <= nowMillis) {
            ends.remove();
        }
        return ends.size();
    }
}
