package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One key of the model: its books, its cooldown, and what is known of its turns, per lane. */
final class ModelKey {

    final @Nullable ModelKey parent;
    final List<String> labels;
    /** In the order in which they came to be known. */
    final List<ModelKey> children = new ArrayList<>();

    final List<ModelTurn> turns = new ArrayList<>();
    List<ModelBooks> books = List.of();
    /** Per lane, the books of its share of every limit. */
    List<List<ModelBooks>> shares = List.of();

    long closedUntil = Long.MIN_VALUE;
    /** How long the server asked to wait. */
    long serverSaidUntil = Long.MIN_VALUE;

    final ModelTrial trial = new ModelTrial();
    final List<ModelQuota> quotas = new ArrayList<>();
    /** Until when it is closed for a refusal that named no scope. */
    long refusedUntil = Long.MIN_VALUE;

    int waves;
    /** The running number of the last wave. */
    long lastWave;

    ModelKey(@Nullable ModelKey parent, List<String> labels, List<Limit> limits, Lanes lanes, long now, long count) {
        this.parent = parent;
        this.labels = labels;
        limits(limits, lanes, now, count);
        for (int lane = 0; lane < lanes.count(); lane++) {
            turns.add(new ModelTurn());
        }
    }

    void limits(List<Limit> limits, Lanes lanes, long now, long count) {
        books = books(limits, books, now, count);
        List<List<ModelBooks>> more = new ArrayList<>();
        for (int lane = 0; lane < lanes.count(); lane++) {
            Share share = lanes.share(lane);
            List<Limit> parts = share.isWhole()
                    ? List.of()
                    : limits.stream().map(limit -> limit.laneShare(share)).toList();
            more.add(books(parts, shares.isEmpty() ? List.of() : shares.get(lane), now, count));
        }
        shares = more;
        if (isClosed(now)) {
            all().forEach(one -> one.standStill(now, closedUntil));
        }
    }

    /** New limits go on from the books of the old ones of their kind and unit, in order. */
    private static List<ModelBooks> books(List<Limit> limits, List<ModelBooks> before, long now, long count) {
        List<ModelBooks> old = new ArrayList<>(before);
        List<ModelBooks> books = new ArrayList<>();
        for (Limit limit : limits) {
            ModelBooks like = old.stream()
                    .filter(one ->
                            one.limit.kind() == limit.kind() && one.limit.unit().equals(limit.unit()))
                    .findFirst()
                    .orElse(null);
            old.remove(like);
            books.add(ModelBooks.of(limit, now, count, like));
        }
        return books;
    }

    /** All books of the key, those of every lane's share included. */
    List<ModelBooks> all() {
        List<ModelBooks> all = new ArrayList<>(books);
        shares.forEach(all::addAll);
        return all;
    }

    /** The books that a lane's demands are entered in. */
    List<ModelBooks> booksOf(int lane) {
        List<ModelBooks> both = new ArrayList<>(books);
        both.addAll(shares.get(lane));
        return both;
    }

    List<ModelKey> path() {
        List<ModelKey> path = new ArrayList<>();
        for (ModelKey key = this; key != null; key = key.parent) {
            path.add(key);
        }
        return path;
    }

    boolean isClosed(long now) {
        return closedUntil > now;
    }

    void close(long now, long until) {
        if (until > now && until > closedUntil) {
            closedUntil = until;
            all().forEach(one -> one.standStill(now, until));
        }
    }

    void open(long now) {
        if (isClosed(now)) {
            closedUntil = now;
            serverSaidUntil = now;
            all().forEach(one -> one.standStill(now, now));
        }
    }

    /** The least of its limits in requests, and of those of the wider keys. */
    long permits() {
        long least = quotas.stream()
                .filter(quota -> quota.unit.equals(Limit.REQUESTS))
                .mapToLong(ModelQuota::size)
                .min()
                .orElse(Exact.NEVER);
        for (ModelKey key : path()) {
            for (ModelBooks one : key.books) {
                if (one.limit.unit().equals(Limit.REQUESTS) && one.limit.kind() != Limit.Kind.TOTAL) {
                    least = Math.min(least, one.limit.permits());
                }
            }
        }
        return least;
    }

    /** The name of the attribute that it is the key of; empty for the root. */
    String attribute() {
        String label = labels.isEmpty() ? "" : labels.get(labels.size() - 1);
        return label.substring(0, Math.max(0, label.indexOf('=')));
    }

    String value() {
        String label = labels.isEmpty() ? "" : labels.get(labels.size() - 1);
        return label.substring(label.indexOf('=') + 1);
    }

    /** When a demand fits, its lane's share aside. */
    long readyAt(long now, Demand demand) {
        return latest(books, now, demand, Math.max(now, closedUntil));
    }

    long shareReadyAt(long now, Demand demand, int lane) {
        return latest(shares.get(lane), now, demand, now);
    }

    private static long latest(List<ModelBooks> books, long now, Demand demand, long at) {
        return books.stream()
                .mapToLong(one -> one.readyAt(now, demand.cost(one.limit.unit())))
                .reduce(at, Math::max);
    }

    long expectedAt(long now, Demand demand, int lane, long ahead) {
        long at = Math.max(now, closedUntil);
        for (ModelBooks one : booksOf(lane)) {
            long cost = demand.cost(one.limit.unit());
            long before = one.limit.unit().equals(Limit.REQUESTS) ? ahead : 0;
            at = Math.max(at, cost == 0 ? now : one.expectedAt(now, before, cost));
        }
        return at;
    }

    /** What is known of the turns of one lane of one key. */
    static final class ModelTurn {

        static final long NOT_OPEN = 0;
        /** The running number of when it opened, or was served and stayed open. */
        long openSince = NOT_OPEN;
        /** Somebody waits here. */
        boolean wanted;
        /** When it was served last, or began to wait. */
        long passedOverSince;
    }
}
