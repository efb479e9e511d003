package io.github.reactorratelimit.spring;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.springframework.core.ResolvableType;
import org.springframework.http.MediaType;
import org.springframework.http.ReactiveHttpOutputMessage;
import org.springframework.http.client.reactive.ClientHttpRequest;
import org.springframework.http.codec.HttpMessageWriter;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.web.reactive.function.BodyInserter;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * A request body that tells when it is written, which is the one thing that every HTTP client does with it, and whether it
 * can be written again. That is seen by what is given to the message writers, and by what reaches the request, however many
 * inserters of other filters lie between.
 */
final class WatchedBody implements BodyInserter<Object, ClientHttpRequest> {

    private final Dispatch dispatch;
    private final BodyInserter<?, ? super ClientHttpRequest> body;
    private final @Nullable Object replayable;

    /**
     * A watched body.
     *
     * @param replayable what the caller said about it, null for nothing
     */
    WatchedBody(Dispatch dispatch, BodyInserter<?, ? super ClientHttpRequest> body, @Nullable Object replayable) {
        this.dispatch = dispatch;
        this.body = body;
        this.replayable = replayable;
    }

    @Override
    public Mono<Void> insert(ClientHttpRequest request, Context context) {
        dispatch.begin(request);
        return inserted(request, context).doOnSuccess(done -> dispatch.sent());
    }

    private Mono<Void> inserted(ClientHttpRequest request, Context context) {
        if (replayable instanceof Boolean said) {
            if (!said) {
                dispatch.unrepeatable();
            }
            return body.insert(request, context);
        }
        Watch watch = new Watch(dispatch, context);
        return body.insert(WatchedRequest.of(request, watch), watch)
                .doOnError(error -> watch.givenUp())
                .doOnCancel(watch::givenUp);
    }

    /** Sees which publisher a writer is given, and whether anything else is written. */
    static final class Watch implements Context {

        private final Dispatch dispatch;
        private final Context context;
        private volatile boolean known;

        Watch(Dispatch dispatch, Context context) {
            this.dispatch = dispatch;
            this.context = context;
        }

        /** A writer is given this to write; gives what it is to write instead. */
        <T> Publisher<? extends T> see(Publisher<? extends T> source) {
            known = true;
            return OneShot.is(source) ? once(source) : source;
        }

        /** The request ends without a body, unless one was written before. */
        void nothing() {
            known = true;
        }

        /** The request is given content: what no writer was seen to make of it cannot be told again. */
        <T> Publisher<? extends T> given(Publisher<? extends T> content) {
            return known ? content : once(content);
        }

        /** The request is given up, whoever wrote how much of it. */
        void givenUp() {
            if (!known) {
                dispatch.unrepeatable();
            }
        }

        /** It is used up once it is begun, which a client without a connection does not do. Writers ask for a Mono. */
        private <T> Publisher<? extends T> once(Publisher<? extends T> source) {
            return source instanceof Mono<? extends T> single
                    ? single.doFirst(dispatch::unrepeatable)
                    : Flux.from(source).doFirst(dispatch::unrepeatable);
        }

        @Override
        public List<HttpMessageWriter<?>> messageWriters() {
            return context.messageWriters().stream()
                    .<HttpMessageWriter<?>>map(writer -> new Writer<>(this, writer))
                    .toList();
        }

        @Override
        public Optional<ServerHttpRequest> serverRequest() {
            return context.serverRequest();
        }

        @Override
        public Map<String, Object> hints() {
            return context.hints();
        }
    }

    private record Writer<T>(Watch watch, HttpMessageWriter<T> writer) implements HttpMessageWriter<T> {

        @Override
        public List<MediaType> getWritableMediaTypes() {
            return writer.getWritableMediaTypes();
        }

        @Override
        public List<MediaType> getWritableMediaTypes(ResolvableType elementType) {
            return writer.getWritableMediaTypes(elementType);
        }

        @Override
        public boolean canWrite(ResolvableType elementType, @Nullable MediaType mediaType) {
            return writer.canWrite(elementType, mediaType);
        }

        @Override
        public Mono<Void> write(
                Publisher<? extends T> source,
                ResolvableType elementType,
                @Nullable MediaType mediaType,
                ReactiveHttpOutputMessage message,
                Map<String, Object> hints) {
            return writer.write(watch.see(source), elementType, mediaType, message, hints);
        }
    }
}
