package io.github.reactorratelimit.metrics;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSnapshot;
import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Tags;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The gauges of the limiters of one name in one registry, which show the last of them. Where a snapshot is cheap every
 * reading takes one, so that it is never behind. Where it is not, the gauges of a scrape share one: it serves each of them
 * once, since a gauge that is read again is read by the next scrape. Of a snapshot no more is kept than they show. Gauges of
 * limits that are no longer in force are removed.
 */
final class LimiterGauges {

    private static final Duration FRESH = Duration.ofSeconds(1);
    /** The most keys of which a snapshot is taken for each gauge. */
    private static final int FEW = 256;
    /** As whom the gauge of all who wait is served. */
    private static final Object WAITING = new Object();
    /** The endpoint of a limit that counts all of them together. */
    private static final String ALL = "all";

    /** One gauge of what is left. */
    private record Row(String scope, String endpoint, String limit) {}

    /**
     * What is shown since some time of the registry's clock, which is some limiter time.
     *
     * @param served the gauges that have shown it; null where each gauge takes a snapshot of its own
     */
    private record Shown(
            int waiting, Map<Row, Long> available, @Nullable Set<Object> served, long sinceNanos, Duration at) {

        /** Whether this gauge has not shown it yet, and does now. */
        boolean serves(Object gauge) {
            return served != null && served.add(gauge);
        }
    }

    /** A limiter with the limits it has until it is changed or built anew. */
    private static final class InForce {

        private final WeakReference<@Nullable RateLimiter> limiter;
        private final Bounded limits = new Bounded();
        private final Set<String> endpoints = ConcurrentHashMap.newKeySet();
        private volatile @Nullable Shown shown;

        InForce(@Nullable RateLimiter limiter) {
            this.limiter = new WeakReference<>(limiter);
        }
    }

    private final RateLimitMetrics metrics;
    private final String limiter;
    /** Guarded by this, as is the next one. */
    private final Map<Row, Gauge> rows = new HashMap<>();

    private @Nullable Gauge waiting;

    private volatile InForce inForce = new InForce(null);
    /** Somebody takes a snapshot; the others see the last one meanwhile. */
    private final AtomicBoolean taking = new AtomicBoolean();

    LimiterGauges(RateLimitMetrics metrics, String limiter) {
        this.metrics = metrics;
        this.limiter = limiter;
    }

    /** From now on this limiter is the one. */
    synchronized void show(RateLimiter last) {
        inForce = new InForce(last);
        forget();
        if (waiting == null || !metrics.shows(waiting)) {
            // The metrics are what the gauge holds, so that they live as long as the registry has meters of theirs.
            waiting = Gauge.builder("ratelimit.waiting", metrics, all -> waiting())
                    .description("How many wait in line")
                    .tags("limiter", limiter)
                    .strongReference(true)
                    .register(metrics.registry());
        }
    }

    /** The limiter has other limits: those of its keys that are known are shown at once. */
    void change(RateLimiter changed) {
        show(changed);
        take(inForce, changed);
    }

    /** An endpoint got a permit: with the first, its limits are known. */
    void meet(String endpoint) {
        InForce now = inForce;
        if (now.endpoints.add(endpoint)) {
            RateLimiter watched = now.limiter.get();
            if (watched != null) {
                take(now, watched);
            }
        }
    }

    private double waiting() {
        Shown now = shown(WAITING);
        return now == null ? Double.NaN : now.waiting;
    }

    private double available(Row row) {
        Shown now = shown(row);
        Long least = now == null ? null : now.available.get(row);
        return least == null ? Double.NaN : least;
    }

    private @Nullable Shown shown(Object gauge) {
        InForce now = inForce;
        RateLimiter watched = now.limiter.get();
        if (watched == null || watched.isDisposed()) {
            return null;
        }
        Shown known = now.shown;
        if (known == null || known.served == null) {
            return taken(now, watched, gauge);
        }
        if ((known.serves(gauge) && isFresh(known, watched)) || !taking.compareAndSet(false, true)) {
            return known;
        }
        try {
            return taken(now, watched, gauge);
        } finally {
            taking.set(false);
        }
    }

    /** By both clocks, of which a test may move either. */
    private boolean isFresh(Shown known, RateLimiter watched) {
        long elapsed = metrics.registry().config().clock().monotonicTime() - known.sinceNanos;
        return elapsed < FRESH.toNanos() && watched.time().minus(known.at).compareTo(FRESH) < 0;
    }

    private Shown taken(InForce now, RateLimiter watched, Object gauge) {
        Shown seen = take(now, watched);
        seen.serves(gauge);
        return seen;
    }

    private Shown take(InForce now, RateLimiter watched) {
        RateLimiterSnapshot taken = watched.snapshot();
        int byEndpoint = taken.scopes().stream()
                .filter(scope -> scope.by().contains("endpoint"))
                .mapToInt(scope -> scope.keys().size())
                .min()
                .orElse(Integer.MAX_VALUE);
        Map<Row, Long> least = new HashMap<>();
        for (ScopeState scope : taken.scopes()) {
            String endpoint = scope.keys().size() < byEndpoint ? ALL : RateLimitMetrics.endpoint(scope.endpoint());
            for (LimitState state : scope.limits()) {
                String limit = now.limits.bound(state.limit().toString());
                least.merge(new Row(name(scope), endpoint, limit), state.available(), Math::min);
            }
        }
        long read = metrics.registry().config().clock().monotonicTime();
        Set<Object> served = taken.scopes().size() <= FEW ? null : ConcurrentHashMap.newKeySet();
        Shown seen = new Shown(taken.waiting(), least, served, read, watched.time());
        now.shown = seen;
        register(now, least.keySet());
        return seen;
    }

    private static String name(ScopeState scope) {
        return scope.by().isEmpty() ? "root" : String.join(",", scope.by());
    }

    private synchronized void register(InForce now, Set<Row> seen) {
        for (Row row : seen) {
            if (now == inForce && !rows.containsKey(row)) {
                rows.put(row, gauge(row));
            }
        }
    }

    private void forget() {
        List<Gauge> before = List.copyOf(rows.values());
        rows.clear();
        before.forEach(metrics.registry()::remove);
    }

    private Gauge gauge(Row row) {
        return Gauge.builder("ratelimit.permits.available", metrics, all -> available(row))
                .description("What a limit has left, of the key that has the least")
                .tags(Tags.of("limiter", limiter, "scope", row.scope).and("endpoint", row.endpoint, "limit", row.limit))
                .strongReference(true)
                .register(metrics.registry());
    }
}
