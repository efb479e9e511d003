package io.github.reactorratelimit;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * A permit of a source that this library knows nothing about, for whoever has only so much patience. Such a source may not
 * keep to the longest wait that it is told, and doesn't tell how long it waited: it is left when the time is over, and a
 * permit that comes after that goes back.
 */
final class MonoAcquireForeign extends Mono<Permit> {

    private final PermitSource source;
    private final Demand demand;
    private final Patience patience;

    MonoAcquireForeign(PermitSource source, Demand demand, Patience patience) {
        this.source = source;
        this.demand = demand;
        this.patience = patience;
    }

    @Override
    public void subscribe(CoreSubscriber<? super Permit> actual) {
        actual.onSubscribe(new Waiting(this, actual));
    }

    /** It waits, or it is over: whoever comes first, the answer, a cancel or the end of the time, decides. */
    private static final class Waiting implements CoreSubscriber<Permit>, Subscription, Runnable {

        private static final AtomicIntegerFieldUpdater<Waiting> STATE =
                AtomicIntegerFieldUpdater.newUpdater(Waiting.class, "state");

        private static final int NEW = 0;
        private static final int WAITING = 1;
        private static final int OVER = 2;

        private final MonoAcquireForeign asking;
        private final CoreSubscriber<? super Permit> actual;
        private volatile int state;
        private volatile @Nullable Subscription upstream;
        private volatile @Nullable Disposable timer;
        private long askedAt;
        private long longest;

        Waiting(MonoAcquireForeign asking, CoreSubscriber<? super Permit> actual) {
            this.asking = asking;
            this.actual = actual;
        }

        @Override
        public Context currentContext() {
            return actual.currentContext();
        }

        @Override
        public void request(long n) {
            if (!Operators.validate(n) || !STATE.compareAndSet(this, NEW, WAITING)) {
                return;
            }
            Patience patience = asking.patience;
            askedAt = patience.nowNanos();
            Demand asked = asking.demand.waitAtMost(patience.leftNanos());
            longest = asked.maxWaitNanos();
            Mono.defer(() -> asking.source.acquire(asked)).subscribe(this);
            if (longest != Exact.NEVER && state == WAITING) {
                set(patience);
            }
        }

        private void set(Patience patience) {
            try {
                timer = patience.scheduler().schedule(this, longest, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException e) {
                return; // There is no time any more that it could go by.
            }
            if (state == OVER) {
                stop();
            }
        }

        /** Whether this is the first that ends it. */
        private boolean over() {
            boolean first = STATE.getAndSet(this, OVER) != OVER;
            if (first) {
                asking.patience.spend(asking.patience.nowNanos() - askedAt);
                stop();
            }
            return first;
        }

        private void stop() {
            Disposable set = timer;
            if (set != null) {
                set.dispose();
            }
        }

        private void leave() {
            Subscription asked = upstream;
            if (asked != null) {
                asked.cancel();
            }
        }

        @Override
        public void onSubscribe(Subscription asked) {
            if (!Operators.validate(upstream, asked)) {
                return;
            }
            upstream = asked;
            if (state == OVER) {
                asked.cancel();
            } else {
                asked.request(Long.MAX_VALUE);
            }
        }

        @Override
        public void onNext(Permit permit) {
            if (over()) {
                actual.onNext(permit);
                actual.onComplete();
            } else {
                permit.release();
            }
        }

        @Override
        public void onError(Throwable error) {
            if (over()) {
                actual.onError(error);
            }
        }

        @Override
        public void onComplete() {
            if (over()) {
                actual.onComplete();
            }
        }

        @Override
        public void cancel() {
            if (STATE.getAndSet(this, OVER) != OVER) {
                stop();
                leave();
            }
        }

        /** The time is over. */
        @Override
        public void run() {
            if (over()) {
                leave();
                actual.onError(Refusals.noAnswer(asking.source, longest));
            }
        }
    }
}
