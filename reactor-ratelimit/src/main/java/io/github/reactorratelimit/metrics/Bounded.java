package io.github.reactorratelimit.metrics;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Values of a tag, of which the first hundred are told apart. */
final class Bounded {

    private static final int MOST = 100;

    private final Set<String> known = ConcurrentHashMap.newKeySet();

    String bound(String value) {
        if (known.contains(value)) {
            return value;
        }
        // Two at once may come in as the hundredth and the one after it, which is bounded all the same.
        return known.size() < MOST && known.add(value) ? value : known.contains(value) ? value : RateLimitMetrics.OTHER;
    }
}
