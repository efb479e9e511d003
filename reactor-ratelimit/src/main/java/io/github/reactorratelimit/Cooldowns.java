package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.Cause;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a limiter does about what a server says: a refusal closes the scope for everybody, waves of refusals without a
 * hint close it longer and longer, and a quota at zero closes it before anybody is refused.
 */
final class Cooldowns {

    /** Servers cut the fractions off whole-second resets, and off their Date. */
    private static final long COARSE_MARGIN_NANOS = 1_000_000_000L;

    private static final long SECOND_NANOS = 1_000_000_000L;
    /** The least after a hint of (almost) zero, doubling per wave. */
    private static final long FLOOR_NANOS = 10_000_000L;

    private final Settings settings;
    private final News news;
    private int generation;

    Cooldowns(Settings settings, News news) {
        this.settings = settings;
        this.news = news;
    }

    /** What a permit granted now carries: it knows of every closing so far. */
    int generation() {
        return generation;
    }

    /** From here on permits are told apart from those of before. */
    int nextGeneration() {
        return ++generation;
    }

    /** Whether a node is closed on the server's word for longer than is obeyed. */
    boolean isTooLong(long now, Node node) {
        return Exact.subtract(node.gate.saidUntil, now) > settings.maxServerDelayNanos();
    }

    /** Hears what the response to a permit of {@code leaf} said about it or a scope above; what was closed, or null. */
    @Nullable
    Throttle hear(long now, Node leaf, Node about, int permitGeneration, RateLimitSignal signal, double random) {
        if (signal.terminal() != null) {
            return new Throttle(about, signal, 0); // No wait would help, so none is imposed on others.
        }
        if (signal.throttled()) {
            return refused(now, about, permitGeneration, signal, random);
        }
        Duration delay = signal.delay();
        Quota exhausted = exhausted(signal);
        if (delay != null && exhausted != null) {
            return emptied(now, about, signal, exhausted, Exact.nanos(delay));
        }
        for (Node node = leaf; node != null && signal.status() < 500; node = node.parent) {
            if (permitGeneration >= node.gate.generation) {
                node.gate.waves = 0;
            }
        }
        return null;
    }

    private Throttle refused(long now, Node node, int permitGeneration, RateLimitSignal signal, double random) {
        Gate gate = node.gate;
        boolean nextWave = permitGeneration >= gate.generation || gate.generation == 0;
        if (nextWave) {
            gate.waves = Math.min(gate.waves + 1, 62);
            gate.generation = nextGeneration();
        }
        Duration said = signal.delay();
        long saidNanos = 0;
        long wait;
        if (said == null || signal.guessed()) {
            if (!nextWave) {
                return new Throttle(node, signal, Math.max(0, gate.closedUntil - now));
            }
            wait = doubled(said == null ? settings.cooldownNanos() : Exact.nanos(said), gate.waves);
        } else {
            saidNanos = Exact.nanos(said);
            wait = Exact.add(saidNanos, signal.coarse() ? COARSE_MARGIN_NANOS : 0);
            if (saidNanos < FLOOR_NANOS) {
                wait = Math.max(wait, doubled(FLOOR_NANOS, gate.waves));
            }
        }
        wait = jittered(wait, random);
        close(now, node, wait, saidNanos, Cause.REFUSED);
        return new Throttle(node, signal, wait);
    }

    /** A quota at zero closes its scope until the reset, unless our own books say the same: then the finer clock decides. */
    private @Nullable Throttle emptied(long now, Node node, RateLimitSignal signal, Quota quota, long delay) {
        boolean wholeSeconds = signal.coarse() || delay % SECOND_NANOS == 0;
        long sureUntil = Exact.add(now, delay - (wholeSeconds ? Math.min(delay, SECOND_NANOS) : 0));
        for (Meter meter : node.meters) {
            Limit.Kind kind = meter.limit.kind();
            boolean timed = kind == Limit.Kind.WINDOW || kind == Limit.Kind.BUCKET;
            if (timed && meter.limit.unit().equals(quota.unit()) && meter.readyAt(now, 1) >= sureUntil) {
                return null;
            }
        }
        long wait = Exact.add(delay, signal.coarse() ? COARSE_MARGIN_NANOS : 0);
        close(now, node, wait, delay, Cause.EMPTIED);
        return new Throttle(node, signal, wait);
    }

    /** Closes for {@code wait}; what counts against the longest obeyed delay is only what the server {@code said} itself. */
    private void close(long now, Node node, long wait, long said, Cause cause) {
        node.gate.saidUntil = Math.max(node.gate.saidUntil, Exact.add(now, said));
        news.closed(now, node, node.close(now, Exact.add(now, wait)), cause);
    }

    private static @Nullable Quota exhausted(RateLimitSignal signal) {
        List<Quota> quotas = signal.quotas();
        for (int i = 0; i < quotas.size(); i++) {
            Quota quota = quotas.get(i);
            if (quota.exhausted()) {
                return quota;
            }
        }
        return null;
    }

    private long doubled(long base, int wave) {
        long cap = Math.max(base, settings.maxCooldownNanos());
        long factor = 1L << Math.min(Math.max(wave, 1) - 1, 62);
        return base > cap / factor ? cap : base * factor;
    }

    private long jittered(long nanos, double random) {
        double extra = nanos * settings.jitter() * random;
        return Exact.add(nanos, (long) extra);
    }
}
