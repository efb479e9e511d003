package io.github.reactorratelimit.spring;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.RateLimitOperator;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/** What requests run under: an operator, which makes attempts of its own, or the one attempt of somebody else's. */
interface Calls {

    String IDEMPOTENCY_KEY = "Idempotency-Key";

    /** A request on its way, in an attempt whose permit goes on with the response or does not. */
    @FunctionalInterface
    interface Sending {
        Mono<ClientResponse> in(Exchange exchange, boolean lends);
    }

    Mono<ClientResponse> send(ClientRequest request, ContextView context, Sending sending);

    /** Requests that take permits, and are tried again. */
    record Limited(RateLimitOperator operator) implements Calls {

        @Override
        public Mono<ClientResponse> send(ClientRequest request, ContextView context, Sending sending) {
            Demand asked = Target.demand(request);
            if (context.hasKey(RateLimitFilter.DEMAND)) {
                asked = changed(asked, asChange(context.<Object>get(RateLimitFilter.DEMAND)));
            }
            Object own = request.attributes().get(RateLimitFilter.DEMAND);
            Demand demand = own == null ? asked : changed(asked, asChange(own));
            return repeating(request).exchange(demand, exchange -> sending.in(exchange, true));
        }

        private RateLimitOperator repeating(ClientRequest request) {
            return request.attributes().get(RateLimitFilter.IDEMPOTENT) instanceof Boolean said
                    ? operator.idempotent(said)
                    : request.headers().getFirst(IDEMPOTENCY_KEY) == null ? operator : operator.idempotent(true);
        }
    }

    /** Requests of an attempt that has its permit, which ends with it; whoever made it tries again. */
    record Permitted(Exchange exchange) implements Calls {

        @Override
        public Mono<ClientResponse> send(ClientRequest request, ContextView context, Sending sending) {
            return sending.in(exchange, false);
        }
    }

    /** One change of what is asked after another. */
    static UnaryOperator<Demand> then(UnaryOperator<Demand> before, UnaryOperator<Demand> change) {
        return asked -> change.apply(changed(asked, before));
    }

    private static Demand changed(Demand asked, UnaryOperator<Demand> change) {
        return Objects.requireNonNull(
                change.apply(asked), "the demand function of a request must give a demand, gave null");
    }

    @SuppressWarnings("unchecked") // The attribute is documented to be one.
    static UnaryOperator<Demand> asChange(Object change) {
        if (change instanceof UnaryOperator<?> operator) {
            return (UnaryOperator<Demand>) operator;
        }
        throw new IllegalArgumentException("the attribute " + RateLimitFilter.DEMAND
                + " must be a UnaryOperator<Demand>, was a " + change.getClass().getName());
    }

    static Exchange asAttempt(Object attempt) {
        if (attempt instanceof Exchange exchange) {
            return exchange;
        }
        throw new IllegalArgumentException("the attribute " + RateLimitFilter.ATTEMPT + " must be an Exchange, was a "
                + attempt.getClass().getName());
    }
}
