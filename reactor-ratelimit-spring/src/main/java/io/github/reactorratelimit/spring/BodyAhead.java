package io.github.reactorratelimit.spring;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Sinks;
import reactor.util.context.Context;

/**
 * A body whose first bytes are read ahead. {@link #first()} gives those, or what there is if the body ends or breaks off
 * before; after that {@link #whole} gives the body as it came, those bytes included. Cancelling either cancels the body.
 */
final class BodyAhead implements CoreSubscriber<DataBuffer> {

    private final Flux<DataBuffer> content;
    private final int wanted;
    private final ByteArrayOutputStream read = new ByteArrayOutputStream();
    private final Sinks.One<byte[]> first = Sinks.one();
    private Context context = Context.empty();
    private volatile @Nullable Subscription upstream;

    private volatile @Nullable CoreSubscriber<? super DataBuffer> rest;
    /** The reader of the rest has its subscription. */
    private boolean started;

    private boolean ended;
    private @Nullable Throwable cut;

    BodyAhead(Flux<DataBuffer> content, int wanted) {
        this.content = content;
        this.wanted = wanted;
    }

    /** The bytes that were wanted. To be subscribed once. */
    Mono<byte[]> first() {
        return Mono.deferContextual(view -> {
                    context = Context.of(view);
                    content.subscribe(this);
                    return first.asMono();
                })
                .map(all -> all.length > wanted ? Arrays.copyOf(all, wanted) : all)
                .doOnCancel(this::cancel);
    }

    /** The body as it came. To be subscribed once, after {@link #first()}. */
    Flux<DataBuffer> whole() {
        byte[] bytes = read.toByteArray();
        Flux<DataBuffer> ahead = bytes.length == 0
                ? Flux.empty()
                : Flux.defer(() -> Flux.just(DefaultDataBufferFactory.sharedInstance.wrap(bytes)));
        return Flux.concat(ahead, new Rest()).doOnCancel(this::cancel);
    }

    private void cancel() {
        Subscription running = upstream;
        if (running != null) {
            running.cancel();
        }
    }

    // ---------------------------------------------------------------------------------------------- from the client

    @Override
    public Context currentContext() {
        return context;
    }

    @Override
    public void onSubscribe(Subscription subscription) {
        if (Operators.validate(upstream, subscription)) {
            upstream = subscription;
            subscription.request(1);
        }
    }

    @Override
    public void onNext(DataBuffer piece) {
        CoreSubscriber<? super DataBuffer> behind = rest;
        if (behind != null) {
            behind.onNext(piece);
            return;
        }
        byte[] bytes = new byte[piece.readableByteCount()];
        piece.read(bytes);
        DataBufferUtils.release(piece);
        read.writeBytes(bytes);
        Subscription running = upstream;
        if (read.size() >= wanted) {
            first.tryEmitValue(read.toByteArray());
        } else if (running != null) {
            running.request(1);
        }
    }

    @Override
    public void onError(Throwable error) {
        end(error);
    }

    @Override
    public void onComplete() {
        end(null);
    }

    private void end(@Nullable Throwable error) {
        CoreSubscriber<? super DataBuffer> behind;
        synchronized (this) {
            ended = true;
            cut = error;
            behind = started ? rest : null;
        }
        if (behind != null) {
            finish(behind);
        } else {
            // Nothing new to whoever has it already.
            first.tryEmitValue(read.toByteArray());
        }
    }

    private void finish(CoreSubscriber<? super DataBuffer> behind) {
        Throwable error = cut;
        if (error == null) {
            behind.onComplete();
        } else {
            behind.onError(error);
        }
    }

    /** What comes after the bytes read ahead. */
    private final class Rest extends Flux<DataBuffer> implements Subscription {

        @Override
        public void subscribe(CoreSubscriber<? super DataBuffer> actual) {
            rest = actual;
            actual.onSubscribe(this);
            boolean over;
            synchronized (BodyAhead.this) {
                started = true;
                over = ended;
            }
            if (over) {
                finish(actual);
            }
        }

        @Override
        public void request(long n) {
            Subscription running = upstream;
            if (running != null) {
                running.request(n);
            }
        }

        @Override
        public void cancel() {
            BodyAhead.this.cancel();
        }
    }
}
