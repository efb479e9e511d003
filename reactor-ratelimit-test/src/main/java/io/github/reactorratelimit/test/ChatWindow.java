package io.github.reactorratelimit.test;

import java.util.ArrayDeque;
import java.util.Deque;

/** Counts what passed in the period that ends now. */
final class ChatWindow implements ChatMeter {

    /** What was taken at one time; less once it was corrected. */
    private static final class Taken {
        final long atMillis;
        long cost;

        Taken(long atMillis, long cost) {
            this.atMillis = atMillis;
            this.cost = cost;
        }
    }

    private final long permits;
    private final long periodMillis;
    private final Deque<Taken> taken = new ArrayDeque<>();
    private long used;

    ChatWindow(long permits, long periodMillis) {
        this.permits = permits;
        this.periodMillis = periodMillis;
    }

    @Override
    public long limit() {
        return permits;
    }

    @Override
    public long remaining(long nowMillis) {
        forget(nowMillis);
        return permits - used;
    }

    @Override
    public long passesAt(long cost, long nowMillis) {
        long missing = cost - remaining(nowMillis);
        long at = nowMillis;
        for (Taken each : taken) {
            if (missing <= 0) {
                break;
            }
            missing -= each.cost;
            at = each.atMillis + periodMillis;
        }
        return at;
    }

    @Override
    public long fullAt(long nowMillis) {
        return passesAt(permits, nowMillis);
    }

    @Override
    public void take(long cost, long nowMillis) {
        taken.addLast(new Taken(nowMillis, cost));
        used += cost;
        assert used <= permits : used + " of " + permits;
    }

    @Override
    public void giveBack(long cost, long takenMillis, long nowMillis) {
        long left = cost;
        for (Taken each : taken) {
            if (each.atMillis == takenMillis) {
                long back = Math.min(left, each.cost);
                each.cost -= back;
                used -= back;
                left -= back;
            }
        }
    }

    @Override
    public long mostIn(long spanMillis) {
        return permits * (1 + spanMillis / periodMillis);
    }

    private void forget(long nowMillis) {
        Taken first = taken.peekFirst();
        while (first != null && first.atMillis + periodMillis <= nowMillis) {
            used -= first.cost;
            taken.removeFirst();
            first = taken.peekFirst();
        }
    }
}
