package io.github.reactorratelimit;

import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** One key of one scope: all its meters, its cooldown, and a place per lane for those who wait for it. */
final class Node {

    private static final Meters[] NO_SHARES = {Meters.NONE};

    final @Nullable Node parent;
    /** How the key is shown to people; empty for the root. */
    final String label;
    /** The value, or the values, that the parent knows it by. */
    final Object key;

    final int depth;
    /** Rises with every key that comes to be known. */
    final long number;

    final Slot[] slots;
    Meters meters;
    /** A permit holds something here, or above, until it is released. */
    boolean holds;
    /** A limit here may be spent for good. */
    boolean budgeted;
    /** Per lane, the books of its share of every limit; none for a lane without one. */
    Meters[] shares;

    final Gate gate = new Gate();
    /** How it opens again; null if it was never refused. */
    @Nullable
    Ramp ramp;
    /** What responses told of its quotas; null if nothing. */
    @Nullable
    Learned learned;
    /** How its calls came out lately; null unless a limiter looks at that. */
    @Nullable
    Breaker breaker;

    /** Attempts that were granted and not answered yet. */
    long unanswered;
    /** Permits that nobody else tells of; null as long as there was none. */
    @Nullable
    InHand inHand;
    /** By key, as they came to be known; null as long as there are none. */
    @Nullable
    Map<Object, Node> children;
    /** By key, those that share the key of another child; null as long as there are none. */
    @Nullable
    Map<Object, Node> routes;
    /** The server's bucket that it stands for, once that is told. */
    Buckets.@Nullable Bucket bucket;
    /** Where it went, when it turned out to share the bucket of another key. */
    @Nullable
    Node sharedWith;
    /** Tickets that wait for it, rest for it, or hold something of it. */
    int users;

    long lastUsed;
    boolean forgotten;
    /** That somebody else uses its quota was logged. */
    boolean toldOfOthers;
    /** What a store calls it; null as long as it was not asked about it. */
    @Nullable
    String stored;
    /** When a store was told the usage figure that is known here, on its clock. */
    long usageToldAt;
    /** Until then a store is known to refuse demands of this cost and more in this unit, all of them without a unit. */
    private long refusedUntil = Long.MIN_VALUE;

