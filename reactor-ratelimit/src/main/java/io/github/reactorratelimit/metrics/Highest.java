package io.github.reactorratelimit.metrics;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.distribution.TimeWindowMax;
import java.util.function.ToDoubleFunction;

/** The highest of what was seen in the last two minutes, of the registry's clock, as a gauge. */
final class Highest {

    private static final long STEP_MILLIS = 40_000;
    private static final int STEPS = 3;

    private final TimeWindowMax max;

    private Highest(
            MeterRegistry registry, String name, String description, Tags tags, ToDoubleFunction<TimeWindowMax> shown) {
        this.max = new TimeWindowMax(registry.config().clock(), STEP_MILLIS, STEPS);
        Gauge.builder(name, max, shown)
                .description(description)
                .tags(tags)
                .strongReference(true)
                .register(registry);
    }

    static Highest of(MeterRegistry registry, String name, String description, Tags tags) {
        return new Highest(registry, name, description, tags, TimeWindowMax::poll);
    }

    /** Shows what is left to 1. */
    static Highest inverted(MeterRegistry registry, String name, String description, Tags tags) {
        return new Highest(registry, name, description, tags, max -> 1 - max.poll());
    }

    void saw(double value) {
        max.record(value);
    }
}
