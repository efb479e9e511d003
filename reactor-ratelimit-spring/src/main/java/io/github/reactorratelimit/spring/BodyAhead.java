package io.github.reactorratelimit.spring;

import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
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
 * before, or if {@link #enough()} is said; after that {@link #whole} gives the body as it came, those bytes included.
 * Cancelling either cancels the body.
 *
 * <p>The first bytes may be given on another thread than the client's, so a piece may come before anybody reads the rest:
 * it is kept with those before it until it is asked for. Once nothing is kept, pieces and requests pass through.
 */
final class BodyAhead implements CoreSubscriber<DataBuffer> {

    private final Flux<DataBuffer> content;
    private final int wanted;
    private final Sinks.One<byte[]> first = Sinks.one();
    private final AtomicInteger draining = new AtomicInteger();
    private Context context = Context.empty();
    private volatile @Nullable Subscription upstream;
    private volatile @Nullable CoreSubscriber<? super DataBuffer> rest;
    /** Ended or cancelled: nothing is handed on any more. */
    private volatile boolean over;

    // all of these under this object's monitor
    /** What came and is not handed on yet. */
    private final ByteArrayOutputStream kept = new ByteArrayOutputStream();

    private boolean told;
    /** A piece that was asked for to be read ahead is still to come. */
    private boolean coming = true;
    /** Nothing is kept any more: pieces and requests pass through. */
    private boolean passing;
    /** Asked for while they did not. */
    private long owed;

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

    /** Gives the first bytes as far as they came, without waiting for more; on any thread. */
    void enough() {
        byte[] all;
        synchronized (this) {
            if (told) {
                return;
            }
            told = true;
            all = kept.toByteArray();
        }
        first.tryEmitValue(all);
    }

    /** The body as it came. To be subscribed once, after {@link #first()}. */
    Flux<DataBuffer> whole() {
        return new Rest();
    }

    /** What is kept stays: the call may be over, and cancelled, while its response is still read. */
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
        CoreSubscriber<? super DataBuffer> behind;
        boolean wanting;
        boolean more;
        synchronized (this) {
            behind = passing ? rest : null;
            if (behind == null) {
                keep(piece);
            }
            wanting = !told;
            more = wanting && kept.size() < wanted;
            coming = more;
        }
        if (behind != null) {
            behind.onNext(piece);
        } else if (more) {
            requestMore(1);
        } else if (wanting) {
            enough();
        } else {
            drain();
        }
    }

    private void keep(DataBuffer piece) {
        byte[] bytes = new byte[piece.readableByteCount()];
        piece.read(bytes);
        DataBufferUtils.release(piece);
        kept.writeBytes(bytes);
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
        synchronized (this) {
            ended = true;
            cut = error;
        }
        enough();
        drain();
    }

    private void requestMore(long n) {
        Subscription running = upstream;
        if (running != null) {
            running.request(n);
        }
    }

    // ------------------------------------------------------------------------------------------------- to the reader

    /** Hands on what is kept, on one thread at a time. */
    private void drain() {
        CoreSubscriber<? super DataBuffer> behind = rest;
        if (behind == null || draining.getAndIncrement() != 0) {
            return;
        }
        int missed = 1;
        do {
            while (step(behind)) {
                // What was handed on may have asked for more.
            }
            missed = draining.addAndGet(-missed);
        } while (missed != 0);
    }

    /** Does the one thing that is to be done; false if there is nothing. */
    private boolean step(CoreSubscriber<? super DataBuffer> behind) {
        byte[] ahead = null;
        long ask = 0;
        boolean finishes = false;
        synchronized (this) {
            if (over || (owed == 0 && !(ended && kept.size() == 0))) {
                return false;
            }
            if (kept.size() > 0) {
                ahead = kept.toByteArray();
                kept.reset();
                owed = owed == Long.MAX_VALUE ? owed : owed - 1;
            } else if (!ended) {
                passing = true;
                ask = owed == Long.MAX_VALUE || !coming ? owed : owed - 1;
                owed = 0;
            } else {
                finishes = true;
                over = true;
            }
        }
        if (ahead != null) {
            behind.onNext(DefaultDataBufferFactory.sharedInstance.wrap(ahead));
            return true;
        }
        if (ask > 0) {
            requestMore(ask);
        } else if (finishes) {
            finish(behind);
        }
        return false;
    }

    private void finish(CoreSubscriber<? super DataBuffer> behind) {
        Throwable error = cut;
        if (error == null) {
            behind.onComplete();
        } else {
            behind.onError(error);
        }
    }

    /** The body from its first byte on. */
    private final class Rest extends Flux<DataBuffer> implements Subscription {

        @Override
        public void subscribe(CoreSubscriber<? super DataBuffer> actual) {
            boolean taken;
            synchronized (BodyAhead.this) {
                taken = rest != null;
                rest = taken ? rest : actual;
            }
            if (!taken) {
                actual.onSubscribe(this);
                drain();
            } else if (over) {
                // a client releases what was read, to be sure
                Operators.complete(actual);
            } else {
                Operators.error(actual, new IllegalStateException("a response body can be read once only"));
            }
        }

        @Override
        public void request(long n) {
            if (!Operators.validate(n)) {
                return;
            }
            boolean direct;
            synchronized (BodyAhead.this) {
                direct = passing;
                owed = direct ? 0 : Operators.addCap(owed, n);
            }
            if (direct) {
                requestMore(n);
            } else {
                drain();
            }
        }

        @Override
        public void cancel() {
            over = true;
            BodyAhead.this.cancel();
        }
    }
}
