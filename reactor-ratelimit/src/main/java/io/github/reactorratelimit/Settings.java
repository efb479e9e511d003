package io.github.reactorratelimit;

import java.util.List;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.UnaryOperator;

/**
 * The figures of a limiter besides its limits.
 *
 * @param name its name in messages and metrics
 * @param lanes its lanes, highest first
 * @param maxPending the most demands that may wait in all
 * @param maxPendingPerLine the most that may wait for one key in one lane
 * @param maxServerDelayNanos the longest delay asked for by a server that is obeyed by waiting
 * @param jitter how much longer than asked a scope stays closed after a refusal, at most, as a share
 * @param random uniform in [0, 1), for jitter
 * @param cooldownNanos how long the first refusal without a hint closes a scope
 * @param maxCooldownNanos the most that such refusals double it to
 * @param ageingNanos how long the lowest lane may be passed over
 * @param idleNanos after how long an idle key is forgotten
 * @param listeners who is told what happens
 * @param learning whether it learns from responses
 * @param breaker whether a key rests whose calls fail
 * @param prices what demands are turned into before they ask
 */
record Settings(
        String name,
        Lanes lanes,
        int maxPending,
        int maxPendingPerLine,
        long maxServerDelayNanos,
        double jitter,
        DoubleSupplier random,
        long cooldownNanos,
        long maxCooldownNanos,
        long ageingNanos,
        long idleNanos,
        List<RateLimitListener> listeners,
        Learning.Mode learning,
        boolean breaker,
        UnaryOperator<Demand> prices) {

    Settings named(String changed) {
        return with(draft -> draft.name = changed);
    }

    Settings lanes(Lanes changed) {
        return with(draft -> draft.lanes = changed);
    }

    Settings maxPending(int inAll, int perLine) {
        return with(draft -> {
            draft.maxPending = inAll;
            draft.maxPendingPerLine = perLine;
        });
    }

    Settings maxServerDelay(long nanos) {
        return with(draft -> draft.maxServerDelayNanos = nanos);
    }

    Settings jitter(double share) {
        return with(draft -> draft.jitter = share);
    }

    Settings random(DoubleSupplier uniform) {
        return with(draft -> draft.random = uniform);
    }

    Settings cooldown(long first, long longest) {
        return with(draft -> {
            draft.cooldownNanos = first;
            draft.maxCooldownNanos = longest;
        });
    }

    Settings ageing(long nanos) {
        return with(draft -> draft.ageingNanos = nanos);
    }

    Settings idle(long nanos) {
        return with(draft -> draft.idleNanos = nanos);
    }

    Settings listeners(List<RateLimitListener> changed) {
        return with(draft -> draft.listeners = changed);
    }

    Settings learning(Learning.Mode changed) {
        return with(draft -> draft.learning = changed);
    }

    Settings withBreaker() {
        return with(draft -> draft.breaker = true);
    }

    Settings prices(UnaryOperator<Demand> changed) {
        return with(draft -> draft.prices = changed);
    }

    private Settings with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return draft.settings();
    }

    /** A copy on its way to be changed: the one place that names every figure. */
    private static final class Draft {

        private String name;
        private Lanes lanes;
        private int maxPending;
        private int maxPendingPerLine;
        private long maxServerDelayNanos;
        private double jitter;
        private DoubleSupplier random;
        private long cooldownNanos;
        private long maxCooldownNanos;
        private long ageingNanos;
        private long idleNanos;
        private List<RateLimitListener> listeners;
        private Learning.Mode learning;
        private boolean breaker;
        private UnaryOperator<Demand> prices;

        Draft(Settings of) {
            this.name = of.name;
            this.lanes = of.lanes;
            this.maxPending = of.maxPending;
            this.maxPendingPerLine = of.maxPendingPerLine;
            this.maxServerDelayNanos = of.maxServerDelayNanos;
            this.jitter = of.jitter;
            this.random = of.random;
            this.cooldownNanos = of.cooldownNanos;
            this.maxCooldownNanos = of.maxCooldownNanos;
            this.ageingNanos = of.ageingNanos;
            this.idleNanos = of.idleNanos;
            this.listeners = of.listeners;
            this.learning = of.learning;
            this.breaker = of.breaker;
            this.prices = of.prices;
        }

        Settings settings() {
            return new Settings(
                    name,
                    lanes,
                    maxPending,
                    maxPendingPerLine,
                    maxServerDelayNanos,
                    jitter,
                    random,
                    cooldownNanos,
                    maxCooldownNanos,
                    ageingNanos,
                    idleNanos,
                    listeners,
                    learning,
                    breaker,
                    prices);
        }
    }
}
