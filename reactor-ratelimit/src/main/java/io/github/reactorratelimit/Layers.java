package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * Only one layer retries and hears: the innermost, which sees the response itself. Every attempt leaves a mark of itself in
 * the Reactor Context; an inner operator claims it when it is subscribed, and a claimed attempt only limits.
 */
final class Layers {

    private static final Object MARK = new Object() {
        @Override
        public String toString() {
            return "reactor-ratelimit.attempt";
        }
    };

    private Layers() {}

    /**
     * What an attempt leaves of itself.
     *
     * @param attempt who can be claimed
     * @param number which attempt of its call it is
     * @param waitedNanos how long it waited for its permit
     */
    record Mark(Attempt<?> attempt, int number, long waitedNanos) {

        Context in(Context context) {
            return context.put(MARK, this);
        }
    }

    static void claim(ContextView context, boolean retries) {
        Mark outer = mark(context);
        if (outer != null) {
            outer.attempt.claim(retries);
        }
    }

    /** What the attempt around left, if there is one. */
    static @Nullable Mark mark(ContextView context) {
        return context.isEmpty() ? null : context.getOrDefault(MARK, null);
    }
}
