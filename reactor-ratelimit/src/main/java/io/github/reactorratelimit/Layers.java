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

    /** What an attempt leaves of itself: itself, or what is known of it before it is sent. */
    interface Mark {

        /** An inner operator was subscribed. */
        void claim(boolean retriesToo);

        /** Which attempt of its call it is. */
        int number();

        /** How long it waited for its permit. */
        long waitedNanos();

        /** The attempt itself. */
        Exchange exchange();
    }

    /** The mark of an attempt that will tell when it is sent, and forget then when it was granted. */
    record Sending(Attempt<?> attempt, int number, long waitedNanos) implements Mark {

        @Override
        public void claim(boolean retriesToo) {
            attempt.claim(retriesToo);
        }

        @Override
        public Exchange exchange() {
            return attempt;
        }
    }

    static Context mark(Context context, Mark mark) {
        return context.put(MARK, mark);
    }

    static void claim(ContextView context, boolean retries) {
        Mark outer = mark(context);
        if (outer != null) {
            outer.claim(retries);
        }
    }

    /** What the attempt around left, if there is one. */
    static @Nullable Mark mark(ContextView context) {
        return context.isEmpty() ? null : context.getOrDefault(MARK, null);
    }
}
