package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.Cause;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a limiter does about what a server says: a refusal closes the scope for everybody, waves of refusals without a
 * hint close it longer and longer, it opens by a ramp, and a quota at zero closes it before anybody is refused.
 */
final class Cooldowns {

    /** Servers cut the fractions off whole-second resets, and off their Date. */
    private static final long COARSE_MARGIN_NANOS = 1_000_000_000L;

    private static final long SECOND_NANOS = 1_000_000_000L;
    /** The least after a hint of (almost) zero, doubling per wave. */
    private static final long FLOOR_NANOS = 10_000_000L;

    private final Settings settings;
    private final Generations generations;
    private final News news;
    private final Routing routing;
    private final Learning learning;
    private final Others others;
    private boolean changed;

    Cooldowns(Settings settings, Generations generations, Tree tree, News news, boolean shared) {
        this.settings = settings;
        this.news = news;
        this.generations = generations;
        this.routing = new Routing(tree);
        this.others = new Others(shared);
        this.learning = new Learning(settings, generations, routing, others);
    }

    /** Whether a node is closed on the server's word for longer than is obeyed. */
    boolean isTooLong(long now, Node node) {
        return Exact.subtract(node.gate.saidUntil, now) > settings.maxServerDelayNanos();
    }

    /** The key below which the last hearing may have changed who can go everywhere; null if there is none. */
    @Nullable
    Node regrouped() {
        return learning.regrouped();
    }

    /** What several processes have learned of a key together. */
    void learned(long now, Node node, LimitStore.Quota shared) {
        learning.shared(now, node, shared);
    }

    /** Who else uses a quota. */
    Others others() {
        return others;
    }

    /** Whether the last hearing may have changed who can go. */
    boolean changed() {
        return changed;
    }

    /**
     * Hears what the response to a permit said; what was closed, or null.
     *
     * @param first this is the first that is heard of an attempt
     * @param last this is all, or the last, that its answer says
     */
    @Nullable
    Throttle hear(
            long now, Node leaf, Ticket ticket, RateLimitSignal signal, double random, boolean first, boolean last) {
        for (Node node = leaf; node != null; node = node.parent) {
            node.advance(now);
        }
        others.look(now, leaf, ticket, signal);
        changed = learning.hear(now, leaf, ticket, signal, first);
        if (signal.terminal() != null) {
            return new Throttle(about(leaf, signal), signal, 0); // No wait would help, so none is imposed on others.
        }
        if (signal.throttled()) {
            return refused(now, leaf, ticket.generation, signal, random);
        }
        used(now, leaf, ticket, signal, last);
        if (signal.status() < 500 && last) {
            answered(now, leaf, ticket.generation);
        }
        Duration delay = signal.delay();
        return delay == null || !isExhausted(signal)
                ? null
                : emptied(now, leaf, ticket.sentAt, signal, Exact.nanos(delay));
    }

    private Node about(Node leaf, RateLimitSignal signal) {
        Node named = routing.named(leaf, signal);
        return named == null ? leaf : named;
    }

    private void answered(long now, Node leaf, long permitGeneration) {
        for (Node node = leaf; node != null; node = node.parent) {
            if (node.ramp != null && node.ramp.answered(now, permitGeneration)) {
                changed = true;
            }
        }
    }

    /** A usage figure slows its scope down before anybody is refused. */
    private void used(long now, Node leaf, Ticket ticket, RateLimitSignal signal, boolean last) {
        double usage = Usage.of(signal);
        if (usage >= Ramp.USED) {
            Node node = about(leaf, signal);
            node.ramp().used(now, usage, ticket, generations);
            changed = true;
            return;
        }
        if (signal.status() >= 500 || !last) {
            return; // A failure is no all clear, and neither is one part of a batch.
        }
        for (Node node = leaf; node != null; node = node.parent) {
            if (node.ramp != null && node.ramp.used(now, usage, ticket, generations)) {
                changed = true;
            }
        }
    }

    // ---------------------------------------------------------------------------------------------------- refusals

    /**
     * A refusal closes the key that it names. If it names none, it closes the narrowest, and the wider one too once a
     * second key below that is refused while the first is still closed for it.
     */
    private Throttle refused(long now, Node leaf, long permitGeneration, RateLimitSignal signal, double random) {
        Node named = routing.named(leaf, signal);
        Node node = named == null ? leaf : named;
        Throttle throttle = refuse(now, node, permitGeneration, signal, random);
        boolean widens = named == null && !learning.namesPartition(signal);
        for (Node wider = node.parent; widens && wider != null; wider = wider.parent) {
            if (!wider.gate.refusedBelow(now, node.number, node.gate.closedUntil)) {
                break;
            }
            node = wider;
            throttle = refuse(now, node, permitGeneration, signal, random).widened();
        }
        changed = true;
        return throttle;
    }

    private Throttle refuse(long now, Node node, long permitGeneration, RateLimitSignal signal, double random) {
        Gate gate = node.gate;
        boolean nextWave = permitGeneration >= gate.generation || gate.generation == 0;
        if (nextWave) {
            gate.waves = Math.min(gate.waves + 1, 62);
            gate.generation = generations.next();
            node.ramp().refused(now, gate.generation);
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

    // ------------------------------------------------------------------------------------------------------ quotas

    /**
     * A quota at zero closes its scope until the reset, unless our own books say the same: then the finer clock decides. The
     * server may have said it as early as the request was sent.
     */
    private @Nullable Throttle emptied(long now, Node leaf, long sentAt, RateLimitSignal signal, long delay) {
        Node node = about(leaf, signal);
        boolean wholeSeconds = signal.coarse() || delay % SECOND_NANOS == 0;
        long sureUntil = Exact.add(sentAt, delay - (wholeSeconds ? Math.min(delay, SECOND_NANOS) : 0));
        long learnedUntil = now;
        List<Quota> quotas = signal.quotas();
        for (int i = 0; i < quotas.size(); i++) {
            Quota quota = quotas.get(i);
            if (quota.exhausted() && Learning.isAsEmpty(now, node, signal, quota, sureUntil)) {
                return null;
            }
            if (quota.exhausted()) {
                learnedUntil = Math.max(learnedUntil, Learning.emptyUntil(now, node, quota, delay));
            }
        }
        if (learnedUntil > now && delay <= settings.maxServerDelayNanos()) {
            return new Throttle(node, signal, learnedUntil - now); // Its books keep it closed, and know it better.
        }
        long wait = Exact.add(delay, signal.coarse() ? COARSE_MARGIN_NANOS : 0);
        close(now, node, wait, delay, Cause.EMPTIED);
        changed = true;
        return new Throttle(node, signal, wait);
    }

    /** Closes for {@code wait}; what counts against the longest obeyed delay is only what the server {@code said} itself. */
    private void close(long now, Node node, long wait, long said, Cause cause) {
        node.gate.saidUntil = Math.max(node.gate.saidUntil, Exact.add(now, said));
        news.closed(now, node, node.close(now, Exact.add(now, wait)), cause);
    }

    private static boolean isExhausted(RateLimitSignal signal) {
        List<Quota> quotas = signal.quotas();
        for (int i = 0; i < quotas.size(); i++) {
            if (quotas.get(i).exhausted()) {
                return true;
            }
        }
        return false;
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