    private @Nullable String refusedUnit;
    private long refusedCost;

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
        this.parent = parent;
        this.key = key;
        this.label = label;
        this.depth = parent == null ? 0 : parent.depth + 1;
        this.number = number;
        this.meters = Meters.of(limits, now, wall);
        this.shares = shares(limits, lanes, now, wall);
        this.holds = holds();
        this.budgeted = meters.has(Limit.Kind.TOTAL);
        this.lastUsed = now;
        this.slots = new Slot[lanes.count()];
        for (int lane = 0; lane < slots.length; lane++) {
            slots[lane] = new Slot(this, lane, parent == null ? null : parent.slots[lane]);
        }
    }

    private boolean holds() {
        return meters.has(Limit.Kind.IN_FLIGHT) || (parent != null && parent.holds);
    }

    private static Meters[] shares(List<Limit> limits, Lanes lanes, long now, LongUnaryOperator wall) {
        if (lanes.count() == 1 && lanes.share(0).isWhole()) {
            return NO_SHARES;
        }
        Meters[] all = new Meters[lanes.count()];
        for (int lane = 0; lane < all.length; lane++) {
            Share share = lanes.share(lane);
            all[lane] = share.isWhole()
                    ? Meters.NONE
                    : Meters.of(
                            limits.stream().map(limit -> limit.laneShare(share)).toList(), now, wall);
        }
        return all;
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
        long at = Math.max(slots[lane].refusedUntil, shares[lane].readyAt(now, demand));
        return learned == null ? at : Math.max(at, learned.shares(lane).readyAt(now, demand));
    }

    /** Nobody passes before, whatever the meters say. */
    long shutUntil(long now, Demand demand) {
        boolean refused = refusedUntil > now && (refusedUnit == null || demand.cost(refusedUnit) >= refusedCost);
        return Math.max(refused ? refusedUntil : now, gate.closedUntil);
    }

    /** A store refuses until then: this key, or only a lane's share of it. */
    void refused(long until, int lane, Demand demand, @Nullable Limit limit) {
        if (lane < 0) {
            refusedUntil = until;
            refusedUnit = limit == null ? null : limit.unit();
            refusedCost = limit == null ? 0 : demand.cost(limit.unit());
        } else {
            slots[lane].refusedUntil = until;
        }
    }

    /** What a store said doesn't count any more. */
    void forgetRefusals() {
        if (ramp != null) {
            ramp.followNoMore();
        }
        refusedUntil = Long.MIN_VALUE;
        for (Slot slot : slots) {
            slot.refusedUntil = Long.MIN_VALUE;
        }
    }

    /** A lower bound of {@link #readyAt} behind {@code ahead} requests of the same line. */
    long expectedAt(long now, Demand demand, int lane, long ahead) {
        long at = Math.max(shutUntil(now, demand), slots[lane].refusedUntil);
        at = Math.max(at, meters.expectedAt(now, demand, ahead));
        at = Math.max(at, shares[lane].expectedAt(now, demand, ahead));
        return learned == null ? at : Math.max(at, learned.expectedAt(now, demand, lane, ahead));
    }

    /** A limit that could never pass this demand, or null. */
    @Nullable
    Limit forbids(Demand demand, int lane) {
        Limit limit = meters.forbids(demand);
        return limit == null ? shares[lane].forbids(demand) : limit;
    }

    /** As {@link #forbids}, of this key or one above it. */
    @Nullable
    Limit forbidsOnPath(Demand demand, int lane) {
        for (Node node = this; node != null; node = node.parent) {
            Limit limit = node.forbids(demand, lane);
            if (limit != null) {
                return limit;
            }
        }
        return null;
    }

    /** The broadest key of the path whose breaker is open, resting or on trial; null if there is none. */
    @Nullable
    Node broken() {
        Node broken = null;
        for (Node node = this; node != null; node = node.parent) {
            broken = node.breaker != null && node.breaker.isOpen() ? node : broken;
        }
        return broken;
    }

    void take(long now, Demand demand, int lane, Booking.Phase phase) {
        meters.take(now, demand, phase);
        shares[lane].take(now, demand, phase);
        boolean bare = phase == Booking.Phase.HEADED;
        if (learned != null) {
            learned.take(now, demand, lane, phase);
        }
        if (ramp != null) {
            ramp.take(now, bare);
        }
        unanswered(bare ? 0 : 1);
        if (bare) {
            inHand().take(now);
        }
    }

    private InHand inHand() {
        InHand known = inHand;
        if (known == null) {
            known = new InHand();
            inHand = known;
        }
        return known;
    }

    private void unanswered(long more) {
        unanswered += more;
        if (learned != null && more != 0) {
            learned.unanswered(more);
        }
    }

    void moved(long now, Ticket ticket, int lane, Booking.Phase to) {
        meters.moved(now, ticket, to);
        shares[lane].moved(now, ticket, to);
        unanswered(to == Booking.Phase.SENT ? 0 : -1);
        if (learned != null) {
            learned.moved(now, ticket, lane, to);
        }
    }

    void settle(long now, Ticket ticket, int lane, String unit, long delta) {
        meters.settle(now, ticket, unit, delta);
        shares[lane].settle(now, ticket, unit, delta);
        if (learned != null) {
            learned.settle(now, ticket, lane, unit, delta);
        }
    }

    void refund(long now, Ticket ticket, int lane) {
        meters.refund(now, ticket);
        shares[lane].refund(now, ticket);
        unanswered(ticket.phase == Booking.Phase.HEADED ? 0 : -1);
        if (learned != null) {
            learned.refund(now, ticket, lane);
        }
    }

    /** The permit ended; for one that nobody else tells of that is the answer, unless it was heard just before, or not used. */
    void release(long now, Ticket ticket, int lane, boolean isAnswer) {
        meters.release(ticket);
        shares[lane].release(ticket);
        if (ticket.tells() == Ticket.Tells.NOTHING) {
            inHand().end(now, ticket.at);
            if (learned != null) {
                learned.ended(now, ticket);
            }
        }
        if (ramp != null) {
            ramp.release(now, ticket, isAnswer);
        }
    }

    /** Closes until {@code until}, if that is later than now closed; for how much longer. No credit accrues meanwhile. */
    long close(long now, long until) {
        long from = Math.max(now, gate.closedUntil);
        if (until <= from) {
            return 0;
        }
        stopMeters(from, until);
        gate.closedUntil = until;
        return until - from;
    }

    /** Opens again at once. */
    void open(long now) {
        advance(now);
        if (gate.isClosed(now)) {
            stopMeters(gate.closedUntil, now);
            gate.closedUntil = now;
            gate.saidUntil = now;
        }
        leaveQuotas();
    }

    /** What was learned is no longer its business. */
    void leaveQuotas() {
        if (learned != null) {
            learned.leave(this);
            learned = null;
        }
    }

    private void stopMeters(long from, long until) {
        meters.stop(from, until);
        for (Meters share : shares) {
            share.stop(from, until);
        }
    }

    /** As if nothing had ever been taken, closed or learned; permits that are out stand in no books. */
    void reset(long now, long generation) {
        meters.begin(now, generation);
        for (Meters share : shares) {
            share.begin(now, generation);
        }
        gate.closedUntil = now;
        gate.saidUntil = now;
        gate.waves = 0;
        if (ramp != null) {
            ramp.stop();
        }
        breaker = null;
        leaveQuotas();
        forgetRefusals();
    }

    /** New limits go on from the books of the old ones of their kind and unit, in order. */
    void change(long now, List<Limit> limits, Lanes lanes, long generation, LongUnaryOperator wall) {
        boolean closed = gate.isClosed(now);
        if (closed) {
            stopMeters(gate.closedUntil, now);
        }
        Meters before = meters;
        meters = Meters.of(limits, now, wall);
        meters.adopt(now, before, generation);
        Meters[] sharesBefore = shares;
        shares = shares(limits, lanes, now, wall);
        for (int lane = 0; lane < shares.length; lane++) {
            shares[lane].adopt(now, sharesBefore[lane], generation);
        }
        if (closed) {
            stopMeters(now, gate.closedUntil);
        }
        holds = holds();
        budgeted = meters.has(Limit.Kind.TOTAL);
    }

    /** Takes over the books and the cooldown of another key, whose demands count here from now on. */
    void absorb(long now, Node other, long generation) {
        long until = Math.max(gate.closedUntil, other.gate.closedUntil);
        if (gate.isClosed(now)) {
            stopMeters(gate.closedUntil, now);
        }
        if (other.gate.isClosed(now)) {
            other.stopMeters(other.gate.closedUntil, now);
        }
        meters = meters.with(now, other.meters, generation);
        if (shares != NO_SHARES) {
            for (int lane = 0; lane < shares.length; lane++) {
                shares[lane] = shares[lane].with(now, other.shares[lane], generation);
            }
        }
        gate.absorb(other.gate);
        if (until > now) {
            stopMeters(now, until);
        }
        absorb(now, other.ramp, generation);
        other.leaveQuotas();
        unanswered(other.unanswered);
        if (other.inHand != null) {
            inHand().absorb(now, other.inHand);
        }
        if (learned != null) {
            learned.begin(); // What is in flight from there is noticed, but stands in none of these books.
        }
        users += other.users;
        lastUsed = Math.max(lastUsed, other.lastUsed);
        holds = holds();
        budgeted = meters.has(Limit.Kind.TOTAL);
    }

    /** Whether forgetting it would change nothing: nobody uses it, it is open, it owes nothing and it is full. */
    boolean isIdle(long now) {
        return users == 0
                && (children == null || children.isEmpty())
                && !gate.isClosed(now)
                && (learned == null || learned.isFull(now))
                && (ramp == null || ramp.isIdle(now))
                && meters.isFull(now)
                && sharesFull(now);
    }

    private boolean sharesFull(long now) {
        for (Meters share : shares) {
            if (!share.isFull(now)) {
                return false;
            }
        }
        return true;
    }

    /** The least that the limits of its path let be out at once, or in one period; {@link Exact#NEVER} if there is none. */
    long permits() {
        long least = learned == null ? Exact.NEVER : learned.permits();
        for (Node node = this; node != null; node = node.parent) {
            for (Meter meter : node.meters.each) {
                boolean counts = meter.countsRequests && meter.limit.kind() != Limit.Kind.TOTAL;
                least = counts ? Math.min(least, meter.limit.permits()) : least;
            }
        }
        return least;
    }

    /** How many calls are in flight here, the one that is answered included. */
    long out(long now, Ticket answered) {
        return answered.tells() == Ticket.Tells.NOTHING
                ? Math.max(1, out(now))
                : out(now) + 1; // The former is still in hand.
    }

    private long out(long now) {
        return unanswered + (inHand == null ? 0 : inHand.count(now));
    }

    /** How many calls like this one are in flight here when it is answered, or may be; null for one of another process. */
    long busy(long now, @Nullable Ticket answered) {
        long most = answered == null ? Math.max(1, out(now)) : out(now, answered);
        long cost = answered == null ? 1 : Math.max(1, answered.demand.requests());
        for (Meter meter : meters.each) {
            boolean inFlight = meter.countsRequests && meter.limit.kind() == Limit.Kind.IN_FLIGHT;
            most = inFlight ? Math.max(most, meter.limit.permits() / cost) : most;
        }
        return most;
    }

    /** The configured limits, then the learned ones. */
    Meter[] allMeters() {
        Meter[] own = meters.each;
        if (learned == null) {
            return own;
        }
        Meter[] all = Arrays.copyOf(own, own.length + learned.meters().length);
        System.arraycopy(learned.meters(), 0, all, own.length, learned.meters().length);
        return all;
    }

    /** What nobody tells of is over now, before anything else changes. */
    void advance(long now) {
        if (ramp != null) {
            ramp.readyAt(now);
        }
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

    void addChild(Node child) {
        if (children == null) {
            children = new LinkedHashMap<>();
        }
        children.put(child.key, child);
    }

    /** A key of a child that counts at another child. */
    void addRoute(Object childKey, Node child) {
        if (routes == null) {
            routes = new HashMap<>();
        }
        routes.put(childKey, child);
    }

    void dropRoute(Object childKey) {
        if (routes != null) {
            routes.remove(childKey);
        }
    }

    @Nullable
    Node child(Object childKey) {
        Node child = children == null ? null : children.get(childKey);
        return child != null || routes == null ? child : routes.get(childKey);
    }
}
