package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/** A bare permit as a Mono: asks when it is requested, and gives back what comes after a cancel. */
final class MonoAcquire extends Mono<Permit> {

    private final Admission admission;
    private final Demand demand;

    MonoAcquire(Admission admission, Demand demand) {
        this.admission = admission;
        this.demand = demand;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Permit> actual) {
        actual.onSubscribe(new Acquiring(admission, demand, actual));
    }

    /**
     * IDLE ─request─► ASKED ─grant─► DONE; cancel ends both at once, and the loser of the two gives back.
     */
    private static final class Acquiring extends BarePermit implements Subscription {

        private static final AtomicIntegerFieldUpdater<Acquiring> STATE =
                AtomicIntegerFieldUpdater.newUpdater(Acquiring.class, "state");
        private static final int IDLE = 0;
        private static final int ASKED = 1;
        private static final int DONE = 2;

        private final CoreSubscriber<? super Permit> actual;

        @SuppressWarnings("UnusedVariable") // Read through STATE.
        private volatile int state;

        Acquiring(Admission admission, Demand demand, CoreSubscriber<? super Permit> actual) {
            super(admission, demand);
            this.actual = actual;
        }

        @Override
        public void request(long n) {
            if (!Operators.validate(n) || !STATE.compareAndSet(this, IDLE, ASKED)) {
                return;
            }
            try {
                @Nullable String lane = RateLimitContext.laneOf(actual.currentContext());
                admission.acquire(this, lane, 0, demand.maxWaitNanos());
            } catch (RuntimeException e) {
                if (!STATE.compareAndSet(this, ASKED, DONE)) {
                    throw e;
                }
                actual.onError(e);
            }
        }

        @Override
        public void cancel() {
            if (STATE.getAndSet(this, DONE) == ASKED) {
                admission.cancel(this);
            }
        }

        @Override
        void emit() {
            if (!STATE.compareAndSet(this, ASKED, DONE)) {
                return;
            }
            RateLimitException refused = refusal();
            if (refused != null) {
                admission.refused(this, refused);
                actual.onError(refused);
            } else {
                admission.granted(this);
                actual.onNext(this);
                actual.onComplete();
            }
        }
    }
}
