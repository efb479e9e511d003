package io.github.reactorratelimit.metrics;

import io.github.reactorratelimit.RateLimitListener;
import io.micrometer.observation.ObservationRegistry;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import reactor.util.context.ContextView;

/**
 * A Micrometer observation around every attempt of a call, and one inside it for the time it waits for its permit, so that
 * a trace shows queue time apart from call time:
 *
 * <pre>
 *   ratelimit.attempt ├──────────────────────────────────────┤
 *   ratelimit.wait    ├───────────────┤
 *   the call itself                   ├──────────────────────┤
 * </pre>
 *
 * Set by {@code RateLimiter.named("partner").listener(RateLimitObservations.of(registry))}. Needs
 * {@code micrometer-observation}.
 *
 * <p>The parent of an attempt is the observation in the caller's Reactor Context, else the registry's current one on the
 * thread that asks. The attempt's own observation is in the Context of what it calls, so that an observed client that is
 * called within becomes its child; one that is around the limiter, as Spring's {@code WebClient} is around its filters, is
 * the parent of its attempts. Everything else in the Context stays as it is. A retry is an attempt of its own, beside the
 * one before.
 *
 * <p>Low-cardinality keys: {@code limiter}; {@code endpoint} as it was configured, else {@code other}; {@code lane};
 * {@code outcome}: done, failed, retried, refused, cancelled; of the wait: granted, refused, cancelled. High-cardinality
 * keys: {@code attempt}, its number; and {@code status}, where a response was heard; of a batch that of the part that said
 * most. Scope keys are not shown, for they may name users.
 *
 * <p>Thread-safe; handlers run on the threads that listeners are told on, and must not block.
 */
public final class RateLimitObservations implements RateLimitListener {

    /** The key of Micrometer's own {@code ObservationThreadLocalAccessor}, which needs context-propagation to be loaded. */
    static final String IN_CONTEXT = "micrometer.observation";

    private final ObservationRegistry registry;

    private RateLimitObservations(ObservationRegistry registry) {
        this.registry = registry;
    }

    /**
     * Observations in this registry.
     *
     * @param registry who handles them
     * @return the listener, for {@link io.github.reactorratelimit.RateLimiterSpec#listener}
     */
    public static RateLimitObservations of(ObservationRegistry registry) {
        return new RateLimitObservations(Objects.requireNonNull(registry, "registry"));
    }

    @Override
    public @Nullable AttemptListener attempt(Subject who, ContextView caller) {
        return registry.isNoop() ? null : new ObservedAttempt(registry, who, caller.getOrDefault(IN_CONTEXT, null));
    }
}
