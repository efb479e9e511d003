package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * One call under a permit of a source that this library knows nothing more about: heard by the standard dialect, and
 * handed on whatever it is.
 *
 * <p>The permit is here, or it is over: whoever comes second, the grant or a cancel, gives it back.
 */
final class PermittedExchange implements Exchange {

    private final PermitSource shown;
    private final AtomicReference<@Nullable Object> state = new AtomicReference<>();
    private volatile boolean held;

    private PermittedExchange(PermitSource shown) {
        this.shown = shown;
    }

    static <T> Flux<T> of(Mono<Permit> permits, PermitSource shown, Sources.Use<T> use) {
        return Flux.defer(() -> {
            PermittedExchange exchange = new PermittedExchange(shown);
            return permits.doOnNext(exchange::granted)
                    .flatMapMany(permit -> exchange.permit() == null
                            ? Flux.empty()
                            : use.call().apply(exchange))
                    .doFinally(how -> exchange.ended());
        });
    }

    private void granted(Permit permit) {
        if (!state.compareAndSet(null, permit)) {
            permit.release();
        }
    }

    private @Nullable Permit permit() {
        return state.get() instanceof Permit permit ? permit : null;
    }

    private void ended() {
        if (!held) {
            release();
        }
    }

    private void release() {
        if (state.getAndSet(this) instanceof Permit permit) {
            permit.release();
        }
    }

    @Override
    public PermitSource source() {
        return shown;
    }

    @Override
    public void sent() {
        Permit permit = permit();
        if (permit != null) {
            permit.sent();
        }
    }

    @Override
    public void settle(String unit, long actual) {
        Permit permit = permit();
        if (permit != null) {
            permit.settle(unit, actual);
        }
    }

    @Override
    public void hear(RateLimitSignal signal) {
        Permit permit = permit();
        if (permit != null) {
            permit.hear(signal);
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
        return 1;
    }
}
