package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.Scope;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** One API with a limit per endpoint and token: tokens and endpoints don't wait for each other. */
public final class PerEndpointAndToken {

    private final RateLimitOperator calls = calls(api());

    /** One per API and process, kept for as long as the API is called. */
    static RateLimiter api() {
        RateLimiter api = RateLimiter.named("partner")
                .limit(Limit.inFlight(100)) // root scope
                .scope(Scope.by("endpoint", "token")
                        .limit("/search", Limit.of(5, ofSeconds(10)))
                        .limit("/items", Limit.of(20, ofSeconds(10)))
                        .otherwise(Limit.of(60, ofMinutes(1)).headroom(0.2)))
                .build();
        return api;
    }

    static RateLimitOperator calls(RateLimiter api) {
        RateLimitOperator calls = api.calls().retry(RetryPolicy.attempts(5).backoff(ofMillis(500), ofSeconds(30)));
        return calls;
    }

    <T> Mono<T> search(Mono<T> mono, String token) {
        return mono.transform(calls.limit(Demand.of("endpoint", "/search").and("token", token)));
    }

    <T> Mono<T> call(Mono<T> mono, String endpoint, String token) {
        return mono.transform(calls.limit(Demand.of("endpoint", endpoint).and("token", token)));
    }

    /**
     * Prints seven searches of each of two tokens in about 10 seconds.
     *
     * @param args none
     */
    public static void main(String[] args) {
        PerEndpointAndToken partner = new PerEndpointAndToken();
        Flux.range(1, 7)
                .flatMap(n -> Flux.just("anna", "ben")
                        .flatMap(token -> partner.search(Mono.just(n), token).map(found -> token + " " + found)))
                .doOnNext(System.out::println)
                .blockLast();
    }
}
