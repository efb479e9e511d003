package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a limiter: a root, and below it one per scope key, from broad to narrow. Keys come with their first demand
 * and are forgotten when they are idle and full again, a few at a time.
 */
final class Tree {

    /** How many of the longest unused keys one command looks at. */
    private static final int LOOKS = 4;

    private static final Object[] ROOT = {};

    final Node root;
    private final Lanes lanes;
    private final long idleNanos;
    private final boolean learns;
    private final Generations generations;
    /** Whether anything is limited at all. */
    private boolean limited;

    private final LongUnaryOperator wall;
    /** Whether a store keeps the books, which can't keep those of every limit. */
    private final boolean shared;

    private volatile List<Scope> scopes;
    /** How often limits were changed. Written under the monitor, after the scopes, so that who reads it first reads no older ones. */
    private volatile int changes;

    private final LastUse lastUse = new LastUse();
    private int size = 1;
    /** How many keys ever came to be known. */
    private long count;

    Tree(
            List<Limit> rootLimits,
            List<Scope> scopes,
            Settings settings,
            Generations generations,
            LongUnaryOperator wall,
            boolean shared) {
        this.wall = wall;
        this.shared = shared;
        this.lanes = settings.lanes();
        this.scopes = scopes;
        this.idleNanos = settings.idleNanos();
        this.learns = settings.learning() != Learning.Mode.OFF;
        this.generations = generations;
        this.root = new Node(null, "", "", rootLimits, lanes, 0, 0, wall);
        this.limited = isLimited(rootLimits, scopes);
        begin(root);
    }

    private static boolean isLimited(List<Limit> rootLimits, List<Scope> scopes) {
        return !rootLimits.isEmpty() || scopes.stream().anyMatch(Scope::isLimited);
    }

    /** A narrowest key of which nothing is known is tried out first. */
    private void begin(Node node) {
        if (node.depth == scopes.size() && (learns || !limited)) {
            node.ramp().begin(generations.next(), learns);
        }
    }

    int size() {
        return size;
    }

    /**
     * The keys of a demand from broad to narrow; empty where its leaf is known from last time.
     *
     * @throws IllegalArgumentException if the demand lacks an attribute
     */
    Object[] keys(Demand demand) {
        return keys(demand, scopes.size());
    }

    private Object[] keys(Demand demand, int depth) {
        Object[] keys = depth == 0 ? ROOT : new Object[depth];
        for (int i = 0; i < depth; i++) {
            keys[i] = scopes.get(i).keyOf(demand);
        }
        return keys;
    }

    /** The keys of the scopes, from the broadest on, all of whose attributes are named. */
    Object[] keysNamed(Demand whom) {
        int depth = 0;
        while (depth < scopes.size() && scopes.get(depth).isNamedBy(whom)) {
            depth++;
        }
        return keys(whom, depth);
    }

    /** Where this demand was counted last, if that is still good. */
    @Nullable
    Node cached(long now, Demand demand) {
        if (scopes.isEmpty()) {
            return root;
        }
        Node cached = demand.cachedLeaf;
        if (cached == null || top(cached) != root || cached.forgotten) {
            return null;
        }
        lastUse.use(now, cached);
        return cached;
    }

    /** The node of these keys, or null if one of them is new. */
    @Nullable
    Node find(long now, Object[] keys) {
        Node node = root;
        for (int i = 0; i < keys.length && node != null; i++) {
            node = node.child(keys[i]);
        }
        if (node != null) {
            lastUse.use(now, node);
        }
        return node;
    }

    private static Node top(Node leaf) {
        Node node = leaf;
        while (node.parent != null) {
            node = node.parent;
        }
        return node;
    }

    /** The limits of each of these keys. Calls the user's functions, so outside the monitor. */
    KeyLimits limitsOf(Object[] keys) {
        int asOf = changes;
        List<List<Limit>> all = new ArrayList<>(keys.length);
        Map<String, String> path = new LinkedHashMap<>();
        for (int i = 0; i < keys.length; i++) {
            Scope scope = scopes.get(i);
            scope.describe(keys[i], path);
            all.add(scope.limitsOf(keys[i], new LinkedHashMap<>(path)));
        }
        if (shared) {
            all.forEach(Sharing::check);
        }
        return new KeyLimits(all, asOf);
    }

