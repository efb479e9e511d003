package io.github.reactorratelimit.metrics;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitListener;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetriesExhaustedException;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * A limiter's meters in a Micrometer registry: {@code RateLimiter.named("partner").listener(RateLimitMetrics.of(registry))}.
 * Needs {@code micrometer-core}. A registry has one of these, which may listen to any number of limiters.
 *
 * <table>
 * <caption>Meters, all with the tag {@code limiter}</caption>
 * <tr><th>name</th><th>what</th><th>further tags</th></tr>
 * <tr><td>{@code ratelimit.acquire}</td><td>timer: how long permits were waited for, backoff included</td>
 *     <td>{@code lane}; {@code waiting}: true, false; {@code outcome}: granted, refused, cancelled</td></tr>
 * <tr><td>{@code ratelimit.waiting}</td><td>gauge: how many wait in line</td><td></td></tr>
 * <tr><td>{@code ratelimit.permits.available}</td><td>gauge: what a limit has left, of the key that has the least; negative
 *     for a debt</td><td>{@code scope}, {@code endpoint}, {@code limit}</td></tr>
 * <tr><td>{@code ratelimit.refusals}</td><td>counter: calls that the server refused for a limit</td>
 *     <td>{@code endpoint}, {@code status}</td></tr>
 * <tr><td>{@code ratelimit.cooldown}</td><td>timer: for how long scopes were closed; what one closing adds to another is
 *     counted once</td><td>{@code endpoint}; {@code cause}: refused, emptied, unavailable, failing,
 *     by_hand</td></tr>
 * <tr><td>{@code ratelimit.retries}</td><td>counter: attempts that are followed by another</td>
 *     <td>{@code endpoint}; {@code reason}: throttled, unavailable, failed, not_sent, interrupted</td></tr>
 * <tr><td>{@code ratelimit.exhausted}</td><td>counter: calls that gave up</td><td>{@code endpoint}</td></tr>
 * <tr><td>{@code ratelimit.server.remaining}</td><td>gauge: the lowest share of a limit that a server said remains, of the
 *     last two minutes; 1 if it said nothing</td><td>{@code endpoint}</td></tr>
 * <tr><td>{@code ratelimit.server.usage}</td><td>gauge: the highest usage figure that a server gave, by which it throttles
 *     softly before it refuses, of the last two minutes; 0.8 is 80 %, 0 if it gave none</td><td>{@code endpoint}</td></tr>
 * <tr><td>{@code ratelimit.spent}</td><td>gauge: what permits cost in all in a unit other than requests, such as tokens or
 *     micro-dollars: what was asked for, as it was corrected since</td><td>{@code endpoint}, {@code unit}</td></tr>
 * <tr><td>{@code ratelimit.proxy.failures}</td><td>counter: attempts that a proxy did not let through</td>
 *     <td>{@code proxy}: host and port</td></tr>
 * </table>
 *
 * <p>Tags are bounded: {@code endpoint} is a value or pattern that the limiter was configured with, {@code all} for a limit
 * that counts all endpoints together, else {@code other}; of limits, units and proxies the first hundred are told apart, the
 * others are {@code other}. Tokens, users and paths are never in a tag.
 *
 * <p>Gauges of two limiters of one name show the one that was built last; those of a limiter that is gone or disposed show
 * NaN. A gauge of {@code ratelimit.permits.available} comes with the first permit of its endpoint, and is removed when its
 * limit is no longer in force, by {@link RateLimiter#change} or because a limiter of the same name was built. No other meter
 * is ever removed.
 *
 * <p>A gauge takes a {@linkplain RateLimiter#snapshot() snapshot} when it is read, so what it shows is how the limiter
 * stands then. Of a limiter with more than 256 keys, where that is dear, the gauges of a scrape share one: it serves each of
 * them once, within a second of the registry's clock and of limiter time, so a gauge that is read again is never behind what
 * it showed before. The two minutes are those of the registry's clock. Thread-safe.
 */
public final class RateLimitMetrics implements RateLimitListener {

    static final String OTHER = "other";

    /** Weakly both: what a registry shows holds its metrics, and those hold the registry. */
    private static final Map<MeterRegistry, WeakReference<RateLimitMetrics>> OF_REGISTRIES = new WeakHashMap<>();

    private final MeterRegistry registry;
    private final Bounded proxies = new Bounded();
    private final Bounded units = new Bounded();
    private final Map<String, LimiterGauges> gauges = new ConcurrentHashMap<>();
    private final Map<Tags, Highest> used = new ConcurrentHashMap<>();
    private final Map<Tags, Highest> usage = new ConcurrentHashMap<>();
    private final Map<Tags, Spent> spent = new ConcurrentHashMap<>();

    private RateLimitMetrics(MeterRegistry registry) {
        this.registry = registry;
    }

    /**
     * Meters in this registry.
     *
     * @param registry where they are registered, as they come
     * @return the listener, for {@link io.github.reactorratelimit.RateLimiterSpec#listener}; the same one each time
     */
    public static RateLimitMetrics of(MeterRegistry registry) {
        Objects.requireNonNull(registry, "registry");
        synchronized (OF_REGISTRIES) {
            WeakReference<RateLimitMetrics> known = OF_REGISTRIES.get(registry);
            RateLimitMetrics metrics = known == null ? null : known.get();
            if (metrics == null) {
                metrics = new RateLimitMetrics(registry);
                OF_REGISTRIES.put(registry, new WeakReference<>(metrics));
            }
            return metrics;
        }
    }

    MeterRegistry registry() {
        return registry;
    }

    /** Whether a gauge is registered still: somebody may have cleared the registry, and Micrometer warns of a second one. */
    boolean shows(Gauge gauge) {
        Meter.Id id = gauge.getId();
        return registry.find(id.getName()).tags(id.getTags()).gauge() != null;
    }

    @Override
    public void built(RateLimiter limiter) {
        used.values().removeIf(before -> !shows(before.gauge()));
        usage.values().removeIf(before -> !shows(before.gauge()));
        spent.values().removeIf(before -> !shows(before.gauge()));
        gauges(limiter).show(limiter);
    }

    @Override
    public void changed(RateLimiter limiter) {
        gauges(limiter).change(limiter);
    }

    private LimiterGauges gauges(RateLimiter limiter) {
        return gauges.computeIfAbsent(limiter.spec().name(), added -> new LimiterGauges(this, added));
    }

    @Override
    public void granted(Subject who, Duration waited) {
        acquired(who, waited, "granted");
        LimiterGauges shown = gauges.get(who.limiter());
        if (shown != null) {
            shown.meet(endpoint(who.endpoint()));
        }
        for (String unit : who.demand().units()) {
            spend(who, unit, who.demand().cost(unit));
        }
    }

    @Override
    public void settled(Subject who, String unit, long asked, long actual) {
        if (!unit.equals(Limit.REQUESTS)) {
            spend(who, unit, actual - asked);
        }
    }

    @Override
    public void released(Subject who, Duration held, Ending ending) {
        if (ending == Ending.REFUNDED) {
            for (String unit : who.demand().units()) {
                spend(who, unit, -who.demand().cost(unit));
            }
        }
    }

    private void spend(Subject who, String unit, long cost) {
        Tags tags = tags(who.limiter(), who.endpoint()).and("unit", units.bound(unit));
        spent.computeIfAbsent(tags, added -> new Spent(this, added)).add(cost);
    }

    @Override
    public void refused(Subject who, Duration waited, Throwable why) {
        acquired(who, waited, "refused");
    }

    @Override
    public void left(Subject who, Duration waited) {
        acquired(who, waited, "cancelled");
    }

    private void acquired(Subject who, Duration waited, String outcome) {
        Timer.builder("ratelimit.acquire")
                .description("How long permits were waited for")
                .tags(Tags.of("limiter", who.limiter(), "lane", who.lane())
                        .and("waiting", Boolean.toString(!waited.isZero()), "outcome", outcome))
                .register(registry)
                .record(waited);
    }

    @Override
    public void answered(Subject who, RateLimitSignal signal) {
        Tags tags = tags(who.limiter(), who.endpoint());
        for (Quota quota : signal.quotas()) {
            if (quota.limit() > 0 && quota.remaining() >= 0) {
                double share = Math.min(1, (double) quota.remaining() / quota.limit());
                used.computeIfAbsent(tags, this::remaining).saw(1 - share);
            }
        }
        if (!Double.isNaN(signal.usage())) {
            usage.computeIfAbsent(tags, this::usage).saw(signal.usage());
        }
    }

    private Highest remaining(Tags tags) {
        return Highest.inverted(
                this, "ratelimit.server.remaining", "The lowest share of a limit that the server said remains", tags);
    }

    private Highest usage(Tags tags) {
        return Highest.of(this, "ratelimit.server.usage", "The highest usage figure that the server gave", tags);
    }

    @Override
    public void throttled(Subject who, RateLimitSignal signal, Duration closedFor) {
        count(
                "ratelimit.refusals",
                "Calls that the server refused for a limit",
                tags(who.limiter(), who.endpoint()).and("status", Integer.toString(signal.status())));
    }

    @Override
    public void closed(Closing closing) {
        Timer.builder("ratelimit.cooldown")
                .description("For how long scopes were closed")
                .tags(tags(closing.limiter(), closing.endpoint()).and("cause", word(closing.cause())))
                .register(registry)
                .record(closing.added());
    }

    @Override
    public void retried(Subject who, Retry retry) {
        count(
                "ratelimit.retries",
                "Attempts that are followed by another",
                tags(who.limiter(), who.endpoint()).and("reason", word(retry.reason())));
    }

    @Override
    public void exhausted(Subject who, RetriesExhaustedException why) {
        count("ratelimit.exhausted", "Calls that gave up", tags(who.limiter(), who.endpoint()));
    }

    @Override
    public void proxyFailed(Subject who, String proxy, Throwable error) {
        count(
                "ratelimit.proxy.failures",
                "Attempts that a proxy did not let through",
                Tags.of("limiter", who.limiter(), "proxy", proxies.bound(proxy)));
    }

    private void count(String name, String description, Tags tags) {
        Counter.builder(name)
                .description(description)
                .tags(tags)
                .register(registry)
                .increment();
    }

    private static Tags tags(String limiter, @Nullable String endpoint) {
        return Tags.of("limiter", limiter, "endpoint", endpoint(endpoint));
    }

    static String endpoint(@Nullable String configured) {
        return configured == null ? OTHER : configured;
    }

    private static String word(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
