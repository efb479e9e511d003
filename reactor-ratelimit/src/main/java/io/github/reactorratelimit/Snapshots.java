package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSnapshot.LineState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Writes down how the nodes stand, a few at a time; under the monitor. */
final class Snapshots {

    private final Settings settings;
    private final Tree tree;
    private final List<Node> nodes;
    private final List<ScopeState> scopes;
    private final int waiting;
    private final int timers;
    private int next;

    Snapshots(Settings settings, Tree tree, Turns turns, Timers timers, long now) {
        this.settings = settings;
        this.tree = tree;
        this.nodes = tree.nodes();
        this.scopes = new ArrayList<>(nodes.size() + 1);
        this.waiting = turns.waiting();
        this.timers = timers.size();
        scopes.add(scope(settings, tree, tree.root, now));
    }

    /** Looks at some more keys; whether those were all. */
    boolean more(long now) {
        int end = Math.min(nodes.size(), next + WaitingRoom.PASS);
        while (next < end) {
            Node node = nodes.get(next++);
            if (!node.forgotten) {
                scopes.add(scope(settings, tree, node, now));
            }
        }
        return next == nodes.size();
    }

    RateLimiterSnapshot taken() {
        return new RateLimiterSnapshot(settings.name(), List.copyOf(scopes), waiting, timers);
    }

    static ScopeState scope(Settings settings, Tree tree, Node node, long now) {
        node.advance(now);
        List<LimitState> limits = new ArrayList<>();
        for (Meter meter : node.allMeters()) {
            limits.add(new LimitState(meter.limit, meter.available(now), duration(meter.fullAt(now), now)));
        }
        List<LineState> lines = new ArrayList<>();
        for (Slot slot : node.slots) {
            if (slot.line != null && slot.line.first != null) {
                lines.add(line(settings, slot, slot.line, slot.line.first, now));
            }
        }
        long closedFor = node.gate.isClosed(now) ? node.gate.closedUntil - now : 0;
        List<String> by =
                node.depth == 0 ? List.of() : tree.scopes().get(node.depth - 1).attributes();
        return new ScopeState(
                by,
                tree.endpoint(node),
                Tree.labels(node),
                limits,
                Duration.ofNanos(closedFor),
                node.gate.waves,
                List.copyOf(lines));
    }

    private static LineState line(Settings settings, Slot slot, Line line, Ticket first, long now) {
        long at = now;
        Limit blockedBy = null;
        for (Node node = slot.node; node != null; node = node.parent) {
            if (node.gate.closedUntil > at) {
                at = node.gate.closedUntil;
                blockedBy = null;
            }
            if (node.ramp != null && node.ramp.readyAt(now) > at) {
                at = node.ramp.readyAt(now);
                blockedBy = null;
            }
            Meters learned = node.learned == null ? Meters.NONE : node.learned.shares(slot.lane);
            for (Meter[] meters : List.of(node.allMeters(), node.shares[slot.lane].each, learned.each)) {
                for (Meter meter : meters) {
                    long ready = meter.readyAt(now, first.demand.costFor(meter));
                    if (ready > at) {
                        at = ready;
                        blockedBy = meter.limit;
                    }
                }
            }
        }
        return new LineState(settings.lanes().name(slot.lane), line.size(), blockedBy, duration(at, now));
    }

    private static @Nullable Duration duration(long at, long now) {
        return at == Exact.NEVER ? null : Duration.ofNanos(at - now);
    }
}
