package io.github.reactorratelimit.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * A body whose first bytes are read ahead. {@link #first()} gives those, or what there is if the body ends or breaks off
 * before; after that this Flux, once, gives the body as it came, those bytes included. Cancelling either cancels the body.
 */
final class BodyAhead extends Flux<ByteBuf> implements CoreSubscriber<ByteBuf>, Subscription {

    private final Flux<ByteBuf> content;
    private final int wanted;
    private final ByteArrayOutputStream read = new ByteArrayOutputStream();
    private final FirstBytes first = new FirstBytes();
    private volatile @Nullable Subscription upstream;

    private @Nullable CoreSubscriber<? super ByteBuf> rest;
    /** What was read ahead is handed on. */
    private boolean replayed;

    private boolean replaying;
    /** Asked for while it was not handed on yet. */
    private long owed;

    private volatile boolean cancelled;
    private boolean ended;
    private @Nullable Throwable cut;
    private volatile boolean told;

    BodyAhead(Flux<ByteBuf> content, int wanted) {
        this.content = content;
        this.wanted = wanted;
    }

    Mono<byte[]> first() {
        return first;
    }

    // ---------------------------------------------------------------------------------------------- from the client

    @Override
    public Context currentContext() {
        CoreSubscriber<?> known = told ? rest : first.actual;
        return known == null ? Context.empty() : known.currentContext();
    }

    @Override
    public void onSubscribe(Subscription subscription) {
        upstream = subscription;
        first.start();
    }

    @Override
    public void onNext(ByteBuf piece) {
        if (told) {
            CoreSubscriber<? super ByteBuf> behind = rest;
            if (behind != null) {
                behind.onNext(piece);
            }
            return;
        }
        byte[] bytes = new byte[piece.readableBytes()];
        piece.getBytes(piece.readerIndex(), bytes);
        read.writeBytes(bytes);
        if (read.size() >= wanted) {
            first.tell();
        } else {
            requestMore(1);
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
        CoreSubscriber<? super ByteBuf> behind;
        synchronized (this) {
            ended = true;
            cut = error;
            behind = replayed ? rest : null;
        }
        if (behind != null) {
            finish(behind);
        } else if (!told) {
            first.tell();
        }
    }

    private void finish(CoreSubscriber<? super ByteBuf> behind) {
        Throwable error = cut;
        if (error == null) {
            behind.onComplete();
        } else {
            behind.onError(error);
        }
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
        }
    }

    @Override
    public void request(long n) {
        CoreSubscriber<? super ByteBuf> behind = rest;
        if (!Operators.validate(n) || behind == null) {
            return;
        }
        boolean direct;
        synchronized (this) {
            direct = replayed;
            owed = direct ? 0 : Operators.addCap(owed, n);
            if (!direct && replaying) {
                return;
            }
            replaying = true;
        }
        if (direct) {
            requestMore(n);
        } else {
            replay(behind);
        }
    }

    private void replay(CoreSubscriber<? super ByteBuf> behind) {
        boolean some = read.size() > 0;
        if (some) {
            ByteBuf ahead = Unpooled.wrappedBuffer(read.toByteArray());
            behind.onNext(ahead);
            ahead.release();
        }
        boolean over;
        long left;
        synchronized (this) {
            replayed = true;
            over = ended;
            left = some && owed != Long.MAX_VALUE ? owed - 1 : owed;
        }
        if (cancelled) {
            return;
        }
        if (over) {
            finish(behind);
        } else if (left > 0) {
            requestMore(left);
        }
    }

    @Override
    public void cancel() {
        cancelled = true;
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
            if (asking != null && !told) {
                told = true;
                byte[] all = read.toByteArray();
                asking.onNext(all.length > wanted ? Arrays.copyOf(all, wanted) : all);
                asking.onComplete();
            }
        }

        @Override
        public void request(long n) {
            requestMore(1);
        }

        @Override
        public void cancel() {
            BodyAhead.this.cancel();
        }
    }
}
