package io.github.reactorratelimit.netty;

import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.Verdict;
import io.github.reactorratelimit.signal.Headers;
import io.netty.buffer.ByteBuf;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.SignalType;
import reactor.core.publisher.Sinks;
import reactor.netty.ByteBufFlux;
import reactor.netty.Connection;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.HttpClientConfig;
import reactor.netty.http.client.HttpClientRequest;
import reactor.netty.http.client.HttpClientResponse;

/**
 * One attempt on its way through the client. It travels in the Reactor Context, so that the client is set up once and not
 * once per attempt.
 */
final class Dispatch {

    private final Exchange exchange;
    private final HttpClientConfig config;
    /** The request on its connection, once there is one. */
    private volatile @Nullable Connection begun;
    /** Its response is here, and cancelled by whoever reads it. */
    private volatile boolean heard;

    private volatile boolean refused;
    private volatile @Nullable Throwable cut;
    private volatile boolean callersOwn;

    Dispatch(Exchange exchange, HttpClientConfig config) {
        this.exchange = exchange;
        this.config = config;
    }

    private static @Nullable Dispatch of(HttpClientRequest request) {
        return request.currentContextView().getOrDefault(Dispatch.class, null);
    }

    /** A connection is there and the request is about to be written. */
    static void begin(HttpClientRequest request, Connection connection) {
        Dispatch dispatch = of(request);
        if (dispatch != null) {
            dispatch.begun = connection;
            dispatch.exchange.sending();
            NettyFailures.watch(connection.channel(), () -> dispatch.refused = true);
        }
    }

    /** The request is written. */
    static void sent(HttpClientRequest request, Connection connection) {
        Dispatch dispatch = of(request);
        if (dispatch != null) {
            dispatch.exchange.sent();
        }
    }

    /** Sends the request and hands the response on if the limiter says so. */
    <V> Flux<V> through(
            HttpClient.ResponseReceiver<?> call,
            BiFunction<? super HttpClientResponse, ? super ByteBufFlux, ? extends Publisher<V>> receiver) {
        return call.response((response, content) -> heard(response, content, receiver))
                .onErrorMap(this::explained)
                .doFinally(this::over)
                .contextWrite(context -> context.put(Dispatch.class, this));
    }

    /** The client has cancelled by now, and may have missed that the head came. */
    private void over(SignalType how) {
        Connection connection = begun;
        if (how == SignalType.CANCEL && connection != null && !heard) {
            NettyRequests.abandon(connection);
        }
    }

    private <V> Publisher<V> heard(
            HttpClientResponse response,
            ByteBufFlux content,
            BiFunction<? super HttpClientResponse, ? super ByteBufFlux, ? extends Publisher<V>> receiver) {
        heard = true;
        int status = response.status().code();
        Headers headers = new NettyHeaders(response.responseHeaders());
        int wanted = exchange.bodyBytes(status, headers);
        if (wanted <= 0) {
            return answered(exchange.head(status, headers), response, content, receiver);
        }
        BodyAhead body = new BodyAhead(content, wanted);
        exchange.draining(body::enough);
        return body.first()
                .flatMapMany(first -> answered(exchange.head(status, headers, first), response, body, receiver));
    }

    private <V> Publisher<V> answered(
            Verdict verdict,
            HttpClientResponse response,
            Flux<ByteBuf> content,
            BiFunction<? super HttpClientResponse, ? super ByteBufFlux, ? extends Publisher<V>> receiver) {
        if (!verdict.passes()) {
            return drained(content, verdict.failure());
        }
        try {
            Publisher<V> answer =
                    receiver.apply(response, ByteBufFlux.fromInbound(content.doOnError(error -> cut = error)));
            return Flux.from(answer).doOnError(this::blame);
        } catch (Throwable e) {
            // Thrown on, it would leave the connection to nobody.
            Exceptions.throwIfFatal(e);
            callersOwn = true;
            return Flux.error(e);
        }
    }

    private void blame(Throwable error) {
        callersOwn = !error.equals(cut);
    }

    /** Reads the body away to keep the connection, and closes it where that takes too many bytes or too long. */
    private <V> Flux<V> drained(Flux<ByteBuf> content, Throwable failure) {
        Sinks.Empty<Void> over = Sinks.empty();
        AtomicLong seen = new AtomicLong();
        exchange.draining(over::tryEmitEmpty);
        return content.takeWhile(piece -> seen.addAndGet(piece.readableBytes()) <= Exchange.DRAINED_BYTES)
                .takeUntilOther(over.asMono())
                .thenMany(Flux.<V>error(failure))
                .onErrorMap(cutOff -> failure);
    }

    private Throwable explained(Throwable error) {
        Failure known = callersOwn ? Failure.fatal() : NettyFailures.meaning(error, begun != null, refused);
        Failure meaning = known != null ? known : begun != null ? Failure.fatal() : Failure.refused();
        String proxy = callersOwn ? null : NettyFailures.proxy(error, config);
        exchange.failing(proxy == null ? meaning : meaning.atProxy(proxy));
        return NettyFailures.named(error);
    }
}
