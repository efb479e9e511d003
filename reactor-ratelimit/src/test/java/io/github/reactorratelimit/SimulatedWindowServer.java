package io.github.reactorratelimit;

import java.util.ArrayDeque;
import java.util.Deque;

/** Counts requests as they arrive, by its own clock, in all three kinds of window at once; says how often one was over. */
final class SimulatedWindowServer {

    private final int permits;
    private final long period;
    private final double clockRate;
    private final Deque<Long> sliding = new ArrayDeque<>();
    private long fixedStart = Long.MIN_VALUE;
    private int fixedCount;
    private long alignedStart = Long.MIN_VALUE;
    private int alignedCount;
    private int requests;
    private int refusals;

    SimulatedWindowServer(int permits, long period, double clockPartsPerMillion) {
        this.permits = permits;
        this.period = period;
        this.clockRate = 1 + clockPartsPerMillion / 1_000_000;
    }

    /** A request arrives; times never run backwards. */
    void arrive(long realNanos) {
        long now = (long) (realNanos * clockRate);
        requests++;
        while (!sliding.isEmpty() && now - sliding.peekFirst() >= period) {
            sliding.removeFirst();
        }
        sliding.addLast(now);
        if (fixedStart == Long.MIN_VALUE || now - fixedStart >= period) {
            fixedStart = now;
            fixedCount = 0;
        }
        fixedCount++;
        long aligned = Math.floorDiv(now, period);
        if (aligned != alignedStart) {
            alignedStart = aligned;
            alignedCount = 0;
        }
        alignedCount++;
        if (sliding.size() > permits || fixedCount > permits || alignedCount > permits) {
            refusals++;
        }
    }

    int requests() {
        return requests;
    }

    /** How many requests were over the limit of any of the three. */
    int refusals() {
        return refusals;
    }
}
