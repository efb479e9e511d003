package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.netty.RateLimitedHttpClient;
import io.github.reactorratelimit.test.RateLimitedServer;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/** Reactor Netty's client under a limiter: endpoint and token are taken from the request. */
public final class ReactorNetty {

    private ReactorNetty() {}

    static Mono<String> search(RateLimiter api) {
        Mono<String> body = RateLimitedHttpClient.of(HttpClient.create(), api)
                .get()
                .uri("/search?q=reactor")
                .responseSingle((response, content) -> content.asString());
        return body;
    }

    static Flux<String> search(HttpClient http, RateLimiter api, String token, int times) {
        RateLimitedHttpClient client = RateLimitedHttpClient.of(http, api);
        return Flux.range(1, times)
                .flatMap(page -> client.get()
                        .uri("/search?q=reactor&page=" + page)
                        .header("Authorization", "Bearer " + token)
                        .responseSingle((response, content) -> content.asString()));
    }

    /**
     * Prints seven searches in about ten seconds.
     *
     * @param args none
     */
    public static void main(String[] args) {
        try (RateLimitedServer server = Scenarios.service().start()) {
            HttpClient http = HttpClient.create().baseUrl(server.baseUrl());
            search(http, PerEndpointAndToken.api(), "anna", 7)
                    .doOnNext(System.out::println)
                    .blockLast();
        }
    }
}
