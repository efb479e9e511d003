package io.github.reactorratelimit;

import io.github.reactorratelimit.LimitStore.Closing;
import io.github.reactorratelimit.LimitStore.Holding;
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

    private record Closed(boolean opened, long refusedNanos, long until) {}

    /** Closed or opened keys, and when the permit was granted that was refused; 0 if none was. */
    private final Map<Node, Closed> closed = new LinkedHashMap<>();

    private final StandingNews permits = new StandingNews();
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
        return !closed.isEmpty() || permits.isSome() || !changed.isEmpty() || !ramping.isEmpty() || !learned.isEmpty();
    }

    /** What becomes of permits that stand in the store's books. */
    StandingNews permits() {
        return permits;
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
            permits.returned(ticket);
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

    /** The call was answered. */
    void told(StoreCall call, Reply reply) {
        permits.told(call, reply);
        closedInCall.clear();
    }

    /** The call was lost: closings and holdings are told again; what it corrected is left as the store has it. */
    void lost(StoreCall call) {
        permits.lost(call);
        closedInCall.forEach(closed::putIfAbsent);
        closedInCall.clear();
        changed.addAll(holding);
        for (Group group : call.groups) {
            held(group.slot().node);
        }
    }
}
