package io.github.reactorratelimit.test.spring;

import io.github.reactorratelimit.test.SimulatedRequest;
import java.net.URI;
import java.util.List;
import java.util.stream.Collectors;
import org.reactivestreams.Publisher;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferFactory;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.client.reactive.AbstractClientHttpRequest;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What a {@code WebClient} writes, collected into one request. */
final class WrittenRequest extends AbstractClientHttpRequest {

    private final HttpMethod method;
    private final URI uri;
    private SimulatedRequest simulated;

    WrittenRequest(HttpMethod method, URI uri) {
        this.method = method;
        this.uri = uri;
        this.simulated = SimulatedRequest.of(method.name(), uri.getRawPath().isEmpty() ? "/" : uri.getRawPath());
    }

    /** Complete once it was committed. */
    SimulatedRequest simulated() {
        return simulated;
    }

    @Override
    public HttpMethod getMethod() {
        return method;
    }

    @Override
    public URI getURI() {
        return uri;
    }

    @Override
    public DataBufferFactory bufferFactory() {
        return DefaultDataBufferFactory.sharedInstance;
    }

    @Override
    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // Spring asks for whatever the caller takes it for
    public <T> T getNativeRequest() {
        return (T) this;
    }

    @Override
    public Mono<Void> writeWith(Publisher<? extends DataBuffer> body) {
        return doCommit(() -> DataBufferUtils.join(body).doOnNext(this::read).then());
    }

    private void read(DataBuffer body) {
        byte[] bytes = new byte[body.readableByteCount()];
        body.read(bytes);
        DataBufferUtils.release(body);
        simulated = simulated.body(bytes);
    }

    @Override
    public Mono<Void> writeAndFlushWith(Publisher<? extends Publisher<? extends DataBuffer>> body) {
        return writeWith(Flux.from(body).concatMap(part -> part));
    }

    @Override
    public Mono<Void> setComplete() {
        return doCommit();
    }

    @Override
    protected void applyHeaders() {
        getHeaders().forEach((name, values) -> values.forEach(value -> simulated = simulated.header(name, value)));
    }

    @Override
    protected void applyCookies() {
        String cookies = getCookies().values().stream()
                .flatMap(List::stream)
                .map(cookie -> cookie.getName() + "=" + cookie.getValue())
                .collect(Collectors.joining("; "));
        if (!cookies.isEmpty()) {
            simulated = simulated.header(HttpHeaders.COOKIE, cookies);
        }
    }
}
