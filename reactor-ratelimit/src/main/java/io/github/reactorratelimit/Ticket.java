package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import reactor.util.context.ContextView;

/**
 * One demand on its way: first its place in line, then its permit. All fields belong to the admission's monitor.
 *
 * <pre>
 *          ┌─────────────────── refused, cancelled, given back ───────► DONE
 *          │             │              │             │
 *   NEW ───┴─► RESTING ──┴─► WAITING ───┴─► HELD ─────┴─ released ───► RELEASED
 *        backs off until   stands in line   may send                 its costs may still
 *        a given time                                                be corrected
 * </pre>
 *
 * Where a store decides, ASKED lies between NEW or WAITING and HELD: it is asked for, and refused it stands in line again.
 */
abstract class Ticket extends Booking {

    /** Where it stands. */
    enum Stage {
        NEW,
        RESTING,
        WAITING,
        ASKED,
        HELD,
        RELEASED,
        DONE
    }

    /** What is told about the attempt besides its end. */
    enum Tells {
        /** Nothing: the grant is taken for the response head. */
        NOTHING,
        /** The response head; the grant is taken for the moment of sending. */
        HEAD,
        /** Both, the moment of sending and the head. */
        SENDING,
        /** Perhaps both, by an adapter, and perhaps neither: then its first signal is taken for the head. */
        PERHAPS
    }

    private static final Stage[] STAGES = Stage.values();

    final Demand demand;
    /** An ordinal, which takes less room than a reference: there may be very many tickets. */
    private byte stage;
    /** A retry stands at the front of its line. */
    boolean front;
    /** It counts among those that keep its key from being forgotten. */
    boolean counted;
    /** When it joined, in limiter time. */
    long joinedAt;
    /** Somebody told that it is being sent, or was; of a permit of which nobody has to tell, that it was answered. */
    boolean heardOf;

    @Nullable
    Slot slot;

    @Nullable
    Ticket previous;

    @Nullable
    Ticket next;

    /** Why it was refused; or, once it was granted, how it stands in a store and its corrected costs: mostly nothing. */
    private @Nullable Object decided;

    Ticket(Demand demand) {
        this.demand = demand;
    }

    /** It asks later: until then it keeps its lane, and for how long it may wait, where nothing else is kept before that. */
    final void asks(int lane, long maxWaitNanos) {
        order = lane;
        dueAt = maxWaitNanos;
    }

    final int askingLane() {
        return order;
    }

    final long askingPatience() {
        return dueAt;
    }

    /** Whether it asks for the same as one that asked before it and got it, in the same way. */
    final boolean asksAs(Ticket granted) {
        return stage() == Stage.NEW
                && demand == granted.demand
                && tells() == granted.tells()
                && granted.place().lane == askingLane()
                && !(this instanceof Inquiry);
    }

    /** It got the same at the same time, and stands where that stands; what it costs was taken for both. */
    final void grantedWith(Ticket granted) {
        slot = granted.slot;
        joinedAt = granted.joinedAt;
        stage(Stage.HELD);
        phase = granted.phase;
        at = granted.at;
        sentAt = granted.sentAt;
        generation = granted.generation;
        decided = granted.standing();
        if (granted.counted) {
            use(place().node);
        }
    }

    /** Whether it was granted or refused. */
    final boolean isDecided() {
        return stage() == Stage.HELD || refusal() != null;
    }

    /** It could not even ask; false if nobody is there to hear of it. */
    boolean failAsking(Throwable error) {
        return false;
    }

    Stage stage() {
        return STAGES[stage];
    }

    @SuppressWarnings("EnumOrdinal") // It is kept in memory only.
    void stage(Stage next) {
        stage = (byte) next.ordinal();
    }

    /** Where it stands, or what it holds a permit of; a place that has moved is followed. */
    final Slot place() {
        Slot place = slot;
        if (place == null) {
            throw new IllegalStateException("a ticket has its place before anything is decided about it");
        }
        while (place.node.sharedWith != null) {
            place = place.node.sharedWith.slots[place.lane];
            slot = place;
        }
        return place;
    }

    /** It keeps its key from being forgotten. */
    final void use(Node key) {
        if (!counted) {
            counted = true;
            key.users++;
        }
    }

    /** It keeps its key no longer. */
    final void leaveKey() {
        if (counted) {
            counted = false;
            place().node.users--;
        }
    }

    /** It is done, and keeps its key no longer. */
    final void leave() {
        stage(Stage.DONE);
        leaveKey();
    }

    /** What is told about the attempt besides its end. */
    abstract Tells tells();

    /** Whether its permit was certainly not used yet. */
    final boolean isSurelyUnsent() {
        return phase == Phase.UNSENT && tells() == Tells.SENDING && !heardOf;
    }

    /** Whether it doesn't wait where a breaker is open. */
    boolean leavesBreakers() {
        return false;
    }

    /** Which attempt of its call it is. */
    int number() {
        return 1;
    }

    /** The caller's Context, if a listener may watch this ticket alone. */
    @Nullable
    ContextView caller() {
        return null;
    }

    void watchedBy(Watch watching) {}

    @Nullable
    Watch watched() {
        return null;
    }

    void refuse(RateLimitException why) {
        stage(Stage.DONE);
        decided = why;
    }

    @Nullable
    RateLimitException refusal() {
        return decided instanceof RateLimitException why ? why : null;
    }

    /** Carries out what the pass decided: grant, refusal or timeout; outside the monitor, once per decision. */
    abstract void emit();

    /** What it is charged with: the cost as it was corrected, or as it was asked for. */
    long costFor(Meter meter) {
        if (decided instanceof Corrections corrections) {
            for (Correction one : corrections.all) {
                if (one.unit.equals(meter.limit.unit())) {
                    long asked = demand.costFor(meter);
                    return asked + meter.limit.counted(one.actual - asked);
                }
            }
        }
        return demand.costFor(meter);
    }

    /** Notes a corrected cost. False if this unit was corrected before. */
    boolean noteSettled(String unit, long actual) {
        if (!(decided instanceof Corrections)) {
            decided = new Corrections(standing(), new ArrayList<>(1));
        }
        List<Correction> all = ((Corrections) decided).all;
        if (all.stream().anyMatch(one -> one.unit.equals(unit))) {
            return false;
        }
        all.add(new Correction(unit, actual));
        return true;
    }

    /** By unit, the costs that were corrected. */
    Map<String, Long> settled() {
        return decided instanceof Corrections corrections
                ? corrections.all.stream().collect(Collectors.toMap(one -> one.unit, one -> one.actual))
                : Map.of();
    }

    /** How it stands in a store's books; null if it doesn't. */
    @Nullable
    Standing standing() {
        return decided instanceof Standing standing
                ? standing
                : decided instanceof Corrections corrections ? corrections.standing : null;
    }

    void standing(Standing next) {
        decided = decided instanceof Corrections corrections ? new Corrections(next, corrections.all) : next;
    }

    private record Corrections(@Nullable Standing standing, List<Correction> all) {}

    private record Correction(String unit, long actual) {}
}
