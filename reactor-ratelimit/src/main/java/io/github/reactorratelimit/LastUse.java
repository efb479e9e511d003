package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The keys below the root in the order of their last use, so that those longest unused are found without a search. */
final class LastUse {

    private @Nullable Node oldest;
    private @Nullable Node newest;

    /** The one longest unused; null if there is none. */
    @Nullable
    Node oldest() {
        return oldest;
    }

    /** This key and all above it are used now. */
    void use(long now, Node leaf) {
        for (Node node = leaf; node.parent != null; node = node.parent) {
            if (node.lastUsed != now) {
                node.lastUsed = now;
                if (node != newest) {
                    remove(node);
                    add(node);
                }
            }
        }
    }

    /** As the one that was used last. */
    void add(Node node) {
        node.older = newest;
        node.newer = null;
        if (newest == null) {
            oldest = node;
        } else {
            newest.newer = node;
        }
        newest = node;
    }

    void remove(Node node) {
        if (node.older == null) {
            oldest = node.newer;
        } else {
            node.older.newer = node.newer;
        }
        if (node.newer == null) {
            newest = node.older;
        } else {
            node.newer.older = node.older;
        }
    }

    /** All of them, which are about so many, those longest unused first. */
    List<Node> all(int size) {
        List<Node> all = new ArrayList<>(size);
        for (Node node = oldest; node != null; node = node.newer) {
            all.add(node);
        }
        return all;
    }
}
