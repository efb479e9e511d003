package io.github.reactorratelimit;

import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * Which key stands for which of the server's buckets. Routes that turn out to share a bucket share one key from then on:
 * the one that was known first takes over the books, the cooldown and the waiters of the other. Only keys of the narrowest
 * scope that differ in nothing but their route are joined, so that two tokens never share what is counted per token.
 * Under the monitor.
 */
final class Buckets {

    /** Of one key. Routes that come beyond push out the oldest, which is told its bucket anew with its next response. */
    private static final int MOST_ROUTES = 1_024;

    private final Tree tree;
    private final Turns turns;
    private final Generations generations;
    private final Map<Identity, Node> known = new HashMap<>();

    Buckets(Tree tree, Turns turns, Generations generations) {
        this.tree = tree;
        this.turns = turns;
        this.generations = generations;
    }

    /**
     * A response to a demand counted at {@code leaf} told its bucket.
     *
     * @return where such demands count from now on
     */
    Node told(long now, Node leaf, Demand demand, String name) {
        Bucket before = leaf.bucket;
        if (leaf.parent == null || (before != null && before.identity.name.equals(name))) {
            return leaf;
        }
        Scope scope = tree.scopes().get(leaf.depth - 1);
        Object key = scope.keyOf(demand);
        Object besides = scope.besidesRoute(key);
        if (besides == null) {
            return leaf;
        }
        if (!key.equals(leaf.key)) {
            // One of the routes that came here has moved on: what it asks next gets a key of its own.
            drop(leaf, key);
            demand.cachedLeaf = null;
            return leaf;
        }
        if (before != null) {
            before.forget(leaf);
        }
        Identity identity = new Identity(leaf.parent, besides, name);
        Node same = known.putIfAbsent(identity, leaf);
        if (same == null) {
            leaf.bucket = new Bucket(identity);
            return leaf;
        }
        join(now, leaf, same);
        return same;
    }

    private static void drop(Node leaf, Object route) {
        if (leaf.bucket != null && leaf.bucket.routes.remove(route) && leaf.parent != null) {
            leaf.parent.dropRoute(route);
        }
    }

    private void join(long now, Node from, Node into) {
        Node parent = from.parent;
        Bucket bucket = into.bucket;
        if (parent == null || bucket == null) {
            throw new IllegalStateException("only keys below another one, whose bucket is known, are joined");
        }
        if (bucket.routes.size() == MOST_ROUTES) {
            Iterator<Object> oldest = bucket.routes.iterator();
            parent.dropRoute(oldest.next());
            oldest.remove();
        }
        bucket.routes.add(from.key);
        tree.remove(from);
        parent.addRoute(from.key, into);
        from.sharedWith = into;
        into.absorb(now, from, generations.next());
        turns.move(now, from, into);
    }

    /** A bucket, and whose it is. */
    private record Identity(Node parent, Object besidesRoute, String name) {}

    /** What a key that stands for a bucket knows of it. */
    final class Bucket {

        private final Identity identity;
        /** The keys that were joined to this one, the oldest first. */
        private final Set<Object> routes = new LinkedHashSet<>(2);

        Bucket(Identity identity) {
            this.identity = identity;
        }

        /** Its key is forgotten, or stands for another bucket. */
        void forget(Node leaf) {
            known.remove(identity);
            for (Object route : routes) {
                identity.parent.dropRoute(route);
            }
            leaf.bucket = null;
        }
    }
}
