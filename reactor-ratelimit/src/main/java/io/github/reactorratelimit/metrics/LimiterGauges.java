package io.github.reactorratelimit.metrics;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSnapshot;
import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The gauges of the limiters of one name, which show the last of them. All that are read at about the same time come from
 * one snapshot, of which no more is kept than they show.
 */
final class LimiterGauges {

    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** One gauge of what is left. */
    private record Row(String scope, String endpoint, String limit) {}

    /** What is shown since some time of the registry's clock. */
    private record Shown(int waiting, Map<Row, Long> available, long since) {}

    private final MeterRegistry registry;
    private final String limiter;
    private final Bounded limits = new Bounded();
    private final Set<String> endpoints = ConcurrentHashMap.newKeySet();
    private final Map<Row, Gauge> rows = new ConcurrentHashMap<>();
    private volatile WeakReference<@Nullable RateLimiter> current = new WeakReference<>(null);
    private volatile @Nullable Shown shown;
    /** Somebody takes a snapshot; the others see the last one meanwhile. */
    private final AtomicBoolean taking = new AtomicBoolean();

    LimiterGauges(MeterRegistry registry, String limiter) {
        this.registry = registry;
        this.limiter = limiter;
        Gauge.builder("ratelimit.waiting", this, LimiterGauges::waiting)
                .description("How many wait in line")
                .tags("limiter", limiter)
                .strongReference(true)
                .register(registry);
    }

    /** From now on this limiter is the one. */
    void show(RateLimiter last) {
        current = new WeakReference<>(last);
        shown = null;
        endpoints.clear();
    }

    /** An endpoint got a permit: with the first, its limits are known. */
    void meet(String endpoint) {
        if (endpoints.add(endpoint)) {
            RateLimiter watched = current.get();
            if (watched != null) {
                take(watched);
            }
        }
    }

    private double waiting() {
        Shown now = shown();
        return now == null ? Double.NaN : now.waiting;
    }

    private double available(Row row) {
        Shown now = shown();
        Long least = now == null ? null : now.available.get(row);
        return least == null ? Double.NaN : least;
    }

    private @Nullable Shown shown() {
        RateLimiter watched = current.get();
        if (watched == null) {
            return null;
        }
        Shown known = shown;
        if (known == null) {
            return take(watched);
        }
        boolean fresh = registry.config().clock().monotonicTime() - known.since < FRESH_NANOS;
        if (fresh || !taking.compareAndSet(false, true)) {
            return known;
        }
        try {
            return take(watched);
        } finally {
            taking.set(false);
        }
    }

    private Shown take(RateLimiter watched) {
        RateLimiterSnapshot taken = watched.snapshot();
        Map<Row, Long> least = new HashMap<>();
        for (ScopeState scope : taken.scopes()) {
            for (LimitState state : scope.limits()) {
                least.merge(row(scope, state), state.available(), Math::min);
            }
        }
        Shown now = new Shown(taken.waiting(), least, registry.config().clock().monotonicTime());
        shown = now;
        least.keySet().forEach(row -> rows.computeIfAbsent(row, this::gauge));
        return now;
    }

    private Row row(ScopeState scope, LimitState state) {
        String name = scope.by().isEmpty() ? "root" : String.join(",", scope.by());
        return new Row(
                name,
                RateLimitMetrics.endpoint(scope.endpoint()),
                limits.bound(state.limit().toString()));
    }

    private Gauge gauge(Row row) {
        return Gauge.builder("ratelimit.permits.available", row, this::available)
                .description("What a limit has left, of the key that has the least")
                .tags(Tags.of("limiter", limiter, "scope", row.scope).and("endpoint", row.endpoint, "limit", row.limit))
                .strongReference(true)
                .register(registry);
    }
}
