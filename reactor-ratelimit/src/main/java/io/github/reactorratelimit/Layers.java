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

    static Context mark(Context context, Attempt<?> attempt) {
        return context.put(MARK, attempt);
    }

    static void claim(ContextView context, boolean retries) {
        Attempt<?> outer = context.isEmpty() ? null : attempt(context);
        if (outer != null) {
            outer.claim(retries);
        }
    }

    static @Nullable Attempt<?> attempt(ContextView context) {
        return context.getOrDefault(MARK, null);
    }
}
