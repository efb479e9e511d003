package io.github.reactorratelimit;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the model knows of one demand, and of the permit it becomes: plain facts with their times, nothing derived. */
final class ModelDemand {

    enum State {
        RESTING,
        WAITING,
        HELD,
        DONE
    }

    final int id;
    final Demand asked;
    final ModelKey leaf;
    final int lane;
    final boolean front;
    final Ticket.Tells tells;
    State state = State.DONE;
    /** The running number of its joining the line. */
    long arrival;

    long joinedAt;
    long deadline = Exact.NEVER;
    /** When something is due of it, and the running number of when that was fixed. */
    long dueAt = Exact.NEVER;

    long dueFixed;

    /** The running number of its grant. */
    long granted;

    long grantedAt;
    long sentAt = Exact.NEVER;
    long headAt = Exact.NEVER;
    long endedAt = Exact.NEVER;
    boolean refunded;
    /** Something was said about what came of it. */
    boolean heard;
    /** Nobody told of it for so long that it counts as answered. */
    boolean takenForAnswered;

    final Map<String, Long> settled = new LinkedHashMap<>();

    ModelDemand(int id, Demand asked, ModelKey leaf, int lane, boolean front, Ticket.Tells tells) {
        this.id = id;
        this.asked = asked;
        this.leaf = leaf;
        this.lane = lane;
        this.front = front;
        this.tells = tells;
    }

    long cost(Limit limit) {
        return asked.cost(limit.unit());
    }

    boolean isCharged() {
        return state == State.HELD || (state == State.DONE && endedAt != Exact.NEVER && !refunded);
    }

    /** Of whose end nobody has to tell. */
    boolean isBare() {
        return tells == Ticket.Tells.NOTHING;
    }

    boolean isUnanswered() {
        return state == State.HELD && !isHeaded();
    }

    /** Bare, held, and not so long that it is taken for answered. */
    boolean isAwaited(long now) {
        return isBare() && state == State.HELD && grantedAt + 20_000_000_000L > now;
    }

    /** Bare, held, and granted in this stretch of 20 s or in the one before. */
    boolean isInHand(long now) {
        long stretch = 20_000_000_000L;
        return isBare() && state == State.HELD && now / stretch - grantedAt / stretch <= 1;
    }

    /** What it costs as far as is known. */
    long dueCost(String unit) {
        Long actual = settled.get(unit);
        long most = asked.cost(unit) + (1L << 50);
        return actual == null ? asked.cost(unit) : Math.min(actual, most);
    }

    boolean isHeaded() {
        return headAt != Exact.NEVER;
    }

    /** The latest instant at which the server can have seen it, as far as is known. */
    long latestSeen(boolean strict) {
        long bySending = sentAt == Exact.NEVER ? Exact.NEVER : sentAt + WindowMeter.TRANSIT_NANOS;
        long byEnding = endedAt == Exact.NEVER ? Exact.NEVER : endedAt + WindowMeter.TRANSIT_NANOS;
        if (isHeaded()) {
            return strict ? headAt : Math.min(headAt, bySending);
        }
        return strict || bySending == Exact.NEVER ? byEnding : bySending;
    }

    /** From when on it counts as taken: when it was sent, as far as that is known. */
    long takenAt() {
        if (sentAt != Exact.NEVER) {
            return sentAt;
        }
        return endedAt == Exact.NEVER || refunded ? grantedAt : endedAt;
    }

    @Nullable
    Long settledCost(Limit limit) {
        return settled.get(limit.unit());
    }
}
