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
    private final @Nullable Patience patience;

    MonoAcquire(Admission admission, Demand demand, @Nullable Patience patience) {
        this.admission = admission;
        this.demand = demand;
        this.patience = patience;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Permit> actual) {
        actual.onSubscribe(
                patience == null
                        ? new Acquiring(admission, demand, actual)
                        : new Impatient(admission, demand, actual, patience));
    }

    /**
     * IDLE ─request─► ASKED ─grant─► DONE; cancel ends both at once, and the loser of the two gives back.
     */
    private static class Acquiring extends BarePermit implements Subscription {

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
        public final void request(long n) {
            if (!Operators.validate(n) || !STATE.compareAndSet(this, IDLE, ASKED)) {
                return;
            }
            try {
                @Nullable String lane = RateLimitContext.laneOf(actual.currentContext());
                admission.acquire(this, lane, 0, longestNanos());
            } catch (RuntimeException e) {
                if (!STATE.compareAndSet(this, ASKED, DONE)) {
                    throw e;
                }
                actual.onError(e);
            }
        }

        @Override
        public final void cancel() {
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

        long longestNanos() {
            return demand.maxWaitNanos();
        }
    }

    /** One that may wait no longer than whoever asks has patience. */
    private static final class Impatient extends Acquiring {

        private final Patience patience;

        Impatient(Admission admission, Demand demand, CoreSubscriber<? super Permit> actual, Patience patience) {
            super(admission, demand, actual);
            this.patience = patience;
        }

        @Override
        boolean leavesBreakers() {
            return patience.leavesBreakers();
        }

        @Override
        long longestNanos() {
            return Math.min(super.longestNanos(), patience.leftNanos());
        }

        @Override
        void emit() {
            patience.spend(refusal() == null ? sentAt - joinedAt : slot == null ? 0 : admission.now() - joinedAt);
            super.emit();
        }
    }
}
