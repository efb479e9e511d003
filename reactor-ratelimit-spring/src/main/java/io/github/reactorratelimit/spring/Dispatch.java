package io.github.reactorratelimit.spring;

import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.Verdict;
import io.github.reactorratelimit.signal.Headers;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.client.reactive.ClientHttpRequest;
import org.springframework.web.reactive.function.BodyExtractors;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.util.context.ContextView;

/** One attempt on its way through the filters behind ours and the client. */
final class Dispatch {

    private final Exchange exchange;
    private final ClientRequest request;
    private final RateLimitFilter.Told told;
    private final boolean lends;
    /** What the client writes, once it has a connection. */
    private volatile @Nullable ClientHttpRequest begun;
    /** The body of the response is read, by whoever it is. */
    private volatile boolean read;
    /** The caller has cancelled. */
    private volatile boolean left;

    private volatile boolean refused;

    /**
     * One attempt.
     *
     * @param lends whether its permit goes on with the response that is handed on
     */
    Dispatch(Exchange exchange, ClientRequest request, RateLimitFilter.Told told, boolean lends) {
        this.exchange = exchange;
        this.request = request;
        this.told = told;
        this.lends = lends;
    }

    Mono<ClientResponse> through(ExchangeFunction next) {
        Mono<ClientResponse> answer = Mono.deferContextual(context -> next.exchange(watched(context)))
                .flatMap(this::heard)
                .onErrorMap(this::explained);
        return new MonoLeft<>(answer, this::left);
    }

    /** The client has cancelled by now; whoever reads the body cancels that. */
    private void left() {
        left = true;
        abandonUnread();
    }

    /** The body cannot be read, or not to its end: Spring gives none to a caller who has left. */
    private void cut() {
        read = false;
        if (left) {
            abandonUnread();
        }
    }

    private void abandonUnread() {
        ClientHttpRequest writing = begun;
        if (writing != null && !read) {
            NettyRequest.abandon(writing);
        }
    }

    private ClientRequest watched(ContextView context) {
        return ClientRequest.from(request)
                .headers(headers -> told.to(headers, context))
                .body(new WatchedBody(this, request.body(), RateLimitFilter.replayable(request)))
                .build();
    }

    /** The client has a connection and is about to write the request. */
    void begin(ClientHttpRequest writing) {
        begun = writing;
        exchange.sending();
        NettyRequest.watch(writing, () -> refused = true);
    }

    /** The request is written. */
    void sent() {
        exchange.sent();
    }

    /** The body of this attempt cannot be sent again. */
    void unrepeatable() {
        exchange.unrepeatable();
    }

    private Mono<ClientResponse> heard(ClientResponse response) {
        int status = response.statusCode().value();
        Headers headers = new SpringHeaders(response.headers().asHttpHeaders());
        Flux<DataBuffer> content = response.body(BodyExtractors.toDataBuffers())
                .doFirst(() -> read = true)
                .doOnError(error -> cut());
        int wanted = exchange.bodyBytes(status, headers);
        if (wanted <= 0) {
            return answered(exchange.head(status, headers), response, content);
        }
        BodyAhead body = new BodyAhead(content, wanted);
        exchange.draining(body::enough);
        return body.first().flatMap(first -> answered(exchange.head(status, headers, first), response, body.whole()));
    }

    private Mono<ClientResponse> answered(Verdict verdict, ClientResponse response, Flux<DataBuffer> content) {
        if (!verdict.passes()) {
            return drained(content, verdict.failure());
        }
        Flux<DataBuffer> body = content;
        if (lends) {
            Runnable permit = exchange.hold();
            body = content.doOnTerminate(permit).doOnCancel(permit);
        }
        Flux<DataBuffer> handedOn = body;
        return Mono.just(response.mutate().body(same -> handedOn).build());
    }

    /** Reads the body away to keep the connection, and closes it where that takes too many bytes or too long. */
    private Mono<ClientResponse> drained(Flux<DataBuffer> content, Throwable failure) {
        Sinks.Empty<Void> over = Sinks.empty();
        AtomicLong seen = new AtomicLong();
        exchange.draining(over::tryEmitEmpty);
        return content.map(Dispatch::released)
                .takeWhile(bytes -> seen.addAndGet(bytes) <= Exchange.DRAINED_BYTES)
                .takeUntilOther(over.asMono())
                .then(Mono.<ClientResponse>error(failure))
                .onErrorMap(cutOff -> failure);
    }

    private static int released(DataBuffer piece) {
        int bytes = piece.readableByteCount();
        DataBufferUtils.release(piece);
        return bytes;
    }

    private Throwable explained(Throwable error) {
        exchange.failing(SpringFailures.meaning(error, request.url(), begun != null, refused));
        return SpringFailures.named(error);
    }
}
