package io.github.reactorratelimit.metrics;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSnapshot;
import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The gauges of the limiters of one name, which show the last of them. All that are read at about the same time come from
 * one snapshot.
 */
final class LimiterGauges {

    private static final long FRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** One gauge of what is left. */
    private record Row(String scope, String endpoint, String limit) {}

    /** What was shown at some time of the registry's clock. */
    private record Shown(RateLimiterSnapshot snapshot, long at) {}

    private final MeterRegistry registry;
    private final String limiter;
    private final Bounded limits = new Bounded();
    private final Set<String> endpoints = ConcurrentHashMap.newKeySet();
    private final Map<Row, Gauge> rows = new ConcurrentHashMap<>();
    private volatile WeakReference<@Nullable RateLimiter> current = new WeakReference<>(null);
    private volatile @Nullable Shown shown;

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
            shown = null;
            snapshot();
        }
    }

    private double waiting() {
        RateLimiterSnapshot now = snapshot();
        return now == null ? Double.NaN : now.waiting();
    }

    private double available(Row row) {
        RateLimiterSnapshot now = snapshot();
        if (now == null) {
            return Double.NaN;
        }
        return now.scopes().stream()
                .flatMap(scope -> scope.limits().stream()
                        .filter(state -> row.equals(row(scope, state)))
                        .map(LimitState::available))
                .mapToDouble(Long::doubleValue)
                .min()
                .orElse(Double.NaN);
    }

    private @Nullable RateLimiterSnapshot snapshot() {
        RateLimiter watched = current.get();
        if (watched == null) {
            return null;
        }
        long now = registry.config().clock().monotonicTime();
        Shown known = shown;
        if (known != null && now - known.at < FRESH_NANOS) {
            return known.snapshot;
        }
        RateLimiterSnapshot taken = watched.snapshot();
        shown = new Shown(taken, now);
        taken.scopes().stream().flatMap(this::rows).forEach(row -> rows.computeIfAbsent(row, this::gauge));
        return taken;
    }

    private Stream<Row> rows(ScopeState scope) {
        return scope.limits().stream().map(state -> row(scope, state));
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
