package io.github.reactorratelimit;

import java.util.Collection;
import java.util.List;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** One key of one scope: its books, its cooldown, and a place per lane for those who wait for it. */
final class Node extends KeyTraffic {

    final @Nullable Node parent;
    /** How the key is shown to people; empty for the root. */
    final String label;
    /** The value, or the values, that the parent knows it by. */
    final Object key;

    final int depth;
    /** Rises with every key that comes to be known. */
    final long number;

    final Slot[] slots;
    /** A permit holds something here, or above, until it is released. */
    boolean holds;

    /** How its calls came out lately; null unless a limiter looks at that. */
    @Nullable
    Breaker breaker;

    /** The keys right below; null as long as there was none. */
    @Nullable
    Children children;
    /** The server's bucket that it stands for, once that is told. */
    Buckets.@Nullable Bucket bucket;
    /** Where it went, when it turned out to share the bucket of another key. */
    @Nullable
    Node sharedWith;
    /** Tickets that wait for it, rest for it, or hold something of it. */
    int users;

    long lastUsed;
    /** When somebody got a permit last that keeps it no longer. */
    long leftAt;

    boolean forgotten;
    /** That somebody else uses its quota was logged. */
    boolean toldOfOthers;
    /** What a store calls it; null as long as it was not asked about it. */
    @Nullable
    String stored;
    /** When a store was told the usage figure that is known here, on its clock. */
    long usageToldAt;
    /** What a store is known to refuse here; null if nothing. */
    private @Nullable StoreGate storeGate;

    @Nullable
    Node older;

    @Nullable
    Node newer;

    Node(
            @Nullable Node parent,
            Object key,
            String label,
            List<Limit> limits,
            Lanes lanes,
            long number,
            long now,
            LongUnaryOperator wall) {
        super(limits, lanes, now, wall);
        this.parent = parent;
        this.key = key;
        this.label = label;
        this.depth = parent == null ? 0 : parent.depth + 1;
        this.number = number;
        this.holds = holds();
        this.lastUsed = now;
        this.leftAt = now;
        this.slots = new Slot[lanes.count()];
        for (int lane = 0; lane < slots.length; lane++) {
            slots[lane] = new Slot(this, lane, parent == null ? null : parent.slots[lane]);
        }
    }

    private boolean holds() {
        return meters.has(Limit.Kind.IN_FLIGHT) || (parent != null && parent.holds);
    }

    /** When this demand fits here: past the cooldown, into every meter, and into its lane's share. */
    long readyAt(long now, Demand demand, int lane) {
        return Math.max(sharedReadyAt(now, demand), shareReadyAt(now, demand, lane));
    }

    long sharedReadyAt(long now, Demand demand) {
        long at = Math.max(shutUntil(now, demand), meters.readyAt(now, demand));
        at = learned == null ? at : Math.max(at, learned.readyAt(now, demand));
        return ramp == null ? at : Math.max(at, ramp.readyAt(now));
    }

    long shareReadyAt(long now, Demand demand, int lane) {
        long at = Math.max(shareShutUntil(lane), shares[lane].readyAt(now, demand));
        return learned == null ? at : Math.max(at, learned.shares(lane).readyAt(now, demand));
    }

    /** Nobody passes before, whatever the meters say. */
    long shutUntil(long now, Demand demand) {
        long at = Math.max(now, gate.closedUntil);
        return storeGate == null ? at : Math.max(at, storeGate.closedUntil(now, demand));
    }

    /** Nobody of this lane passes before; in the past if somebody may. */
    long shareShutUntil(int lane) {
        return storeGate == null ? Long.MIN_VALUE : storeGate.shareClosedUntil(lane);
    }

    /** A store refuses until then: this key, or only a lane's share of it. */
    void refused(long until, int lane, Demand demand, @Nullable Limit limit) {
        StoreGate known = storeGate;
        if (known == null) {
            known = new StoreGate(slots.length);
            storeGate = known;
        }
        if (lane < 0) {
            known.close(until, demand, limit);
        } else {
            known.closeShare(until, lane);
        }
    }

    /** What a store said doesn't count any more. */
    void forgetRefusals() {
        if (ramp != null) {
            ramp.followNoMore();
        }
        storeGate = null;
    }

    /** How often more, {@code most} times at the most, a demand fits here and above that was let in just before. */
    long fittingOnPath(long now, Demand demand, int lane, long most) {
        long times = most;
        for (Node node = this; node != null; node = node.parent) {
            times = node.fitting(now, demand, lane, times);
        }
        return times;
    }

