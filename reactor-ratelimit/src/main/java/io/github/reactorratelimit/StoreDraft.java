package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.LimitStore.Books;
import io.github.reactorratelimit.LimitStore.Kind;
import io.github.reactorratelimit.LimitStore.Part;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;

/** The keys and limits that one batch is about, each mentioned once. */
final class StoreDraft {

    /** For how long a permit counts that somebody is to tell of, if nobody does. */
    private static final long UNTOLD_NANOS = 60 * WindowMeter.TRANSIT_NANOS;

    final List<String> keys = new ArrayList<>();
    final List<Node> nodes = new ArrayList<>();
    final List<Books> books = new ArrayList<>();
    final List<Limit> limits = new ArrayList<>();
    /** Of each of the books, the lane whose share it is, or -1. */
    final List<Integer> lanes = new ArrayList<>();

    private final IdentityHashMap<Node, Integer> placeOfNode = new IdentityHashMap<>(4);
    private final IdentityHashMap<Meter, Integer> placeOfMeter = new IdentityHashMap<>(8);
    private final Tree tree;
    private final LimitStore store;
    private final Lanes names;

    StoreDraft(Tree tree, LimitStore store, Lanes names) {
        this.tree = tree;
        this.store = store;
        this.names = names;
    }

    int key(Node node) {
        Integer known = placeOfNode.get(node);
        if (known != null) {
            return known;
        }
        if (node.stored == null) {
            node.stored = store.key(tree.path(node));
        }
        keys.add(node.stored);
        nodes.add(node);
        placeOfNode.put(node, nodes.size() - 1);
        return nodes.size() - 1;
    }

    /** All limits of a key: what closes it stops what accrues in them. */
    void mentionAll(Node node) {
        key(node);
        for (Meter meter : node.meters.each) {
            place(node, meter, -1);
        }
        for (int lane = 0; lane < node.shares.length; lane++) {
            for (Meter meter : node.shares[lane].each) {
                place(node, meter, lane);
            }
        }
    }

    /** The place of a limit; a spaced window has a second one behind it, for its spacing. */
    int place(Node node, Meter meter, int lane) {
        Integer known = placeOfMeter.get(meter);
        if (known != null) {
            return known;
        }
        int place = books.size();
        placeOfMeter.put(meter, place);
        Limit limit = meter.limit;
        switch (limit.kind()) {
            case WINDOW -> {
                add(node, limit, lane, Kind.WINDOW, limit.permits(), WindowMeter.countedNanos(limit));
                if (limit.burstPermits() > 0) {
                    addBucket(node, limit, lane, limit.burstPermits(), WindowMeter.countedNanos(limit), true);
                }
            }
            case BUCKET -> addBucket(node, limit, lane, limit.initialPermits(), 0, limit.mayBorrow());
            case IN_FLIGHT -> add(node, limit, lane, Kind.FLIGHT, limit.permits(), 0);
            case TOTAL -> add(node, limit, lane, Kind.TOTAL, limit.permits(), 0);
            case LEARNED -> {
                LearnedMeter quota = (LearnedMeter) meter;
                long window = limit.spanNanos();
                add(
                        limit,
                        lane,
                        new Books(
                                key(node),
                                limit.unit(),
                                null,
                                Kind.QUOTA,
                                quota.size(),
                                window,
                                0,
                                0,
                                0,
                                false,
                                quota.name()));
            }
            case CALENDAR -> throw new IllegalArgumentException("such a limit stays in its process, was " + limit);
        }
        return place;
    }

    private void add(Node node, Limit limit, int lane, Kind kind, long permits, long span) {
        String name = lane < 0 ? null : names.name(lane);
        add(limit, lane, new Books(key(node), limit.unit(), name, kind, permits, span, 0, 0, 0, false, ""));
    }

    private void addBucket(Node node, Limit limit, int lane, long initial, long span, boolean borrows) {
        Pace pace = limit.pace();
        String name = lane < 0 ? null : names.name(lane);
        add(
                limit,
                lane,
                new Books(
                        key(node),
                        limit.unit(),
                        name,
                        Kind.BUCKET,
                        limit.burstPermits(),
                        span,
                        pace.permits,
                        pace.nanos,
                        initial,
                        borrows,
                        ""));
    }

    private void add(Limit limit, int lane, Books added) {
        books.add(added);
        limits.add(limit);
        lanes.add(lane);
    }

    /** What an overuse counts in these books. */
    long counted(int place, long delta) {
        Limit limit = limits.get(place);
        return books.get(place).kind() == Kind.BUCKET ? limit.spaced(delta) : limit.counted(delta);
    }

    /** When a permit was granted is what a bucket asks, not when it counts from. */
    boolean isBucket(int place) {
        return limits.get(place).kind() == Limit.Kind.BUCKET;
    }

    List<Integer> path(Node leaf) {
        List<Integer> path = new ArrayList<>(leaf.depth + 1);
        for (Node node = leaf; node != null; node = node.parent) {
            path.add(key(node));
        }
        return path;
    }

    /** What a demand takes on its path. */
    List<Part> parts(Slot slot, Demand demand, Phase phase) {
        List<Part> parts = new ArrayList<>(4);
        for (Node known = slot.node; known != null; known = known.parent) {
            Node node = known.latest(); // Told of as two keys, one would undo the other in the store.
            parts(node, node.meters.each, -1, demand, phase, parts);
            parts(node, node.shares[slot.lane].each, slot.lane, demand, phase, parts);
            if (node.learned != null) {
                parts(node, node.learned.shareable(), -1, demand, phase, parts);
            }
        }
        return parts;
    }

    private void parts(Node node, Meter[] meters, int lane, Demand demand, Phase phase, List<Part> into) {
        for (Meter meter : meters) {
            long cost = demand.costFor(meter);
            if (cost > 0) {
                int first = place(node, meter, lane);
                int last = meter instanceof SpacedWindowMeter ? first + 1 : first;
                for (int place = first; place <= last; place++) {
                    into.add(new Part(place, cost, transit(meter.limit, phase)));
                }
            }
        }
    }

    /** How much later than the beginning of a phase a permit counts from, at the latest. */
    static long transit(Limit limit, Phase phase) {
        if (limit.kind() == Limit.Kind.LEARNED) {
            return 0; // It counts from its grant on.
        }
        return switch (phase) {
            case HEADED -> 0;
            case SENT, ENDED -> limit.isStrict() ? UNTOLD_NANOS : WindowMeter.TRANSIT_NANOS;
            case UNSENT -> UNTOLD_NANOS;
        };
    }
}
