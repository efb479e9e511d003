package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.LimitStore.Correction;
import io.github.reactorratelimit.LimitStore.Part;
import io.github.reactorratelimit.LimitStore.Reply;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a store is to be told of permits that stand in its books: they move, cost more or less than was asked for, or are
 * given back. Under the monitor.
 */
final class StandingNews {

    private static final long MICRO_NANOS = 1_000;

    private record Settled(Standing standing, String unit, long delta) {}

    /** Given back after its costs were corrected. */
    private record Returned(Standing standing, Map<String, Long> settled) {}

    private final List<Standing> moving = new ArrayList<>();
    private final Set<Standing> returning = new LinkedHashSet<>();
    private final List<Settled> settled = new ArrayList<>();
    private final List<Returned> returned = new ArrayList<>();

    boolean isSome() {
        return !moving.isEmpty() || !returning.isEmpty() || !settled.isEmpty() || !returned.isEmpty();
    }

    /** The response head is here, or the request is written: it counts from an earlier time than it would have. */
    void moved(long now, Ticket ticket, Phase to) {
        Standing standing = ticket.standing();
        if (standing == null || to == Phase.ENDED || !hasWindow(standing.slot)) {
            return;
        }
        Standing from = settledIn(standing, ticket);
        Standing next = from.to;
        if (next == null || next.phase != to || next.told) {
            next = new Standing(from.slot, from.demand, to, now, from);
            from.to = next;
            moving.add(next);
        }
        next.move(ticket, 1);
        next.at = now;
        ticket.standing(next);
    }

    /** Where a permit stands in what was told so far: it leaves those that are still to be moved. */
    private static Standing settledIn(Standing standing, Ticket ticket) {
        Standing from = standing.from;
        if (from == null || standing.told) {
            return standing;
        }
        standing.move(ticket, -1);
        return from;
    }

    private static boolean hasWindow(Slot slot) {
        for (Node node = slot.node; node != null; node = node.parent) {
            for (Meter meter : node.meters.each) {
                if (meter.limit.kind() == Limit.Kind.WINDOW) {
                    return true;
                }
            }
        }
        return false;
    }

    void returned(Ticket ticket) {
        Standing standing = ticket.standing();
        if (standing != null) {
            Standing from = settledIn(standing, ticket);
            Map<String, Long> corrected = ticket.settled();
            if (corrected.isEmpty()) {
                returned(from, 1);
            } else {
                returned.add(new Returned(from, corrected));
            }
        }
    }

    void returned(Standing standing, int count) {
        standing.returned += count;
        returning.add(standing);
    }

    /** Its cost is corrected: where it stands in what was told so far, and it moves on at that cost. */
    void settled(Ticket ticket, String unit, long delta) {
        Standing standing = ticket.standing();
        if (standing == null) {
            return;
        }
        Standing from = standing.from;
        if (from != null && !standing.told) {
            standing.settle(unit, delta);
            settled.add(new Settled(from, unit, delta));
        } else {
            settled.add(new Settled(standing, unit, delta));
        }
    }

    /** What cost more or less comes first, so that what moves then moves at its corrected cost. */
    List<Correction> corrections(long now, StoreCall call) {
        List<Correction> all = new ArrayList<>();
        for (Settled one : settled) {
            for (Part part : parts(call.draft, one.standing)) {
                if (one.unit.equals(call.draft.books.get(part.books()).unit())) {
                    add(all, call.draft, one.standing, part, call.draft.counted(part.books(), one.delta));
                }
            }
        }
        settled.clear();
        for (Returned one : returned) {
            for (Part part : parts(call.draft, one.standing)) {
                String unit = call.draft.books.get(part.books()).unit();
                long more = one.settled.getOrDefault(unit, part.cost()) - part.cost();
                add(all, call.draft, one.standing, part, -(part.cost() + call.draft.counted(part.books(), more)));
            }
        }
        returned.clear();
        for (Standing standing : returning) {
            for (Part part : parts(call.draft, standing)) {
                add(all, call.draft, standing, part, -standing.returned * part.cost());
            }
            standing.returned = 0;
        }
        returning.clear();
        for (Standing to : moving) {
            moves(now, to, call, all);
        }
        moving.clear();
        return all;
    }

    private static List<Part> parts(StoreDraft draft, Standing standing) {
        return draft.parts(standing.slot, standing.demand, standing.phase);
    }

    private static void add(List<Correction> into, StoreDraft draft, Standing standing, Part part, long delta) {
        LimitStore.Kind kind = draft.books.get(part.books()).kind();
        if (kind != LimitStore.Kind.FLIGHT && delta != 0) {
            // A quota that was learned after the grant never gave it, and a bucket that was full since has it back.
            boolean fromGrant = kind == LimitStore.Kind.QUOTA || draft.isBucket(part.books());
            long base = fromGrant ? standing.grantedAt : Exact.add(standing.at, part.transitNanos());
            into.add(new Correction(part.books(), standing.grantedAt, base, 0, 0, delta));
        }
    }

    private static void moves(long now, Standing to, StoreCall call, List<Correction> into) {
        Standing from = to.from;
        if (from == null || to.moving == 0) {
            return;
        }
        to.told = true;
        to.at = (now - to.at) / MICRO_NANOS * MICRO_NANOS; // As stores count, so that it is found again where it went.
        call.moved.add(to);
        for (Part part : parts(call.draft, from)) {
            LimitStore.Books books = call.draft.books.get(part.books());
            if (books.kind() == LimitStore.Kind.WINDOW) {
                long age = to.at - StoreDraft.transit(call.draft.limits.get(part.books()), to.phase);
                long base = Exact.add(from.at, part.transitNanos());
                into.add(new Correction(
                        part.books(), to.grantedAt, base, to.movingCost(books.unit(), part.cost()), age, 0));
            }
        }
    }

    /** The call was answered: what it moved is known to stand where it was moved to. */
    void told(StoreCall call, Reply reply) {
        call.moved.forEach(moved -> moved.arrived(reply.atNanos()));
    }

    /** The call was lost: what it corrected is left as the store has it. */
    void lost(StoreCall call) {
        call.moved.forEach(Standing::stayed);
    }
}
