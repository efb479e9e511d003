package io.github.reactorratelimit;

import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.util.context.ContextView;

/** A Flux each of whose subscriptions takes a permit first and holds it to the end. */
final class FluxLimit<T> extends Flux<T> implements Limited<T> {

    private final RateLimitOperator operator;
    private final @Nullable Demand demand;
    private final @Nullable Function<? super ContextView, Demand> demandBy;
    private final @Nullable Publisher<? extends T> source;
    private final @Nullable Function<? super Exchange, ? extends Publisher<? extends T>> opening;
    private final Ticket.Tells tells;

    private FluxLimit(
            RateLimitOperator operator,
            @Nullable Demand demand,
            @Nullable Function<? super ContextView, Demand> demandBy,
            @Nullable Publisher<? extends T> source,
            @Nullable Function<? super Exchange, ? extends Publisher<? extends T>> opening,
            Ticket.Tells tells) {
        this.operator = operator;
        this.demand = demand;
        this.demandBy = demandBy;
        this.source = source;
        this.opening = opening;
        this.tells = tells;
    }

    /** A publisher that tells nothing of sending; its first signal is taken for the response head. */
    static <T> Flux<T> plain(
            RateLimitOperator operator,
            @Nullable Demand demand,
            @Nullable Function<? super ContextView, Demand> demandBy,
            Publisher<? extends T> source) {
        return onAssembly(new FluxLimit<>(operator, demand, demandBy, source, null, Ticket.Tells.HEAD));
    }

    /** An adapter's call, which tells when it is sent and what its response head said. */
    static <T> Flux<T> exchange(
            RateLimitOperator operator,
            Demand demand,
            Function<? super Exchange, ? extends Publisher<? extends T>> opening) {
        return onAssembly(new FluxLimit<>(operator, demand, null, null, opening, Ticket.Tells.SENDING));
    }

    /** A user's call under a permit, with or without an adapter that tells. */
    static <T> Flux<T> use(
            RateLimitOperator operator,
            Demand demand,
            Function<? super Exchange, ? extends Publisher<? extends T>> opening) {
        return onAssembly(new FluxLimit<>(operator, demand, null, null, opening, Ticket.Tells.PERHAPS));
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        Limited.subscribe(this, actual);
    }

    @Override
    public RateLimitOperator operator() {
        return operator;
    }

    @Override
    public Demand demand(ContextView context) {
        if (demand != null) {
            return demand;
        }
        assert demandBy != null;
        return demandBy.apply(context);
    }

    @Override
    public Publisher<? extends T> open(Exchange exchange) {
        if (source != null) {
            return source;
        }
        assert opening != null;
        return Objects.requireNonNull(opening.apply(exchange), "a call must give a publisher, gave null");
    }

    @Override
    public Ticket.Tells tells() {
        return tells;
    }

    @Override
    public boolean isSingle() {
        return false;
    }
}
