package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.LimitStore.Closing;
import io.github.reactorratelimit.LimitStore.Correction;
import io.github.reactorratelimit.LimitStore.Holding;
import io.github.reactorratelimit.LimitStore.Part;
import io.github.reactorratelimit.LimitStore.Ramping;
import io.github.reactorratelimit.LimitStore.Reply;
import io.github.reactorratelimit.LimitStore.Word;
import io.github.reactorratelimit.StoreCall.Asked;
import io.github.reactorratelimit.StoreCall.Group;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a store is to be told with the next call; under the monitor. */
final class StoreNews {

    /** Granted without the store: no wave that it knows of counts as later. */
    private static final long WITHOUT_STORE = 1L << 62;

    private static final long MICRO_NANOS = 1_000;

    private record Closed(boolean opened, long refusedNanos, long until) {}

    private record Settled(Standing standing, String unit, long delta) {}

    /** Given back after its costs were corrected. */
    private record Returned(Standing standing, Map<String, Long> settled) {}

    /** Closed or opened keys, and when the permit was granted that was refused; 0 if none was. */
    private final Map<Node, Closed> closed = new LinkedHashMap<>();

    private final List<Standing> moving = new ArrayList<>();
    private final Set<Standing> returning = new LinkedHashSet<>();
    private final List<Settled> settled = new ArrayList<>();
    private final List<Returned> returned = new ArrayList<>();
    /** Keys of which this process may hold something in flight, and those of them where that has changed. */
    private final Set<Node> holding = new LinkedHashSet<>();

    private final Set<Node> changed = new LinkedHashSet<>();
    /** Told in the call under way; to be told again if it is lost. */
    private Map<Node, Closed> closedInCall = new LinkedHashMap<>();
    /** Keys with a ramp, or a usage figure, of which there is something to tell; and all with a ramp that a store widens. */
    private final Set<Node> ramping = new LinkedHashSet<>();

    private final Set<Node> followed = new LinkedHashSet<>();
    /** Keys of whose quotas a response told. */
    private final Set<Node> learned = new LinkedHashSet<>();

    boolean isSome() {
        return !closed.isEmpty()
                || !moving.isEmpty()
                || !returning.isEmpty()
                || !settled.isEmpty()
                || !returned.isEmpty()
                || !changed.isEmpty()
                || !ramping.isEmpty()
                || !learned.isEmpty();
    }

    boolean holds() {
        return !holding.isEmpty() || !followed.isEmpty();
    }

    /** By hand. */
    void closed(Node node, boolean opened) {
        Closed known = closed.get(node);
        closed.put(node, new Closed(opened, known == null ? 0 : known.refusedNanos, Long.MIN_VALUE));
    }

    /** For what was answered to a permit that stands so in the store's books; null if it was granted without. */
    void closed(Node node, @Nullable Standing refused) {
        closed.put(node, new Closed(false, refused == null ? WITHOUT_STORE : refused.grantedAt, Long.MIN_VALUE));
    }

    /** A quota that was learned here is empty until then: the others don't know its books. */
    void emptied(Node node, long until) {
        Closed known = closed.get(node);
        if (known == null || !known.opened) {
            closed.put(node, new Closed(false, known == null ? 0 : known.refusedNanos, until));
        }
    }

    /** Whether it is still to be told that this key is closed, or opened. */
    boolean isToClose(Node node) {
        return closed.containsKey(node);
    }

    /** Something may have become of the ramps on the path of this key. */
    void ramps(Node leaf) {
        for (Node node = leaf; node != null; node = node.parent) {
            Ramp ramp = node.ramp;
            if (ramp != null && ramp.hasNews()) {
                ramping.add(node);
                if (ramp.isFollowed()) {
                    followed.add(node);
                }
            }
        }
    }

    /** A response may have told of quotas on the path of this key. */
    void learned(Node leaf) {
        for (Node node = leaf; node != null; node = node.parent) {
            if (node.learned != null && node.learned.hasWord()) {
                learned.add(node);
            }
        }
    }

    List<Word> words(long now, StoreDraft draft) {
        List<Word> told = new ArrayList<>(learned.size());
        for (Node node : learned) {
            for (Meter meter : node.learned == null ? new Meter[0] : node.learned.shareable()) {
                LearnedMeter quota = (LearnedMeter) meter;
                Word word = quota.hasWord() ? quota.takeWord(now, draft.place(node, quota, -1)) : null;
                if (word != null) {
                    told.add(word);
                }
            }
        }
        learned.clear();
        return told;
    }

