package io.github.reactorratelimit.test;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.function.BiFunction;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import reactor.netty.http.server.HttpServerRequest;
import reactor.netty.http.server.HttpServerResponse;

/** One request over HTTP: reads it, has it decided, and delivers the reply as the reply wants it. */
final class HttpExchange implements BiFunction<HttpServerRequest, HttpServerResponse, Publisher<Void>> {

    /** So that a client sees the head and half of the body before it sees the connection go. */
    private static final Duration BEFORE_CUT = Duration.ofMillis(20);

    private final RateLimitedService service;
    private final InstantSource clock;

    HttpExchange(RateLimitedService service, InstantSource clock) {
        this.service = service;
        this.clock = clock;
    }

    @Override
    public Publisher<Void> apply(HttpServerRequest in, HttpServerResponse out) {
        Channel[] channel = new Channel[1];
        in.withConnection(connection -> channel[0] = connection.channel());
        // The event loop itself, because the usual schedulers may be virtual while this server is real.
        Scheduler loop = Schedulers.fromExecutorService(channel[0].eventLoop());
        return in.receive()
                .aggregate()
                .asByteArray()
                .defaultIfEmpty(new byte[0])
                .flatMap(body -> {
                    Reply reply = decide(request(in, body));
                    return ReplyBody.pause(reply.delay(), loop)
                            .then(Mono.defer(() -> deliver(reply, out, channel[0], loop)));
                });
    }

    private Reply decide(SimulatedRequest request) {
        try {
            return service.answer(request, clock.millis());
        } catch (Unscripted beyond) {
            return beyond.reply();
        } catch (RuntimeException | AssertionError failed) {
            return Reply.status(500).body(failed.toString()); // A limit of the test's own.
        }
    }

    private static SimulatedRequest request(HttpServerRequest in, byte[] body) {
        SimulatedRequest request =
                SimulatedRequest.of(in.method().name(), in.uri()).body(body);
        for (Map.Entry<String, String> line : in.requestHeaders()) {
            request = request.header(line.getKey(), line.getValue());
        }
        return request;
    }

    private static Mono<Void> deliver(Reply reply, HttpServerResponse out, Channel channel, Scheduler loop) {
        switch (reply.delivery()) {
            case HANG -> {
                return Mono.never();
            }
            case RESET, CLOSE -> {
                return cut(reply, channel);
            }
            default -> {
                writeHead(reply, out);
                return writeBody(reply, out, channel, loop);
            }
        }
    }

    private static void writeHead(Reply reply, HttpServerResponse out) {
        out.status(reply.status());
        reply.headers().forEach(out::addHeader);
        int size = reply.bytes().length;
        if (size > 0 && reply.header("Content-Type") == null) {
            out.header("Content-Type", "application/json");
        }
        boolean sized =
                reply.delivery() != Reply.Delivery.ENDLESS && reply.pace().pieces() == null;
        if (sized && reply.status() != 204 && reply.status() != 304) {
            out.header("Content-Length", Integer.toString(size));
        }
    }

    private static Mono<Void> writeBody(Reply reply, HttpServerResponse out, Channel channel, Scheduler loop) {
        Flux<ByteBuf> body = ReplyBody.pieces(reply, loop)
                .map(Unpooled::wrappedBuffer)
                .onErrorResume(cut ->
                        Mono.delay(BEFORE_CUT, loop).then(cut(reply, channel)).then(Mono.empty()));
        return out.send(body, piece -> true).then();
    }

    private static Mono<Void> cut(Reply reply, Channel channel) {
        return Mono.defer(() -> {
            switch (reply.delivery()) {
                case RESET, RESET_AFTER_HEAD -> Connections.reset(channel);
                default -> Connections.close(channel);
            }
            return Mono.never();
        });
    }
}
