package io.github.reactorratelimit;

import io.github.reactorratelimit.Tree.KeyLimits;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;

/**
 * Finds the leaf that a demand is counted at. Where that is not known from last time its keys are reckoned, and the limits
 * of new keys asked for, which calls functions of the user's: outside the monitor, and then it is looked for again.
 */
final class KeyFinder {

    private final Tree tree;
    private final @Nullable Herald herald;

    KeyFinder(Tree tree, @Nullable Herald herald) {
        this.tree = tree;
        this.herald = herald;
    }

    Object[] keys(Demand demand) {
        return tree.keys(demand);
    }

    /** The keys of a ticket that asks, which listeners are told. */
    Object[] asked(Ticket ticket, int lane) {
        Object[] keys = tree.keys(ticket.demand);
        if (herald != null) {
            herald.asked(ticket, lane, keys);
        }
        return keys;
    }

    /** The leaf, under the monitor; null if keys have to be reckoned first, or the limits of new keys asked for. */
    @Nullable
    Node leaf(long now, Demand demand, Object @Nullable [] keys, @Nullable KeyLimits limits) {
        if (keys == null) {
            return tree.cached(now, demand);
        }
        Node leaf = limits == null ? tree.find(now, keys) : tree.grow(now, keys, limits);
        if (leaf != null) {
            demand.cachedLeaf = leaf;
        }
        return leaf;
    }

    /** The limits of these keys. A function that throws refuses who asks; null if nobody is told of that. */
    KeyLimits limits(@Nullable Ticket asking, Object[] keys) {
        try {
            return tree.limitsOf(keys);
        } catch (Throwable e) {
            Exceptions.throwIfFatal(e);
            if (herald != null && asking != null) {
                herald.refused(asking, 0, e);
            }
            throw e;
        }
    }
}