    /** Whatever was to be told of this key doesn't count any more. */
    void forget(Node node) {
        learned.remove(node);
        closed.remove(node);
        changed.remove(node);
        ramping.remove(node);
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

    /** What is held in flight has changed on the path of this key. */
    void held(Node leaf) {
        for (Node node = leaf; node != null; node = node.parent) {
            if (hasFlight(node)) {
                holding.add(node);
                changed.add(node);
            }
        }
    }

    /** This process may hold something on the path of this key from now on. */
    void holding(Node leaf) {
        for (Node node = leaf; node != null; node = node.parent) {
            if (hasFlight(node)) {
                holding.add(node);
            }
        }
    }

    private static boolean holdsSome(Node node) {
        for (Meter meter : node.meters.each) {
            if (meter instanceof InFlightMeter flight && flight.held() > 0) {
                return true;
            }
        }
        return false;
    }

    private static boolean hasFlight(Node node) {
        for (Meter meter : node.meters.each) {
            if (meter instanceof InFlightMeter) {
                return true;
            }
        }
        return false;
    }

    /** A permit is given back, used or not. */
    void ended(Ticket ticket, Node leaf, boolean refund) {
        if (ticket.standing() == null) {
            return;
        }
        if (refund) {
            returned(ticket);
        }
        held(leaf);
        ramps(leaf);
    }

    /** A response was heard: what it closed, and what it says of the ramps on its path. */
    void heard(long now, Ticket ticket, Node leaf, boolean closes) {
        for (Node node = leaf; closes && node != null; node = node.parent) {
            closed(node, ticket.standing());
            if (node.learned != null) {
                emptied(node, node.learned.emptyUntil(now));
            }
        }
        learned(leaf);
        ramps(leaf);
    }

    // ---------------------------------------------------------------------------------------------------- telling

    List<Closing> closings(long now, StoreDraft draft) {
        List<Closing> all = new ArrayList<>(closed.size());
        closed.forEach((node, how) -> {
            long left = Math.max(0, Exact.subtract(Math.max(node.gate.closedUntil, how.until), now));
            boolean wave = node.gate.generation != node.gate.toldGeneration;
            if (how.opened || left > 0 || wave) {
                draft.mentionAll(node);
                long nanos = how.opened && left == 0 ? Closing.OPEN : left;
                all.add(new Closing(draft.key(node), nanos, wave ? how.refusedNanos : 0));
            }
        });
        closedInCall = new LinkedHashMap<>(closed);
        closed.clear();
        return all;
    }

    /** Of the keys that changed, or of all: what is held here without what this call asks for. */
    List<Holding> holdings(StoreCall call, boolean all) {
        IdentityHashMap<Meter, Long> asking = new IdentityHashMap<>();
        for (Group group : call.groups) {
            for (Node node = group.slot().node; node != null; node = node.parent) {
                add(asking, node.meters.each, group);
                add(asking, node.shares[group.slot().lane].each, group);
            }
        }
        List<Holding> held = new ArrayList<>();
        for (Node node : new ArrayList<>(all ? holding : changed)) {
            holdings(call.draft, node, node.meters.each, -1, asking, held);
            for (int lane = 0; lane < node.shares.length; lane++) {
                holdings(call.draft, node, node.shares[lane].each, lane, asking, held);
            }
        }
        holding.removeIf(node -> !holdsSome(node));
        changed.clear();
        return held;
    }

    private static void add(IdentityHashMap<Meter, Long> asking, Meter[] meters, Group group) {
        for (Meter meter : meters) {
            if (meter instanceof InFlightMeter) {
                long cost = 0;
                for (Asked one : group.asked()) {
                    cost += one.ticket().demand.costFor(meter);
                }
                asking.merge(meter, cost, Long::sum);
            }
        }
    }

    private static void holdings(
            StoreDraft draft,
            Node node,
            Meter[] meters,
            int lane,
            IdentityHashMap<Meter, Long> asking,
            List<Holding> into) {
        for (Meter meter : meters) {
            if (meter instanceof InFlightMeter flight) {
                long held = flight.held() - asking.getOrDefault(meter, 0L);
                into.add(new Holding(draft.place(node, meter, lane), held));
            }
        }
    }

    /** Of the keys of which there is something to tell, or of all with a ramp. */
    List<Ramping> ramps(long now, StoreCall call, boolean all) {
        if (all) {
            ramping.addAll(followed);
        }
        List<Ramping> told = new ArrayList<>(ramping.size());
        for (Node node : ramping) {
            Ramp ramp = node.ramp;
            if (ramp != null && ramp.hasNews()) {
                long held = ramp.isFollowed() ? Math.max(0, ramp.outNow(now) - asking(call, node)) : 0;
                long normal = node.permits() == Exact.NEVER ? 0 : Math.min(node.permits(), 1L << 40);
                int usage = ramp.takeUsage();
                told.add(new Ramping(call.draft.key(node), node.gate.toldWave, held, ramp.takeClean(), normal, usage));
            }
        }
        ramping.clear();
        followed.removeIf(node -> node.ramp == null || !node.ramp.isFollowed());
        return told;
    }

    private static long asking(StoreCall call, Node node) {
        long count = 0;
        for (Group group : call.groups) {
            count += group.slot().node.above(node.depth) == node ? group.asked().size() : 0;
        }
        return count;
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
            into.add(new Correction(part.books(), base, 0, 0, delta));
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
                into.add(new Correction(part.books(), base, to.movingCost(books.unit(), part.cost()), age, 0));
            }
        }
    }

    /** The call was answered: what it moved is known to stand where it was moved to. */
    void told(StoreCall call, Reply reply) {
        call.moved.forEach(moved -> moved.arrived(reply.atNanos()));
        closedInCall.clear();
    }

    /** The call was lost: closings and holdings are told again; what it corrected is left as the store has it. */
    void lost(StoreCall call) {
        call.moved.forEach(Standing::stayed);
        closedInCall.forEach(closed::putIfAbsent);
        closedInCall.clear();
        changed.addAll(holding);
        for (Group group : call.groups) {
            held(group.slot().node);
        }
    }
}
