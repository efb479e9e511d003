package io.github.reactorratelimit;

import java.util.List;
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
        return new Settings(
                changed,
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

    Settings lanes(Lanes changed) {
        return new Settings(
                name,
                changed,
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

    Settings maxPending(int inAll, int perLine) {
        return new Settings(
                name,
                lanes,
                inAll,
                perLine,
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

    Settings maxServerDelay(long nanos) {
        return new Settings(
                name,
                lanes,
                maxPending,
                maxPendingPerLine,
                nanos,
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

    Settings jitter(double share) {
        return new Settings(
                name,
                lanes,
                maxPending,
                maxPendingPerLine,
                maxServerDelayNanos,
                share,
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

    Settings random(DoubleSupplier uniform) {
        return new Settings(
                name,
                lanes,
                maxPending,
                maxPendingPerLine,
                maxServerDelayNanos,
                jitter,
                uniform,
                cooldownNanos,
                maxCooldownNanos,
                ageingNanos,
                idleNanos,
                listeners,
                learning,
                breaker,
                prices);
    }

    Settings cooldown(long first, long longest) {
        return new Settings(
                name,
                lanes,
                maxPending,
                maxPendingPerLine,
                maxServerDelayNanos,
                jitter,
                random,
                first,
                longest,
                ageingNanos,
                idleNanos,
                listeners,
                learning,
                breaker,
                prices);
    }

    Settings ageing(long nanos) {
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
                nanos,
                idleNanos,
                listeners,
                learning,
                breaker,
                prices);
    }

    Settings idle(long nanos) {
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
                nanos,
                listeners,
                learning,
                breaker,
                prices);
    }

    Settings listeners(List<RateLimitListener> changed) {
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
                changed,
                learning,
                breaker,
                prices);
    }

    Settings learning(Learning.Mode changed) {
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
                changed,
                breaker,
                prices);
    }

    Settings withBreaker() {
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
                true,
                prices);
    }

    Settings prices(UnaryOperator<Demand> changed) {
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
                changed);
    }
}
