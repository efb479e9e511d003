package io.github.reactorratelimit.netty;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Backoff;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.server.HttpServer;

/** A server that is not there: what a call in vain costs. */
class NoConnectionTest { // B63

    @Test
    void a_connection_that_is_refused_costs_a_request_each_time_and_no_money() {
        DisposableServer gone = HttpServer.create().host("127.0.0.1").bindNow();
        gone.disposeNow();
        RateLimiter limiter = RateLimiter.named("gone")
                .limit(Limit.of(10, ofMinutes(10)), Limit.total(1_000).unit("money"))
                .build();
        Mono<String> call = limiter.calls()
                .retry(RetryPolicy.attempts(3).backoff(Backoff.exponential(ofMillis(1), ofMillis(2))))
                .use(
                        source -> Demand.one().cost("money", 100),
                        exchange -> RateLimitedHttpClient.of(HttpClient.newConnection(), exchange)
                                .post()
                                .uri("http://127.0.0.1:" + gone.port() + "/orders")
                                .responseSingle((response, body) -> body.asString()));
        Throwable failure = call.materialize()
                .mapNotNull(end -> end.getThrowable())
                .blockOptional(ofSeconds(30))
                .orElseThrow();
        assertThat(RateLimitException.mayHaveBeenSent(failure)).isFalse();
        assertThat(limiter.snapshot().root().limits())
                .extracting(limit -> limit.available())
                .containsExactly(7L, 1_000L);
    }
}