    /** The limits of some keys, as they were after so many changes. */
    record KeyLimits(List<List<Limit>> each, int asOf) {}

    /** The node of these keys, with new nodes where they are new; null if limits were changed since. */
    @Nullable
    Node grow(long now, Object[] keys, KeyLimits known) {
        Node node = root;
        for (int i = 0; i < keys.length; i++) {
            Node child = node.child(keys[i]);
            if (child == null) {
                if (known.asOf != changes) {
                    return null;
                }
                Scope scope = scopes.get(i);
                child = new Node(node, keys[i], scope.label(keys[i]), known.each.get(i), lanes, ++count, now, wall);
                node.addChild(child);
                lastUse.add(child);
                size++;
                begin(child);
            }
            node = child;
        }
        return node;
    }

    /** Forgets a few keys that are idle and full; those that are not are looked at again when all others were. */
    void forgetIdle(long now) {
        for (int i = 0; i < LOOKS; i++) {
            Node node = lastUse.oldest();
            if (node == null || now - node.lastUsed < idleNanos) {
                return;
            }
            lastUse.remove(node);
            Node parent = node.parent;
            if (parent != null && now - node.leftAt >= idleNanos && node.isIdle(now)) {
                detach(node, parent);
                node.leaveQuotas();
                if (node.bucket != null) {
                    node.bucket.forget(node);
                }
            } else {
                node.lastUsed = now;
                lastUse.add(node);
            }
        }
    }

    /** The broadest key on the path that holds one account's calls, whatever their route; the root if none tells accounts apart. */
    Node account(Node leaf) {
        for (int depth = 1; depth <= leaf.depth; depth++) {
            Scope scope = scopes.get(depth - 1);
            if (scope.namesRoute()) {
                return root;
            }
            if (scope.namesCredential()) {
                return leaf.above(depth);
            }
        }
        return root;
    }

    /** Takes a key out that counts elsewhere from now on. */
    void remove(Node node) {
        if (node.parent != null) {
            lastUse.remove(node);
            detach(node, node.parent);
        }
    }

    private void detach(Node node, Node parent) {
        node.forgotten = true;
        size--;
        if (parent.children != null) {
            parent.children.remove(node);
        }
    }

    /** All nodes below the root, those longest unused first. */
    List<Node> nodes() {
        return lastUse.all(size);
    }

    /** The attributes of a node's key, those of the keys above included. */
    Map<String, String> path(Node node) {
        Map<String, String> path = new LinkedHashMap<>();
        describe(node, path);
        return path;
    }

    private void describe(Node node, Map<String, String> into) {
        if (node.parent != null) {
            describe(node.parent, into);
            scopes.get(node.depth - 1).describe(node.key, into);
        }
    }

    static List<String> labels(Node leaf) {
        List<String> labels = new ArrayList<>(leaf.depth);
        for (Node node = leaf; node != null && node.parent != null; node = node.parent) {
            labels.add(0, node.label);
        }
        return labels;
    }

    /** As {@link #labels(Node)}, of keys whose nodes may not be known yet. */
    List<String> labels(Object[] keys) {
        List<String> labels = new ArrayList<>(keys.length);
        for (int i = 0; i < keys.length; i++) {
            labels.add(scopes.get(i).label(keys[i]));
        }
        return labels;
    }

    /** The endpoint of these keys as it was configured, or null. */
    @Nullable
    String endpoint(Object[] keys) {
        for (int i = keys.length - 1; i >= 0; i--) {
            String endpoint = scopes.get(i).endpoint(keys[i]);
            if (endpoint != null) {
                return endpoint;
            }
        }
        return null;
    }

    /** As {@link #endpoint(Object[])}, of the keys of a node. */
    @Nullable
    String endpoint(Node leaf) {
        Object[] keys = new Object[leaf.depth];
        for (Node node = leaf; node.parent != null; node = node.parent) {
            keys[node.depth - 1] = node.key;
        }
        return endpoint(keys);
    }

    List<Scope> scopes() {
        return scopes;
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // Written under the monitor only.
    void change(List<Limit> rootLimits, List<Scope> changed) {
        int next = changes + 1; // The monitor makes it atomic.
        scopes = changed;
        limited = isLimited(rootLimits, changed);
        changes = next;
    }
}