    /** A lower bound of {@link #readyAt} behind {@code ahead} requests of the same line. */
    long expectedAt(long now, Demand demand, int lane, long ahead) {
        long at = Math.max(shutUntil(now, demand), shareShutUntil(lane));
        at = Math.max(at, meters.expectedAt(now, demand, ahead));
        at = Math.max(at, shares[lane].expectedAt(now, demand, ahead));
        return learned == null ? at : Math.max(at, learned.expectedAt(now, demand, lane, ahead));
    }

    /** Opens again at once, also what was closed by what was learned. */
    @Override
    void open(long now) {
        advance(now);
        super.open(now);
        leaveQuotas();
    }

    /** What was learned is no longer its business. */
    void leaveQuotas() {
        if (learned != null) {
            learned.leave(this);
            learned = null;
        }
    }

    /** As if nothing had ever been taken, closed or learned; permits that are out stand in no books. */
    void reset(long now, long generation) {
        begin(now, generation);
        if (ramp != null) {
            ramp.stop();
        }
        breaker = null;
        leaveQuotas();
        forgetRefusals();
    }

    @Override
    void change(long now, List<Limit> limits, Lanes lanes, long generation, LongUnaryOperator wall) {
        super.change(now, limits, lanes, generation, wall);
        holds = holds();
    }

    /** Takes over the books and the cooldown of another key, whose demands count here from now on. */
    void absorb(long now, Node other, long generation) {
        join(now, other, generation);
        absorb(now, other.ramp, generation);
        other.leaveQuotas();
        absorb(now, other.underWay);
        users += other.users;
        lastUsed = Math.max(lastUsed, other.lastUsed);
        leftAt = Math.max(leftAt, other.leftAt);
        holds = holds();
    }

    /** Whether forgetting it would change nothing: nobody uses it, it is open, it owes nothing and it is full. */
    boolean isIdle(long now) {
        return users == 0
                && children().isEmpty()
                && !gate.isClosed(now)
                && (learned == null || learned.isFull(now))
                && (ramp == null || ramp.isIdle(now))
                && isFull(now);
    }

    /** The least that the limits of its path let be out at once, or in one period; {@link Exact#NEVER} if there is none. */
    long permits() {
        long least = learned == null ? Exact.NEVER : learned.permits();
        for (Node node = this; node != null; node = node.parent) {
            least = Math.min(least, node.leastPermits());
        }
        return least;
    }

    /** Whether somebody stands in line here. */
    boolean isWaitedFor() {
        for (Slot slot : slots) {
            if (slot.state != Slot.State.EMPTY) {
                return true;
            }
        }
        return false;
    }

    /** The ramp, off unless it was on. */
    Ramp ramp() {
        Ramp known = ramp;
        if (known == null) {
            known = new Ramp(this);
            ramp = known;
        }
        return known;
    }

    private void absorb(long now, @Nullable Ramp other, long generation) {
        advance(now);
        if (other != null && other.isOn()) {
            ramp().absorb(other, generation);
        } else if (ramp != null) {
            ramp.absorb(null, generation);
        }
    }

    /** The order in which keys that change at the same time are placed: everything below a key before it. */
    boolean isPlacedBefore(Node other) {
        int shared = Math.min(depth, other.depth);
        Node here = above(shared);
        Node there = other.above(shared);
        if (here == there) {
            return depth > other.depth;
        }
        while (here.parent != null && there.parent != null && here.parent != there.parent) {
            here = here.parent;
            there = there.parent;
        }
        return here.number < there.number;
    }

    Node above(int wanted) {
        Node node = this;
        while (node.depth > wanted && node.parent != null) {
            node = node.parent;
        }
        return node;
    }

    /** Itself; or, where it was forgotten and has come again since, the key that it is known as now. */
    Node latest() {
        Node above = parent;
        if (!forgotten || sharedWith != null || above == null) {
            return this;
        }
        Node again = above.latest().child(key);
        return again != null && again.key.equals(key) ? again : this;
    }

    void addChild(Node child) {
        if (children == null) {
            children = new Children();
        }
        children.add(child);
    }

    /** A key of a child that counts at another child. */
    void addRoute(Object childKey, Node child) {
        if (children != null) {
            children.addRoute(childKey, child);
        }
    }

    void dropRoute(Object childKey) {
        if (children != null) {
            children.dropRoute(childKey);
        }
    }

    @Nullable
    Node child(Object childKey) {
        return children == null ? null : children.at(childKey);
    }

    /** The keys right below, as they came to be known. */
    Collection<Node> children() {
        return children == null ? List.of() : children.all();
    }
}
