package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What responses teach about quotas that nobody configured, or that are smaller than configured. */
final class Learning {

    /** Whether a limiter learns. */
    enum Mode {
        OFF,
        ON,
        /** And spreads what is left over what is left of the window. */
        PACED
    }

    private final Mode mode;
    private final Generations generations;
    private final Routing routing;
    private final Map<Shared, LearnedMeter> shared = new HashMap<>();
    private @Nullable Node regrouped;

    Learning(Mode mode, Generations generations, Routing routing) {
        this.mode = mode;
        this.generations = generations;
        this.routing = routing;
    }

    /**
     * An answer tells of its quotas, or doesn't; whether that may have changed anything.
     *
     * @param first this is the first that is heard of the permit
     */
    boolean hear(long now, Node leaf, Ticket ticket, RateLimitSignal signal, boolean first) {
        if (mode == Mode.OFF) {
            return false;
        }
        regrouped = null;
        List<Quota> quotas = signal.quotas();
        boolean changed = false;
        for (int i = 0; i < quotas.size(); i++) {
            Quota quota = quotas.get(i);
            if (LearnedMeter.teaches(quota) && !quota.unit().equals("concurrent-requests")) {
                learn(now, node(leaf, signal, quota), ticket, quota);
                changed = true;
            }
        }
        if (!changed) {
            for (Node node = leaf; node != null; node = node.parent) {
                changed |= unsaid(now, node, ticket, signal, first);
            }
        }
        return changed;
    }

    private Node node(Node leaf, RateLimitSignal signal, Quota quota) {
        Node keyed = routing.keyed(leaf, quota.partition());
        Node named = keyed != null ? keyed : routing.named(leaf, signal);
        return named == null ? leaf : named;
    }

    private void learn(long now, Node node, Ticket ticket, Quota quota) {
        Learned learned = node.learned;
        LearnedMeter meter = learned == null ? null : learned.of(quota);
        if (quota.exhausted() && isAsEmpty(now, node, quota, LearnedMeter.earliestReset(ticket.sentAt, quota))) {
            forget(node, meter); // The books agree, and the finer clock, ours, decides.
            return;
        }
        if (meter == null) {
            if (learned == null) {
                learned = new Learned();
                node.learned = learned;
            }
            meter = books(node, quota);
            LearnedMeter ousted = learned.add(node, meter);
            if (ousted != null) {
                left(node, ousted);
            }
        }
        meter.learn(now, ticket.sentAt, quota);
    }

    /** Keys that differ in their route only and are told of the same partition share its books; never two tokens or users. */
    private LearnedMeter books(Node node, Quota quota) {
        Node parent = node.parent;
        Object others = parent == null ? null : routing.besidesRoute(node);
        if (quota.partition() == null
                || parent == null
                || others == null
                || routing.keyed(node, quota.partition()) != null) {
            return new LearnedMeter(quota, period(quota), generations, mode == Mode.PACED);
        }
        Shared key = new Shared(parent, others, quota.name(), quota.unit(), quota.limit(), quota.partition());
        shared.values().removeIf(meter -> meter.members().isEmpty());
        return shared.computeIfAbsent(
                key, k -> new LearnedMeter(quota, period(quota), generations, mode == Mode.PACED));
    }

    private record Shared(
            Node parent,
            Object others,
            String name,
            String unit,
            long limit,
            @Nullable String partition) {}

    /** Whether a configured limit says the same as an empty quota: nothing goes before {@code until}. */
    static boolean isAsEmpty(long now, Node node, Quota quota, long until) {
        for (Meter meter : node.meters) {
            Limit.Kind kind = meter.limit.kind();
            boolean timed = kind == Limit.Kind.WINDOW || kind == Limit.Kind.BUCKET;
            if (timed && meter.limit.unit().equals(quota.unit()) && meter.readyAt(now, 1) >= until) {
                return true;
            }
        }
        return false;
    }

    private static long period(Quota quota) {
        return quota.window() == null ? 0 : Exact.nanos(quota.window());
    }

    /** Until when a quota that is empty is known to stay so; {@link Exact#NEVER} if it isn't learned. */
    long emptyUntil(long now, Node leaf, RateLimitSignal signal, Quota quota) {
        Learned learned = node(leaf, signal, quota).learned;
        LearnedMeter meter = learned == null ? null : learned.of(quota);
        return meter != null && meter.isKnown(now) ? meter.latest() : Exact.NEVER;
    }

    /** The key below which by the last hearing one left others with whom it shared a quota; null if none did. */
    @Nullable
    Node regrouped() {
        return regrouped;
    }

    private void left(Node node, LearnedMeter meter) {
        Node parent = node.parent;
        if (!meter.members().isEmpty() && parent != null && (regrouped == null || parent.depth < regrouped.depth)) {
            regrouped = parent;
        }
    }

    /** Whether a refusal names a partition, whose books hold up all keys that share it, and no other. */
    boolean namesPartition(RateLimitSignal signal) {
        List<Quota> quotas = signal.quotas();
        for (int i = 0; mode != Mode.OFF && i < quotas.size(); i++) {
            Quota quota = quotas.get(i);
            if (quota.partition() != null && quota.exhausted() && LearnedMeter.teaches(quota)) {
                return true;
            }
        }
        return false;
    }

    /** Whoever asked what is left, and got a good answer that doesn't say: then there is nothing to learn any more. */
    private boolean unsaid(long now, Node node, Ticket ticket, RateLimitSignal signal, boolean first) {
        Learned learned = node.learned;
        if (learned == null) {
            return false;
        }
        for (LearnedMeter meter : learned.meters()) {
            if (meter.isKnown(now)) {
                meter.unsaid(now, first ? ticket.costFor(meter) : 0);
            } else if (meter.knows(ticket) && signal.status() < 500 && !signal.throttled()) {
                forget(node, meter);
            }
        }
        return true;
    }

    private void forget(Node node, @Nullable LearnedMeter meter) {
        Learned learned = node.learned;
        if (learned == null || meter == null) {
            return;
        }
        learned.remove(node, meter);
        left(node, meter);
        if (node.permits() == Exact.NEVER) {
            node.ramp().begin(generations.next(), true);
        }
    }
}
