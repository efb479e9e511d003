package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
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
    private final Lanes lanes;
    private final Generations generations;
    private final Routing routing;
    private final Others others;
    private final Map<Shared, LearnedMeter> shared = new HashMap<>();
    private @Nullable Node regrouped;
    /** How many answers were heard: a quota that the last one told of knows its number. */
    private long hearings;

    Learning(Settings settings, Generations generations, Routing routing, Others others) {
        this.mode = settings.learning();
        this.lanes = settings.lanes();
        this.generations = generations;
        this.routing = routing;
        this.others = others;
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
        hearings++;
        List<Quota> quotas = signal.quotas();
        boolean changed = false;
        for (int i = 0; i < quotas.size(); i++) {
            Quota quota = quotas.get(i);
            if (LearnedMeter.teaches(quota) && !quota.unit().equals("concurrent-requests")) {
                learn(now, node(leaf, signal, quota), ticket, signal, quota);
                changed = true;
            }
        }
        for (Node node = leaf; node != null; node = node.parent) {
            changed |= unsaid(now, node, leaf, ticket, signal, first);
        }
        return changed;
    }

    /** What several processes have learned of a key together. */
    void shared(long now, Node node, LimitStore.Quota shared) {
        if (mode == Mode.OFF) {
            return;
        }
        Duration reset = Duration.ofNanos(shared.nanos());
        Duration window = shared.windowNanos() == 0 ? null : Duration.ofNanos(shared.windowNanos());
        Quota quota = new Quota(
                shared.name(),
                shared.unit(),
                shared.size(),
                Math.max(0, shared.left()),
                -1,
                reset,
                window,
                null,
                false);
        Learned learned = node.learned;
        if (learned == null) {
            learned = new Learned();
            node.learned = learned;
        }
        LearnedMeter meter = learned.of(quota);
        if (meter == null) {
            meter = books(quota);
            learned.add(node, meter);
        }
        meter.sharedWith(now, shared.left(), shared.nanos());
    }

    private Node node(Node leaf, RateLimitSignal signal, Quota quota) {
        Node keyed = routing.keyed(leaf, quota.partition());
        Node named = keyed != null ? keyed : routing.named(leaf, signal);
        return named == null ? leaf : named;
    }

    private void learn(long now, Node node, Ticket ticket, RateLimitSignal signal, Quota quota) {
        Learned learned = node.learned;
        LearnedMeter meter = learned == null ? null : learned.of(quota);
        long earliest = LearnedReset.earliest(ticket.sentAt, quota);
        if (quota.exhausted() && isAsEmpty(now, node, signal, quota, earliest)) {
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
        meter.heardIn = hearings;
        long cost = ticket.costFor(meter);
        long ours = meter.counted(now, quota, cost);
        boolean same = meter.learn(now, ticket, ticket.slot == null ? 0 : ticket.slot.lane, cost, quota);
        if (same && ours >= 0) {
            others.found(node, signal, quota, ours);
        }
    }

    /** Keys that differ in their route only and are told of the same partition share its books; never two tokens or users. */
    private LearnedMeter books(Node node, Quota quota) {
        Node parent = node.parent;
        Object besides = parent == null ? null : routing.besidesRoute(node);
        if (quota.partition() == null
                || parent == null
                || besides == null
                || routing.keyed(node, quota.partition()) != null) {
            return books(quota);
        }
        Shared key = new Shared(parent, besides, quota.name(), quota.unit(), quota.limit(), quota.partition());
        LearnedMeter known = shared.get(key);
        if (known == null) {
            known = books(quota);
            known.whenLeft(() -> shared.remove(key));
            shared.put(key, known);
        }
        return known;
    }

    private LearnedMeter books(Quota quota) {
        return new LearnedMeter(quota, period(quota), generations, mode == Mode.PACED, lanes);
    }

    private record Shared(
            Node parent,
            Object besides,
            String name,
            String unit,
            long limit,
            @Nullable String partition) {}

    /**
     * Whether a configured limit says the same as an empty quota: all that the server counts stands in its books, or nothing
     * goes before {@code until}. A server whose window slides may be full for an instant and tell when it will be empty.
     */
    static boolean isAsEmpty(long now, Node node, RateLimitSignal signal, Quota quota, long until) {
        if (!signal.throttled() && Others.countsOursOnly(now, node, quota)) {
            return true;
        }
        for (Meter meter : node.meters.each) {
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

    /** Until when the books of an empty quota hold up a key for {@code delay}; now if they don't, or not for so long. */
    static long emptyUntil(long now, Node node, Quota quota, long delay) {
        LearnedMeter meter = node.learned == null ? null : node.learned.of(quota);
        return meter != null && meter.isKnown(now) && LearnedReset.nanos(quota) >= delay ? meter.latest() : now;
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

    /**
     * Of what an answer leaves out its cost is used, unless it tells of another size under that name. Whoever asked what is
     * left, and got a good answer that doesn't say: then there is nothing to learn any more.
     */
    private boolean unsaid(long now, Node node, Node leaf, Ticket ticket, RateLimitSignal signal, boolean first) {
        Learned learned = node.learned;
        if (learned == null) {
            return false;
        }
        for (LearnedMeter meter : learned.meters()) {
            if (meter.heardIn == hearings) {
                continue;
            }
            if (meter.isKnown(now)) {
                meter.unsaid(now, first && !tellsOfAnother(node, leaf, signal, meter) ? ticket.costFor(meter) : 0);
            } else if (meter.knows(ticket) && signal.status() < 500 && !signal.throttled()) {
                forget(node, meter);
            }
        }
        return true;
    }

    /** A host may have several quotas under one name: then an answer tells which one its request counts against. */
    private boolean tellsOfAnother(Node node, Node leaf, RateLimitSignal signal, LearnedMeter meter) {
        List<Quota> quotas = signal.quotas();
        for (int i = 0; i < quotas.size(); i++) {
            Quota quota = quotas.get(i);
            if (LearnedMeter.teaches(quota) && meter.isNamedLike(quota) && node(leaf, signal, quota) == node) {
                return true;
            }
        }
        return false;
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
