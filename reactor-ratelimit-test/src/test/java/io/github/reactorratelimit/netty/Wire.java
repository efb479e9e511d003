package io.github.reactorratelimit.netty;

import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.ServiceRules;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.ConnectionPoolMetrics;
import reactor.netty.resources.ConnectionProvider;

/** A server, a limiter of four in flight, a pool of one connection, and the client under test between them. */
final class Wire implements AutoCloseable {

    static final Duration PATIENCE = Duration.ofSeconds(60);
    static final int IN_FLIGHT = 4;
    static final RetryPolicy QUICK = RetryPolicy.attempts(3).backoff(ofMillis(1), ofMillis(5));

    final RateLimitedServer server;
    final RateLimiter api;
    final HttpClient plain;
    final RateLimitedHttpClient client;
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
        this.plain = HttpClient.create(pool).baseUrl(server.baseUrl());
        this.client = RateLimitedHttpClient.of(plain, calls);
    }

    static RateLimiter limiter() {
        return RateLimiter.of(Limit.inFlight(IN_FLIGHT));
    }

    /** A server that answers {@code /x} like this, time and again. */
    static ServiceRules always(Reply reply) {
        return ServiceRules.create().fault("/x", Fault.always(reply));
    }

    /** A server that answers {@code /x} like this, one after the other. */
    static ServiceRules script(Reply... replies) {
        return ServiceRules.create().script("/x", replies);
    }

    static Wire to(ServiceRules rules) {
        return to(rules, QUICK);
    }

    static Wire to(ServiceRules rules, RetryPolicy policy) {
        return to(rules, limiter(), calls -> calls.retry(policy));
    }

    static Wire to(ServiceRules rules, RateLimiter api, UnaryOperator<RateLimitOperator> change) {
        return to(rules.start(), api, change);
    }

    static Wire to(RateLimitedServer server, RateLimiter api, UnaryOperator<RateLimitOperator> change) {
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
        return new Wire(server, api, change.apply(api.calls()), pool, metrics);
    }

    RateLimitedHttpClient.Request get() {
        return client.get().uri("/x");
    }

    RateLimitedHttpClient.Request post() {
        return client.post().uri("/x").body("order");
    }

    /** Status and body of what the caller is given. */
    static Mono<String> answer(RateLimitedHttpClient.Request request) {
        return request.responseSingle((response, content) -> content.asString()
                .defaultIfEmpty("")
                .map(text -> response.status().code() + " " + text));
    }

    /** What the caller is given, as text. */
    static String outcome(RateLimitedHttpClient.Request request) {
        return String.valueOf(answer(request).block(PATIENCE));
    }

    static Throwable failure(Publisher<?> call) {
        Throwable[] failure = new Throwable[1];
        Flux.from(call)
                .then()
                .doOnError(error -> failure[0] = error)
                .onErrorComplete()
                .block(PATIENCE);
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

    long permits() {
        return api.snapshot().root().limits().get(0).available();
    }

    /** Every permit and connection is back, and nobody waits. */
    void assertIdle() {
        assertThat(permits()).isEqualTo(IN_FLIGHT);
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
