package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.SignalType;
import reactor.core.scheduler.Schedulers;
import reactor.util.context.Context;

/**
 * One call under a permit of a source that this library knows nothing more about: heard by the standard dialect, and
 * handed on whatever it is.
 *
 * <p>The permit is here, or the call is over: whoever comes second, the grant or a cancel, gives it back.
 */
final class PermittedExchange implements Exchange, Layers.Mark {

    private static final int WAITING = 0;
    private static final int GRANTED = 1;
    private static final int OVER = 2;

    private final PermitSource shown;
    private final AtomicInteger state = new AtomicInteger(WAITING);
    /** It can be corrected and heard even after it is given back. */
    private volatile @Nullable Permit permit;

    /** What is around the call. */
    private volatile Layers.@Nullable Mark around;

    private volatile boolean held;
    private volatile boolean answered;

    private PermittedExchange(PermitSource shown) {
        this.shown = shown;
    }

    static <T> Publisher<T> of(Mono<Permit> permits, PermitSource shown, Sources.Use<T> use) {
        return use.single()
                ? Mono.defer(() -> {
                    PermittedExchange exchange = new PermittedExchange(shown);
                    return exchange.asked(permits)
                            .flatMap(granted ->
                                    Mono.<T>from(exchange.opened(use)).contextWrite(exchange::seen))
                            .doOnSuccess(answer -> {
                                exchange.answered = answer != null;
                                exchange.ended(SignalType.ON_COMPLETE);
                            })
                            .doOnError(error -> exchange.ended(SignalType.ON_ERROR))
                            .doFinally(exchange::ended);
                })
                : Flux.defer(() -> {
                    PermittedExchange exchange = new PermittedExchange(shown);
                    return exchange.asked(permits)
                            .flatMapMany(granted ->
                                    Flux.<T>from(exchange.opened(use)).contextWrite(exchange::seen))
                            .doOnNext(answer -> exchange.answered = true)
                            .doOnComplete(() -> exchange.ended(SignalType.ON_COMPLETE))
                            .doOnError(error -> exchange.ended(SignalType.ON_ERROR))
                            .doFinally(exchange::ended);
                });
    }

    private <T> Publisher<? extends T> opened(Sources.Use<T> use) {
        return state.get() == GRANTED
                ? Objects.requireNonNull(use.call().apply(this), "a call must give a publisher, gave null")
                : Mono.empty();
    }

    /** Who gets no permit and is told of no error would take the call for made. */
    private Mono<Permit> asked(Mono<Permit> permits) {
        return permits.switchIfEmpty(Mono.error(() ->
                        new IllegalStateException("a source must give a permit or an error, gave neither: " + shown)))
                .doOnNext(this::granted);
    }

    private Context seen(Context context) {
        around = Layers.mark(context);
        return Layers.mark(context, this);
    }

    /** There is nothing in here that hears or tries again. */
    @Override
    public void claim(boolean retriesToo) {
        Layers.Mark outer = around;
        if (outer != null) {
            outer.claim(retriesToo);
        }
    }

    @Override
    public int number() {
        return 1;
    }

    /** Sources of other people's don't tell. */
    @Override
    public long waitedNanos() {
        return 0;
    }

    @Override
    public Exchange exchange() {
        return this;
    }

    private void granted(Permit granted) {
        permit = granted;
        if (!state.compareAndSet(WAITING, GRANTED)) {
            granted.release();
        }
    }

    /** The permit is free before the caller has its answer, its end or its error; twice is like once. */
    private void ended(SignalType how) {
        boolean lends = held && answered && how == SignalType.ON_COMPLETE;
        if (!lends) {
            release();
        }
    }

    private void release() {
        boolean granted = state.getAndSet(OVER) == GRANTED;
        Permit here = permit; // It is there before it is granted.
        if (granted && here != null) {
            try {
                here.release();
            } catch (Throwable e) {
                Exceptions.throwIfJvmFatal(e);
                Operators.onErrorDropped(e, Context.empty()); // The answer is none the worse for it.
            }
        }
    }

    @Override
    public PermitSource source() {
        return shown;
    }

    @Override
    public void sent() {
        Permit granted = permit;
        if (granted != null) {
            granted.sent();
        }
    }

    @Override
    public void settle(String unit, long actual) {
        Permit granted = permit;
        if (granted != null) {
            granted.settle(unit, actual);
        }
    }

    @Override
    public void hear(RateLimitSignal signal) {
        Permit granted = permit;
        if (granted != null) {
            granted.hear(signal);
        }
    }

    @Override
    public Verdict head(int status, Headers headers) {
        hear(Dialects.standard().read(status, headers, Schedulers.parallel().now(TimeUnit.MILLISECONDS)));
        return Verdict.PASS;
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        return 0;
    }

    @Override
    public Verdict head(int status, Headers headers, byte[] body) {
        return head(status, headers);
    }

    @Override
    public void draining(Runnable over) {} // No response is discarded here.

    @Override
    public void failing(Failure failure) {}

    @Override
    public Runnable hold() {
        held = true;
        return this::release;
    }

    @Override
    public void unrepeatable() {}

    @Override
    public int attempt() {
        return number();
    }
}
