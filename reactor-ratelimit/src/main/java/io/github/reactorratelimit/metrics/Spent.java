package io.github.reactorratelimit.metrics;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Tags;
import java.util.concurrent.atomic.DoubleAdder;

/** What permits cost in a unit, in all: a gauge and no counter, because corrections take some of it back. */
final class Spent {

    /** What somebody took for a cost may be any figure, and sums of those must not overflow. */
    private final DoubleAdder sum;

    private final Gauge gauge;

    Spent(RateLimitMetrics metrics, Tags tags) {
        DoubleAdder adding = new DoubleAdder();
        this.sum = adding;
        // The metrics are what the gauge holds, so that they live as long as the registry has meters of theirs.
        this.gauge = Gauge.builder("ratelimit.spent", metrics, all -> adding.sum())
                .description("What permits cost in a unit, as it was corrected")
                .tags(tags)
                .strongReference(true)
                .register(metrics.registry());
    }

    Gauge gauge() {
        return gauge;
    }

    void add(long cost) {
        sum.add((double) cost);
    }
}
