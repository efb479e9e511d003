package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.Cause;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What passes have to tell about scopes that were closed and opened; under the monitor. If nobody listens nothing is kept. */
final class News {

    /**
     * That a scope was closed, or opened if there is no cause.
     *
     * @param remainingNanos how long it is closed from then on
     * @param addedNanos how much of that is new
     */
    record Item(
            Node node,
            long remainingNanos,
            long addedNanos,
            @Nullable Cause cause) {}

    private final boolean wanted;
    private final Timers timers;
    private List<Item> items = new ArrayList<>(0);
    // Read after the monitor is left.
    private volatile boolean some;

    News(boolean wanted, Timers timers) {
        this.wanted = wanted;
        this.timers = timers;
    }

    /** A scope was closed for {@code added} more; what adds nothing is no news. */
    void closed(long now, Node node, long added, Cause cause) {
        if (!wanted || added <= 0) {
            return;
        }
        Gate gate = node.gate;
        Reopening reopening = gate.reopening;
        if (reopening == null) {
            reopening = new Reopening(node, cause);
            gate.reopening = reopening;
        }
        reopening.cause = cause;
        timers.set(reopening, gate.closedUntil);
        add(new Item(node, gate.closedUntil - now, added, cause));
    }

    /** A scope took over what another one is closed for. */
    void joined(long now, Node from, Node into, long added) {
        Reopening reopening = from.gate.reopening;
        if (reopening != null) {
            closed(now, into, added, reopening.cause);
        }
    }

    /** A scope was opened by hand. */
    void opened(Node node) {
        Reopening reopening = node.gate.reopening;
        if (reopening != null) {
            timers.remove(reopening);
            node.gate.reopening = null;
            add(new Item(node, 0, 0, null));
        }
    }

    /** The time of a closing is over. */
    void due(Reopening reopening) {
        reopening.node.gate.reopening = null;
        add(new Item(reopening.node, 0, 0, null));
    }

    private void add(Item item) {
        items.add(item);
        some = true;
    }

    /** Whether there is something to tell; may be asked outside the monitor. */
    boolean isSome() {
        return some;
    }

    /** What is to be told, in order; it is handed over. */
    List<Item> take() {
        List<Item> all = items;
        items = new ArrayList<>(0);
        some = false;
        return all;
    }
}
