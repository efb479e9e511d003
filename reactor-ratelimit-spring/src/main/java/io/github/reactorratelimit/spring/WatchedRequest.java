package io.github.reactorratelimit.spring;

import java.nio.file.Path;
import org.reactivestreams.Publisher;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.http.ZeroCopyHttpOutputMessage;
import org.springframework.http.client.reactive.ClientHttpRequest;
import org.springframework.http.client.reactive.ClientHttpRequestDecorator;
import reactor.core.publisher.Mono;

/** A request that tells whether it is given content, or ends without any. */
class WatchedRequest extends ClientHttpRequestDecorator {

    private final WatchedBody.Watch watch;

    private WatchedRequest(ClientHttpRequest request, WatchedBody.Watch watch) {
        super(request);
        this.watch = watch;
    }

    static ClientHttpRequest of(ClientHttpRequest request, WatchedBody.Watch watch) {
        return request instanceof ZeroCopyHttpOutputMessage direct
                ? new OfFiles(request, direct, watch)
                : new WatchedRequest(request, watch);
    }

    @Override
    public Mono<Void> writeWith(Publisher<? extends DataBuffer> content) {
        return super.writeWith(watch.given(content));
    }

    @Override
    public Mono<Void> writeAndFlushWith(Publisher<? extends Publisher<? extends DataBuffer>> content) {
        return super.writeAndFlushWith(watch.given(content));
    }

    @Override
    public Mono<Void> setComplete() {
        watch.nothing();
        return super.setComplete();
    }

    /** One of a client that sends files past the heap, which writers look for. */
    private static final class OfFiles extends WatchedRequest implements ZeroCopyHttpOutputMessage {

        private final ZeroCopyHttpOutputMessage direct;

        OfFiles(ClientHttpRequest request, ZeroCopyHttpOutputMessage direct, WatchedBody.Watch watch) {
            super(request, watch);
            this.direct = direct;
        }

        @Override
        public Mono<Void> writeWith(Path file, long position, long count) {
            return direct.writeWith(file, position, count); // A file is there each time.
        }
    }
}
