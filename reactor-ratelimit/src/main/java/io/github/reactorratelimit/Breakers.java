package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;

/**
 * Lets a key rest whose calls fail, for everybody: 30 s and up to as much longer as the jitter says. What comes then is
 * the ramp's: one call at first, whose place is free again whatever becomes of it. Refusals for a limit are not its
 * business, and neither is what never reached the server.
 */
final class Breakers {

    private final Settings settings;
    private final Generations generations;

    Breakers(Settings settings, Generations generations) {
        this.settings = settings;
        this.generations = generations;
    }

    /** A response came; how long its key rests for it, or 0. */
    long answered(long now, Node leaf, int permitGeneration, RateLimitSignal signal, double random) {
        if (!settings.breaker() || signal.throttled() || signal.terminal() != null) {
            return 0;
        }
        int status = signal.status();
        boolean failure = status >= 500 && status <= 599 && status != 501 && status != 505;
        return over(now, leaf, failure, permitGeneration, random);
    }

    /** No response came in time; how long its key rests for it, or 0. */
    long timedOut(long now, Node leaf, int permitGeneration, double random) {
        return settings.breaker() ? over(now, leaf, true, permitGeneration, random) : 0;
    }

    private long over(long now, Node leaf, boolean failure, int permitGeneration, double random) {
        Breaker breaker = leaf.breaker;
        if (breaker == null) {
            breaker = new Breaker();
            leaf.breaker = breaker;
        }
        if (!breaker.over(now, failure, permitGeneration)) {
            return 0;
        }
        int generation = generations.next();
        breaker.open(generation);
        leaf.ramp().begin(generation, false);
        double extra = Breaker.REST_NANOS * settings.jitter() * random;
        long rest = Exact.add(Breaker.REST_NANOS, (long) extra);
        leaf.close(now, Exact.add(now, rest));
        return rest;
    }
}
