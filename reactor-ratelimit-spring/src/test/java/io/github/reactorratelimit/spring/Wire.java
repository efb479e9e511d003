package io.github.reactorratelimit.spring;

import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.ServiceRules;
import java.net.SocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.springframework.http.HttpMethod;
import org.springframework.http.client.reactive.ReactorClientHttpConnector;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFunctions;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionPoolMetrics;
import reactor.netty.resources.ConnectionProvider;

/** A server, a limiter of four in flight, a pool of one connection, and a WebClient with the filter between them. */
final class Wire implements AutoCloseable {

    static final Duration PATIENCE = Duration.ofSeconds(60);
    static final int IN_FLIGHT = 4;
    static final RetryPolicy QUICK = RetryPolicy.attempts(3).backoff(ofMillis(1), ofMillis(5));
    static final Reply REFUSAL = Reply.status(429).header("Retry-After", "0");

    final RateLimitedServer server;
    final RateLimiter api;
    final RateLimitFilter filter;
    final WebClient client;
    private final ConnectionProvider pool;
    private final List<ConnectionPoolMetrics> metrics;

    private Wire(
            RateLimitedServer server,
            RateLimiter api,
            RateLimitOperator calls,
            ConnectionProvider pool,
            List<ConnectionPoolMetrics> metrics) {
        this.server = server;
        this.api = api;
        this.pool = pool;
        this.metrics = metrics;
        this.filter = RateLimitFilter.of(calls);
        this.client = plain().filter(filter).build();
    }

    static RateLimiter limiter() {
        return RateLimiter.of(Limit.inFlight(IN_FLIGHT), Limit.total(1_000));
    }

    static Wire script(Reply... replies) {
        return to(ServiceRules.create().script("/x", replies));
    }

    static Wire always(Reply reply) {
        return to(ServiceRules.create().reply("/x", reply));
    }

    static Wire to(ServiceRules rules) {
        return to(rules, limiter(), calls -> calls.retry(QUICK));
    }

    static Wire to(ServiceRules rules, RateLimiter api, UnaryOperator<RateLimitOperator> change) {
        List<ConnectionPoolMetrics> metrics = new CopyOnWriteArrayList<>();
        ConnectionProvider pool = ConnectionProvider.builder("wire")
                .maxConnections(1)
                .metrics(true, () -> new ConnectionProvider.MeterRegistrar() {
                    @Override
                    public void registerMetrics(
                            String name, String id, SocketAddress remote, ConnectionPoolMetrics registered) {
                        metrics.add(registered);
                    }
                })
                .build();
        return new Wire(rules.start(), api, change.apply(api.calls()), pool, metrics);
    }

    private ReactorClientHttpConnector connector() {
        return new ReactorClientHttpConnector(HttpClient.create(pool).disableRetry(true));
    }

    /** A client of the same pool without the filter. */
    WebClient.Builder plain() {
        return WebClient.builder().baseUrl(server.baseUrl()).clientConnector(connector());
    }

    /** A response whose body is for the caller to read, which a WebClient gives only within a function. */
    ClientResponse head() {
        ClientRequest request = ClientRequest.create(HttpMethod.GET, URI.create(server.baseUrl() + "/x"))
                .build();
        return Objects.requireNonNull(ExchangeFunctions.create(connector())
                .filter(filter)
                .exchange(request)
                .block(PATIENCE));
    }

    WebClient.RequestHeadersSpec<?> get() {
        return client.get().uri("/x");
    }

    WebClient.RequestHeadersSpec<?> post() {
        return client.post().uri("/x").bodyValue("order");
    }

    /** Status and body of what the caller is given. */
    static Mono<String> answer(WebClient.RequestHeadersSpec<?> request) {
        return request.exchangeToMono(response -> response.bodyToMono(String.class)
                .defaultIfEmpty("")
                .map(text -> response.statusCode().value() + " " + text));
    }

    /** What the caller is given, as text. */
    static String outcome(WebClient.RequestHeadersSpec<?> request) {
        return String.valueOf(answer(request).block(PATIENCE));
    }

    static Throwable failure(Mono<?> call) {
        Throwable[] failure = new Throwable[1];
        call.then().doOnError(error -> failure[0] = error).onErrorComplete().block(PATIENCE);
        if (failure[0] == null) {
            throw new AssertionError("the call did not fail");
        }
        return failure[0];
    }

    static void await(BooleanSupplier condition) {
        Flux.interval(ofMillis(5))
                .onBackpressureDrop()
                .filter(tick -> condition.getAsBoolean())
                .blockFirst(PATIENCE);
    }

    int wire() {
        return server.log().count();
    }

    RequestLog log() {
        return server.log();
    }

    int acquired() {
        return metrics.stream().mapToInt(ConnectionPoolMetrics::acquiredSize).sum();
    }

    /** How many calls are in flight, as the limiter counts. */
    long inFlight() {
        return IN_FLIGHT - api.snapshot().root().limits().get(0).available();
    }

    /** How many permits were taken in all. */
    long taken() {
        return 1_000 - api.snapshot().root().limits().get(1).available();
    }

    /** Every permit and connection is back, and nobody waits. */
    void assertIdle() {
        assertThat(inFlight()).isZero();
        assertThat(api.snapshot().waiting()).isZero();
        await(() -> acquired() == 0);
    }

    @Override
    public void close() {
        api.dispose();
        server.dispose();
        pool.disposeLater().block(PATIENCE);
    }
}
