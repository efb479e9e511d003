package io.github.reactorratelimit;

import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/** What callers and their calls can say to each other through the Reactor Context. */
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

    /**
     * Which attempt of its call something upstream of an operator belongs to. Of several operators around it the innermost
     * counts.
     *
     * @param context what is seen upstream of {@link RateLimitOperator#limit}, by {@code Mono.deferContextual} for example
     * @return 1 for the first attempt, 0 outside of any
     */
    public static int attempt(ContextView context) {
        Layers.Mark mark = Layers.mark(context);
        return mark == null ? 0 : mark.number();
    }

    /**
     * How long that attempt waited for its permit, the backoff before it included.
     *
     * @param context what is seen upstream of {@link RateLimitOperator#limit}
     * @return the time in the limiter's clock; zero if it was granted at once, by a source of your own, and outside of any
     *     attempt
     */
    public static Duration waited(ContextView context) {
        Layers.Mark mark = Layers.mark(context);
        return mark == null ? Duration.ZERO : Duration.ofNanos(mark.waitedNanos());
    }

    /**
     * The attempt itself that something upstream of an operator belongs to, to correct what it costs: with the usage that an
     * answer tells, for example.
     *
     * <pre>{@code
     * Mono.deferContextual(context -> ask().doOnNext(answer ->
     *                 RateLimitContext.exchange(context).settle("tokens", answer.tokens())))
     *         .transform(limiter.limit(demand));
     * }</pre>
     *
     * @param context what is seen upstream of {@link RateLimitOperator#limit}, or where an adapter reads a response
     * @return the innermost attempt
     * @throws IllegalStateException outside of any attempt
     */
    public static Exchange exchange(ContextView context) {
        Layers.Mark mark = Layers.mark(context);
        if (mark == null) {
            throw new IllegalStateException(
                    "there is an attempt only upstream of an operator such as limiter.limit(), and this Context has none");
        }
        return mark.exchange();
    }

    static @Nullable String laneOf(ContextView context) {
        return context.isEmpty() ? null : context.getOrDefault(LANE, null);
    }

    private record Key(String name) {}
}
