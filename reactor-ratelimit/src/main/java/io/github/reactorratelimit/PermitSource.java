package io.github.reactorratelimit;

import reactor.core.publisher.Mono;

/**
 * Where permits come from: the one abstraction that everything composes.
 */
@FunctionalInterface
public interface PermitSource {

    /**
     * A permit, as soon as there is one. Lazy: nothing happens until it is subscribed and requested, and each subscription
     * is one act. {@code onSubscribe} comes at once. Cancelling while it waits leaves no trace: the permit goes to the next
     * in line.
     *
     * <p>The permit arrives on the thread that asked, that made room, or on the limiter's scheduler. What drops a value
     * after it was emitted loses the permit: an operator such as {@code timeout}, or a subscriber that is disposed while it
     * is on its way. Bound the wait with {@link Demand#maxWait}, or use the limiter's {@code limit()} operator instead.
     *
     * @param demand what is asked for
     * @return the permit; or {@link RateLimitedException} if the wait would be too long or the demand can never pass,
     *     {@link QueueFullException}, {@link LimiterDisposedException}, or {@link IllegalArgumentException} for a demand
     *     that lacks an attribute or names an unknown lane
     */
    Mono<Permit> acquire(Demand demand);
}
