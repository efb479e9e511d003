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
import org.springframework.web.reactive.function.BodyInserters;
import reactor.core.publisher.Mono;

/**
 * A request body that tells when it is written, which is the one thing that every HTTP client does with it, and whether it
 * can be written again, which is seen by what is given to the message writers.
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
        dispatch.begin();
        Watch watch = new Watch(context);
        Mono<Void> written = body.insert(request, watch);
        boolean nothing = body.equals(BodyInserters.empty());
        boolean once = replayable instanceof Boolean said ? !said : !nothing && watch.isOnce();
        if (once) {
            dispatch.unrepeatable();
        }
        return written.doOnSuccess(done -> dispatch.sent());
    }

    /** Sees which publisher a writer is given. */
    private static final class Watch implements Context {

        private final Context context;
        private boolean seen;
        private boolean once;

        Watch(Context context) {
            this.context = context;
        }

        /** What was not given to a writer before the inserter returned is unknown. */
        boolean isOnce() {
            return once || !seen;
        }

        void see(Publisher<?> source) {
            seen = true;
            once |= OneShot.is(source);
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
            watch.see(source);
            return writer.write(source, elementType, mediaType, message, hints);
        }
    }
}
