package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.netty.RateLimitedHttpClient;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.RequestLog;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/** The real thing: Reactor Netty and a server on a socket. */
final class HttpApi implements Api {

    private final HttpClient http;
    private final RequestLog log;

    HttpApi(HttpClient http, RateLimitedServer server) {
        this.http = http.baseUrl(server.baseUrl());
        this.log = server.log();
    }

    @Override
    public Mono<Integer> bare(String path, String token) {
        return withToken(token)
                .get()
                .uri(path)
                .responseSingle((response, content) ->
                        content.asString().thenReturn(response.status().code()));
    }

    @Override
    public Mono<Integer> limited(RateLimiter limiter, String path, String token) {
        return RateLimitedHttpClient.of(withToken(token), limiter)
                .get()
                .uri(path)
                .responseSingle((response, content) ->
                        content.asString().thenReturn(response.status().code()));
    }

    @Override
    public RequestLog log() {
        return log;
    }

    private HttpClient withToken(String token) {
        return http.headers(headers -> headers.set("Authorization", "Bearer " + token));
    }
}
