package io.github.reactorratelimit;

import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** How the kinds of sources are asked: those of this library by their operator, with retries; any other for one permit. */
final class Sources {

    private Sources() {}

    /** A permit; {@code patience} bounds the wait further than the demand does. */
    static Mono<Permit> acquire(PermitSource source, Demand demand, @Nullable Patience patience) {
        if (source instanceof RateLimiter limiter) {
            return limiter.calls().acquire(demand, patience);
        }
        if (source instanceof RateLimitOperator operator) {
            return operator.acquire(demand, patience);
        }
        if (source instanceof AskingSource view) {
            return Mono.defer(() -> acquire(view.source(), view.asked(demand), patience));
        }
        return patience == null ? source.acquire(demand) : new MonoAcquireForeign(source, demand, patience);
    }

    /** One call under a permit of {@code source}, which the call is shown as {@code shown}; a Mono for a single answer. */
    static <T> Publisher<T> use(PermitSource source, PermitSource shown, Use<T> use, @Nullable Patience patience) {
        if (source instanceof RateLimiter limiter) {
            return use.under(limiter.calls().on(shown, patience), shown);
        }
        if (source instanceof RateLimitOperator operator) {
            return use.under(operator.on(shown, patience), shown);
        }
        if (source instanceof AskingSource view) {
            return use(view.source(), shown, use.asking(view::asked), patience);
        }
        if (source instanceof Fallback fallback) {
            return fallback.use(use);
        }
        return PermittedExchange.of(Mono.defer(() -> acquire(source, use.demand(shown), patience)), shown, use);
    }

    /** What a user wants to do with a permit. */
    record Use<T>(
            Function<? super PermitSource, Demand> demands,
            Function<? super Exchange, ? extends Publisher<? extends T>> call,
            boolean single) {

        Demand demand(PermitSource source) {
            return Objects.requireNonNull(
                    demands.apply(source), "the demand function of use must give a demand, gave null");
        }

        Use<T> asking(Function<Demand, Demand> change) {
            return new Use<>(source -> change.apply(demand(source)), call, single);
        }

        Publisher<T> under(RateLimitOperator operator, PermitSource shown) {
            return single
                    ? Mono.defer(() -> MonoLimit.use(operator, operator.priced(demand(shown)), call))
                    : Flux.defer(() -> FluxLimit.use(operator, operator.priced(demand(shown)), call));
        }
    }
}
