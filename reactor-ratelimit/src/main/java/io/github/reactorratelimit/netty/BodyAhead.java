package io.github.reactorratelimit.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * A body whose first bytes are read ahead. {@link #first()} gives those, or what there is if the body ends or breaks off
 * before, or if {@link #enough()} is said; after that this Flux, once, gives the body as it came, those bytes included.
 * Cancelling either cancels the body.
 *
 * <p>The first bytes may be given on another thread than the client's, so a piece may come before anybody reads the rest:
 * it is kept with those before it until it is asked for. Once nothing is kept, pieces and requests pass through.
 */
final class BodyAhead extends Flux<ByteBuf> implements CoreSubscriber<ByteBuf>, Subscription {

    private final Flux<ByteBuf> content;
    private final int wanted;
    private final FirstBytes first = new FirstBytes();
    private final AtomicInteger draining = new AtomicInteger();
    private volatile @Nullable Subscription upstream;
    private volatile @Nullable CoreSubscriber<? super ByteBuf> rest;
    /** Ended or cancelled: nothing is handed on any more. */
    private volatile boolean over;

    // all of these under this object's monitor
    /** What came and is not handed on yet. */
    private final ByteArrayOutputStream kept = new ByteArrayOutputStream();

    private boolean told;
    /** Whoever asked for the first bytes can take them. */
    private boolean asked;
    /** They are there, or will not be waited for. */
    private boolean due;
    /** A piece that was asked for to be read ahead is still to come. */
    private boolean coming = true;
    /** Nothing is kept any more: pieces and requests pass through. */
    private boolean passing;
    /** Asked for while they did not. */
    private long owed;

    private boolean ended;
    private @Nullable Throwable cut;

    BodyAhead(Flux<ByteBuf> content, int wanted) {
        this.content = content;
        this.wanted = wanted;
    }

    Mono<byte[]> first() {
        return first;
    }

    /** Gives the first bytes as far as they came, without waiting for more; on any thread. */
    void enough() {
        first.tell();
    }

    // ---------------------------------------------------------------------------------------------- from the client

    @Override
    public Context currentContext() {
        CoreSubscriber<?> reader = rest;
        CoreSubscriber<?> known = reader == null ? first.actual : reader;
        return known == null ? Context.empty() : known.currentContext();
    }

    @Override
    public void onSubscribe(Subscription subscription) {
        upstream = subscription;
        first.start();
    }

    @Override
    public void onNext(ByteBuf piece) {
        CoreSubscriber<? super ByteBuf> behind;
        boolean wanting;
        boolean more;
        synchronized (this) {
            behind = passing ? rest : null;
            if (behind == null) {
                byte[] bytes = new byte[piece.readableBytes()];
                piece.getBytes(piece.readerIndex(), bytes);
                kept.writeBytes(bytes);
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
            first.tell();
        } else {
            drain();
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
        synchronized (this) {
            ended = true;
            cut = error;
        }
        first.tell();
        drain();
    }

    private void requestMore(long n) {
        Subscription running = upstream;
        if (running != null) {
            running.request(n);
        }
    }

    // ------------------------------------------------------------------------------------------------- to the reader

    @Override
    public void subscribe(CoreSubscriber<? super ByteBuf> actual) {
        boolean taken;
        synchronized (this) {
            taken = rest != null;
            if (!taken) {
                rest = actual;
            }
        }
        if (taken) {
            Operators.error(actual, new IllegalStateException("a response body can be read once only"));
        } else {
            actual.onSubscribe(this);
            drain();
        }
    }

    @Override
    public void request(long n) {
        if (!Operators.validate(n)) {
            return;
        }
        boolean direct;
        synchronized (this) {
            direct = passing;
            owed = direct ? 0 : Operators.addCap(owed, n);
        }
        if (direct) {
            requestMore(n);
        } else {
            drain();
        }
    }

    /** Hands on what is kept, on one thread at a time. */
    private void drain() {
        CoreSubscriber<? super ByteBuf> behind = rest;
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
    private boolean step(CoreSubscriber<? super ByteBuf> behind) {
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
            ByteBuf piece = Unpooled.wrappedBuffer(ahead);
            behind.onNext(piece);
            piece.release();
            return true;
        }
        if (ask > 0) {
            requestMore(ask);
        } else if (finishes) {
            finish(behind);
        }
        return false;
    }

    private void finish(CoreSubscriber<? super ByteBuf> behind) {
        Throwable error = cut;
        if (error == null) {
            behind.onComplete();
        } else {
            behind.onError(error);
        }
    }

    @Override
    public void cancel() {
        over = true;
        Subscription running = upstream;
        if (running != null) {
            running.cancel();
        }
    }

    /** The bytes read ahead. */
    private final class FirstBytes extends Mono<byte[]> implements Subscription {

        private @Nullable CoreSubscriber<? super byte[]> actual;

        @Override
        public void subscribe(CoreSubscriber<? super byte[]> actual) {
            this.actual = actual;
            content.subscribe(BodyAhead.this);
        }

        void start() {
            CoreSubscriber<? super byte[]> asking = actual;
            if (asking != null) {
                asking.onSubscribe(this);
            }
        }

        void tell() {
            CoreSubscriber<? super byte[]> asking = actual;
            byte[] all;
            synchronized (BodyAhead.this) {
                due = true;
                if (told || !asked || asking == null) {
                    return;
                }
                told = true;
                all = kept.toByteArray();
            }
            asking.onNext(all.length > wanted ? Arrays.copyOf(all, wanted) : all);
            asking.onComplete();
        }

        @Override
        public void request(long n) {
            boolean now;
            synchronized (BodyAhead.this) {
                asked = true;
                now = due;
            }
            requestMore(1);
            if (now) {
                tell();
            }
        }

        @Override
        public void cancel() {
            BodyAhead.this.cancel();
        }
    }
}
