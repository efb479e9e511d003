package io.github.reactorratelimit.test;

import static java.util.Objects.requireNonNull;

import io.netty.handler.codec.http.HttpMethod;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.netty.ByteBufFlux;
import reactor.netty.http.client.HttpClient;

/** A real server over loopback, on a clock of the test. */
final class ServerOnAClock {

    private final AtomicLong now = new AtomicLong();
    private @Nullable RateLimitedServer server;

    void start(Function<InstantSource, RateLimitedServer> start) {
        stop();
        server = start.apply(() -> Instant.ofEpochMilli(now.get()));
    }

    void stop() {
        if (server != null) {
            server.dispose();
        }
    }

    RequestLog log() {
        return requireNonNull(server).log();
    }

    /** What is answered at this time, with a query that says nothing. */
    Answer at(long epochMillis, SimulatedRequest request) {
        now.set(epochMillis);
        return requireNonNull(HttpClient.create()
                .headers(headers -> request.headers().forEach(headers::add))
                .request(HttpMethod.valueOf(request.method()))
                .uri(requireNonNull(server).baseUrl() + request.path() + "?q=1")
                .send(ByteBufFlux.fromString(Mono.just(request.body())))
                .responseSingle((response, content) -> content.asString()
                        .defaultIfEmpty("")
                        .map(body -> Answer.of(
                                response.status().code(),
                                each -> response.responseHeaders()
                                        .forEach(line -> each.accept(line.getKey(), line.getValue())),
                                body)))
                .block(Duration.ofSeconds(10)));
    }
}
