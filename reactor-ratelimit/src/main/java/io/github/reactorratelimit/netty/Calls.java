package io.github.reactorratelimit.netty;

import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.RateLimitOperator;
import java.util.function.Function;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/** What requests run under: an operator, which makes attempts of its own, or the one attempt of somebody else's. */
interface Calls {

    <V> Mono<V> single(Draft draft, HttpClient client, Function<? super Exchange, Mono<V>> attempt);

    <V> Flux<V> many(Draft draft, HttpClient client, Function<? super Exchange, Flux<V>> attempt);

    /** Requests that take permits, and are tried again. */
    record Limited(RateLimitOperator operator) implements Calls {

        @Override
        public <V> Mono<V> single(Draft draft, HttpClient client, Function<? super Exchange, Mono<V>> attempt) {
            return draft.under(operator).exchange(draft.asked(client), attempt);
        }

        @Override
        public <V> Flux<V> many(Draft draft, HttpClient client, Function<? super Exchange, Flux<V>> attempt) {
            return draft.under(operator).exchangeMany(draft.asked(client), attempt);
        }
    }

    /** Requests of an attempt that has its permit; whoever made it tries again. */
    record Permitted(Exchange exchange) implements Calls {

        @Override
        public <V> Mono<V> single(Draft draft, HttpClient client, Function<? super Exchange, Mono<V>> attempt) {
            return attempt.apply(begun(draft));
        }

        @Override
        public <V> Flux<V> many(Draft draft, HttpClient client, Function<? super Exchange, Flux<V>> attempt) {
            return attempt.apply(begun(draft));
        }

        private Exchange begun(Draft draft) {
            if (draft.oneShot) {
                exchange.unrepeatable();
            }
            return exchange;
        }
    }
}
