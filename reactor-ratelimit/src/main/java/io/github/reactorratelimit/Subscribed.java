package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;

/**
 * A bare permit as one subscription: asks when it is requested, and gives back what comes after a cancel.
 *
 * <pre>
 *   IDLE ──request──► ASKED ──decided──► DONE     (cancel ends both at once, and the loser of the two gives back)
 * </pre>
 */
abstract class Subscribed<T> extends BarePermit implements Subscription {

    @SuppressWarnings("rawtypes")
    private static final AtomicIntegerFieldUpdater<Subscribed> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Subscribed.class, "state");

    private static final int IDLE = 0;
    private static final int ASKED = 1;
    private static final int DONE = 2;

    final CoreSubscriber<? super T> actual;

    @SuppressWarnings("UnusedVariable") // Read through STATE.
    private volatile int state;

    Subscribed(Admission admission, Demand demand, CoreSubscriber<? super T> actual) {
        super(admission, demand);
        this.actual = actual;
    }

    @Override
    public final void request(long n) {
        if (!Operators.validate(n) || !STATE.compareAndSet(this, IDLE, ASKED)) {
            return;
        }
        try {
            @Nullable String lane = RateLimitContext.laneOf(actual.currentContext());
            admission.acquire(this, lane, 0, longestNanos());
        } catch (Throwable e) {
            Exceptions.throwIfFatal(e);
            if (!failAsking(e)) {
                throw e;
            }
        }
    }

    @Override
    final boolean failAsking(Throwable error) {
        boolean wanted = STATE.compareAndSet(this, ASKED, DONE);
        if (wanted) {
            actual.onError(error);
        }
        return wanted;
    }

    @Override
    public final void cancel() {
        if (STATE.getAndSet(this, DONE) == ASKED) {
            admission.cancel(this);
        }
    }

    @Override
    final void emit() {
        if (!STATE.compareAndSet(this, ASKED, DONE)) {
            return;
        }
        RateLimitException refused = refusal();
        if (refused == null) {
            admission.granted(this);
            tellGranted();
        } else {
            admission.refused(this, refused);
            tellRefused(refused);
        }
    }

    /** How long it may wait. */
    abstract long longestNanos();

    abstract void tellGranted();

    void tellRefused(RateLimitException refused) {
        actual.onError(refused);
    }

    final void tell(T value) {
        actual.onNext(value);
        actual.onComplete();
    }
}
