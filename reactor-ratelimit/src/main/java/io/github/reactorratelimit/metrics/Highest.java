package io.github.reactorratelimit.metrics;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.distribution.TimeWindowMax;
import java.util.function.ToDoubleFunction;

/** The highest of what was seen in the last two minutes, of the registry's clock, as a gauge. */
final class Highest {

    private static final long STEP_MILLIS = 40_000;
    private static final int STEPS = 3;

    private final TimeWindowMax max;
    private final Gauge gauge;

    private Highest(
            RateLimitMetrics metrics,
            String name,
            String description,
            Tags tags,
            ToDoubleFunction<TimeWindowMax> shown) {
        TimeWindowMax seen = new TimeWindowMax(metrics.registry().config().clock(), STEP_MILLIS, STEPS);
        this.max = seen;
        // The metrics are what the gauge holds, so that they live as long as the registry has meters of theirs.
        this.gauge = Gauge.builder(name, metrics, all -> shown.applyAsDouble(seen))
                .description(description)
                .tags(tags)
                .strongReference(true)
                .register(metrics.registry());
    }

    static Highest of(RateLimitMetrics metrics, String name, String description, Tags tags) {
        return new Highest(metrics, name, description, tags, TimeWindowMax::poll);
    }

    /** Shows what is left to 1. */
    static Highest inverted(RateLimitMetrics metrics, String name, String description, Tags tags) {
        return new Highest(metrics, name, description, tags, max -> 1 - max.poll());
    }

    Gauge gauge() {
        return gauge;
    }

    void saw(double value) {
        max.record(value);
    }
}
