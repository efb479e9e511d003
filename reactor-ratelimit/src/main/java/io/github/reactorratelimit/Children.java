package io.github.reactorratelimit;

import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The keys right below one, and by what they are found: their own, or that of a route that counts at them. */
final class Children {

    /** As they came to be known. */
    private final Map<Object, Node> own = new LinkedHashMap<>();
    /** Null as long as there are none. */
    private @Nullable Map<Object, Node> routes;

    void add(Node child) {
        own.put(child.key, child);
    }

    void remove(Node child) {
        own.remove(child.key);
    }

    /** A key that counts at {@code child} from now on, which has another one. */
    void addRoute(Object key, Node child) {
        if (routes == null) {
            routes = new HashMap<>();
        }
        routes.put(key, child);
    }

    void dropRoute(Object key) {
        if (routes != null) {
            routes.remove(key);
        }
    }

    @Nullable
    Node at(Object key) {
        Node child = own.get(key);
        return child != null || routes == null ? child : routes.get(key);
    }

    /** As they came to be known. */
    Collection<Node> all() {
        return own.values();
    }
}
