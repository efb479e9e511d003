package io.github.reactorratelimit.test;

import static java.util.Objects.requireNonNull;

import io.netty.handler.codec.http.HttpMethod;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import reactor.core.publisher.Mono;
import reactor.netty.ByteBufFlux;
import reactor.netty.http.client.HttpClient;

/** The real server over loopback, on a clock of the test. */
class ChatServerTest extends ChatContract {

    private final AtomicLong now = new AtomicLong();
    private @Nullable RateLimitedServer server;

    @Override
    void start(ChatService service) {
        stop();
        server = service.start(() -> Instant.ofEpochMilli(now.get()));
    }

    @AfterEach
    void stop() {
        if (server != null) {
            server.dispose();
        }
    }

    @Override
    Answer at(long afterMillis, SimulatedRequest request) {
        now.set(ServiceContract.W0 + afterMillis);
        return requireNonNull(HttpClient.create()
                .headers(headers -> request.headers().forEach(headers::add))
                .request(HttpMethod.valueOf(request.method()))
                .uri(requireNonNull(server).baseUrl() + request.path())
                .send(ByteBufFlux.fromString(Mono.just(request.body())))
                .responseSingle((response, content) -> content.asString()
                        .defaultIfEmpty("")
                        .map(body -> new Answer(
                                response.status().code(),
                                response.responseHeaders().entries().stream()
                                        .map(line -> line.getKey() + ": " + line.getValue())
                                        .toList(),
                                body)))
                .block(Duration.ofSeconds(10)));
    }

    @Override
    RequestLog log() {
        return requireNonNull(server).log();
    }
}
