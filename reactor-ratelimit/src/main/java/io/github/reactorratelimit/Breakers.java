package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.Cause;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lets a key rest whose calls fail, for everybody: 30 s and up to as much longer as the jitter says. What comes then is
 * the ramp's: one call at first, whose place is free again whatever becomes of it. Refusals for a limit are not its
 * business, and neither is what never reached the server.
 */
final class Breakers {

    private static final String RULE = "too many of its calls fail or time out, so it rests";

    private final Settings settings;
    private final Generations generations;
    private final News news;

    Breakers(Settings settings, Generations generations, News news) {
        this.settings = settings;
        this.generations = generations;
        this.news = news;
    }

    /** A response came; that its key rests for it, or null. */
    @Nullable
    Throttle answered(long now, Node leaf, long permitGeneration, RateLimitSignal signal, double random) {
        return settings.breaker() && counts(signal)
                ? over(now, leaf, signal, 1, isFailure(signal) ? 1 : 0, permitGeneration, random)
                : null;
    }

    /** Several responses came in one answer, and count at once; that their key rests for them, or null. */
    @Nullable
    Throttle answered(long now, Node leaf, long permitGeneration, List<RateLimitSignal> signals, double random) {
        int calls = 0;
        int failing = 0;
        RateLimitSignal telling = RateLimitSignal.none(0);
        for (RateLimitSignal signal : signals) {
            if (counts(signal)) {
                calls++;
                if (isFailure(signal)) {
                    failing++;
                    telling = signal;
                }
            }
        }
        return settings.breaker() && calls > 0
                ? over(now, leaf, telling, calls, failing, permitGeneration, random)
                : null;
    }

    private static boolean counts(RateLimitSignal signal) {
        return !signal.throttled() && signal.terminal() == null;
    }

    private static boolean isFailure(RateLimitSignal signal) {
        int status = signal.status();
        return status >= 500 && status <= 599 && status != 501 && status != 505;
    }

    /** No response came in time; that its key rests for it, or null. */
    @Nullable
    Throttle timedOut(long now, Node leaf, long permitGeneration, double random) {
        return settings.breaker() ? over(now, leaf, RateLimitSignal.none(0), 1, 1, permitGeneration, random) : null;
    }

    private @Nullable Throttle over(
            long now, Node leaf, RateLimitSignal signal, int calls, int failing, long permitGeneration, double random) {
        Breaker breaker = leaf.breaker;
        if (breaker == null) {
            breaker = new Breaker();
            leaf.breaker = breaker;
        }
        if (!breaker.over(now, calls, failing, permitGeneration)) {
            return null;
        }
        long generation = generations.next();
        breaker.open(generation);
        leaf.ramp().begin(generation, false);
        double extra = Breaker.REST_NANOS * settings.jitter() * random;
        long rest = Exact.add(Breaker.REST_NANOS, (long) extra);
        news.closed(now, leaf, leaf.close(now, Exact.add(now, rest)), Cause.FAILING);
        return new Throttle(leaf, signal.toBuilder().reason(RULE).build(), rest);
    }
}
