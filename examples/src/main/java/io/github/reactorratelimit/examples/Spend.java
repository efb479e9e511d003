package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.PriceTable;
import io.github.reactorratelimit.RateLimitListener;
import java.time.Duration;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * What each model has cost so far, as a limiter counts it: a call that is under way, or broke off, with the most that it can
 * have cost; one that told its usage with that; one that was refused with nothing.
 */
final class Spend implements RateLimitListener {

    private final SortedMap<String, Long> microDollars = new TreeMap<>();

    @Override
    public void granted(Subject who, Duration waited) {
        add(who, who.demand().cost(PriceTable.UNIT));
    }

    @Override
    public void settled(Subject who, String unit, long asked, long actual) {
        if (unit.equals(PriceTable.UNIT)) {
            add(who, actual - asked);
        }
    }

    @Override
    public void released(Subject who, Duration held, Ending ending) {
        if (ending == Ending.REFUNDED) {
            add(who, -who.demand().cost(PriceTable.UNIT));
        }
    }

    private synchronized void add(Subject who, long cost) {
        String model = who.demand().attribute("model");
        microDollars.merge(model == null ? "none" : model, cost, (a, b) -> a + b == 0 ? null : a + b);
    }

    /** By model, in micro-dollars; those that cost something. */
    synchronized Map<String, Long> microDollars() {
        return new TreeMap<>(microDollars);
    }
}
