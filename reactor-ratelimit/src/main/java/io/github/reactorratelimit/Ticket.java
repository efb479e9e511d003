package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One demand on its way: first its place in line, then its permit. All fields belong to the admission's monitor.
 *
 * <pre>
 *          ┌──────────────────── refused, cancelled ───────────────────┐
 *          │             │              │                              ▼
 *   NEW ───┴─► RESTING ──┴─► WAITING ───┴─► HELD ──── released ─────► DONE
 *        backs off until   stands in line   may send; its books
 *        a given time                       are open
 * </pre>
 */
abstract class Ticket extends Booking {

    /** Where it stands. */
    enum Stage {
        NEW,
        RESTING,
        WAITING,
        HELD,
        DONE
    }

    /** What is told about the attempt besides its end. */
    enum Tells {
        /** Nothing: the grant is taken for the response head. */
        NOTHING,
        /** The response head; the grant is taken for the moment of sending. */
        HEAD,
        /** Both, the moment of sending and the head. */
        SENDING
    }

    private static final List<Settled> UNSETTLED = List.of();

    final Demand demand;
    final Tells tells;
    Stage stage = Stage.NEW;
    /** A retry stands at the front of its line. */
    boolean front;
    /** It counts among those that keep its key from being forgotten. */
    boolean counted;
    /** Released, and its books stand; they may still be corrected. */
    boolean charged;
    /** Its time is over while it runs. */
    boolean timedOut;
    /** The limiter's generation when it was granted: which closings it cannot have known. */
    int generation;

    /** The edition of the limiter's limits when it was granted: which books it is in. */
    int edition;

    /** When it joined, in limiter time. */
    long joinedAt;
    /** Somebody told when it was sent. */
    boolean sentTold;

    @Nullable
    Slot slot;

    @Nullable
    Ticket previous;

    @Nullable
    Ticket next;

    @Nullable
    RateLimitException refusal;

    private List<Settled> settled = UNSETTLED;

    Ticket(Demand demand, Tells tells) {
        this.demand = demand;
        this.tells = tells;
    }

    /** Carries out what the pass decided: grant, refusal or timeout; outside the monitor, once per decision. */
    abstract void emit();

    /** Whether its cost was taken from these books, or from those that they go on from. */
    boolean isIn(Meter meter) {
        return edition >= meter.edition;
    }

    /** The cost as it was corrected, or as it was asked for. */
    long costFor(Meter meter) {
        for (int i = 0; i < settled.size(); i++) {
            if (settled.get(i).unit.equals(meter.limit.unit())) {
                return settled.get(i).actual;
            }
        }
        return demand.costFor(meter);
    }

    /** Notes a corrected cost. False if this unit was corrected before. */
    boolean noteSettled(String unit, long actual) {
        for (Settled one : settled) {
            if (one.unit.equals(unit)) {
                return false;
            }
        }
        if (settled.isEmpty()) {
            settled = new ArrayList<>(1);
        }
        settled.add(new Settled(unit, actual));
        return true;
    }

    private record Settled(String unit, long actual) {}
}
