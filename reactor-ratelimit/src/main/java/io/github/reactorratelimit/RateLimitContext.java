package io.github.reactorratelimit;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/** What a caller can say about its calls through the Reactor Context. */
public final class RateLimitContext {

    private static final Object LANE = new Key("lane");

    private RateLimitContext() {}

    /**
     * Names the lane of every call upstream whose demand names none.
     *
     * @param name the lane
     * @return a function for {@code contextWrite}
     */
    public static Function<Context, Context> lane(String name) {
        return context -> context.put(LANE, name);
    }

    static @Nullable String laneOf(ContextView context) {
        return context.isEmpty() ? null : context.getOrDefault(LANE, null);
    }

    private record Key(String name) {}
}
