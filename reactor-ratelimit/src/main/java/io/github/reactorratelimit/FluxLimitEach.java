package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/** A Flux each of whose elements takes a permit. One element is under way at a time. */
final class FluxLimitEach<T> extends Flux<T> {

    private final Admission admission;
    private final Demand demand;
    private final long maxWaitNanos;
    private final Publisher<? extends T> source;

    private FluxLimitEach(Admission admission, Demand demand, long maxWaitNanos, Publisher<? extends T> source) {
        this.admission = admission;
        this.demand = demand;
        this.maxWaitNanos = maxWaitNanos;
        this.source = source;
    }

    static <T> Flux<T> assemble(Admission admission, Demand demand, long maxWaitNanos, Publisher<? extends T> source) {
        return onAssembly(new FluxLimitEach<>(admission, demand, maxWaitNanos, source));
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        source.subscribe(new Pacing<T>(admission, demand, maxWaitNanos, actual));
    }

    /**
     * Takes one element when there is demand, lets it wait for its permit, hands it on, and takes the next. Whoever comes
     * while a step is being taken leaves it to the one who takes it.
     */
    private static final class Pacing<T> implements CoreSubscriber<T>, Subscription {

        @SuppressWarnings("rawtypes")
        private static final AtomicIntegerFieldUpdater<Pacing> WORK =
                AtomicIntegerFieldUpdater.newUpdater(Pacing.class, "work");

        @SuppressWarnings("rawtypes")
        private static final AtomicLongFieldUpdater<Pacing> REQUESTED =
                AtomicLongFieldUpdater.newUpdater(Pacing.class, "requested");

        private final Admission admission;
        private final Demand demand;
        private final long maxWaitNanos;
        private final CoreSubscriber<? super T> actual;
        private @Nullable Subscription upstream;

        @SuppressWarnings("UnusedVariable") // Read through WORK.
        private volatile int work;

        private volatile long requested;
        private volatile boolean cancelled;
        private volatile boolean completed;
        private @Nullable Throwable failure;
        private volatile @Nullable Element<T> element;
        /** One is asked for from upstream and not here yet; only the one who takes steps touches it. */
        private boolean asked;

        private boolean over;

        Pacing(Admission admission, Demand demand, long maxWaitNanos, CoreSubscriber<? super T> actual) {
            this.admission = admission;
            this.demand = demand;
            this.maxWaitNanos = maxWaitNanos;
            this.actual = actual;
        }

        @Override
        public Context currentContext() {
            return actual.currentContext();
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            if (Operators.validate(upstream, subscription)) {
                upstream = subscription;
                actual.onSubscribe(this);
            }
        }

        @Override
        public void request(long n) {
            if (Operators.validate(n)) {
                Operators.addCap(REQUESTED, this, n);
                steps();
            }
        }

        @Override
        public void cancel() {
            cancelled = true;
            Subscription source = upstream;
            if (source != null) {
                source.cancel();
            }
            steps();
        }

        @Override
        public void onNext(T value) {
            if (cancelled) {
                Operators.onDiscard(value, currentContext());
                return;
            }
            if (completed || element != null) {
                Operators.onNextDropped(value, currentContext());
                return;
            }
            element = new Element<>(this, value);
            steps();
        }

        @Override
        public void onError(Throwable error) {
            if (completed) {
                Operators.onErrorDropped(error, currentContext());
                return;
            }
            failure = error;
            completed = true;
            steps();
        }

        @Override
        public void onComplete() {
            completed = true;
            steps();
        }

        private void steps() {
            if (WORK.getAndIncrement(this) != 0) {
                return;
            }
            int missed = 1;
            do {
                step();
                missed = WORK.addAndGet(this, -missed);
            } while (missed != 0);
        }

        private void step() {
            Element<T> here = element;
            if (cancelled || over) {
                over = true;
                if (here != null) { // It may come in the instant of the cancel, or after a refusal.
                    element = null;
                    here.discard();
                }
            } else if (here != null) {
                asked = false;
                if (here.isNew()) {
                    here.ask();
                } else if (here.refused() != null) {
                    here.tellRefused();
                    fail(here, here.refused());
                } else if (here.isGranted()) {
                    handOn(here);
                }
            } else if (completed) {
                over = true;
                if (failure == null) {
                    actual.onComplete();
                } else {
                    actual.onError(failure);
                }
            } else if (!asked && requested > 0 && upstream != null) {
                asked = true;
                upstream.request(1);
            }
        }

        private void handOn(Element<T> here) {
            element = null;
            if (requested != Long.MAX_VALUE) {
                REQUESTED.decrementAndGet(this);
            }
            admission.granted(here);
            try {
                actual.onNext(here.value);
            } finally {
                here.release();
            }
            WORK.incrementAndGet(this);
        }

        private void fail(Element<T> here, @Nullable Throwable error) {
            over = true;
            element = null;
            if (upstream != null) {
                upstream.cancel();
            }
            Operators.onDiscard(here.value, currentContext());
            actual.onError(error == null ? new IllegalStateException("refused without a reason") : error);
        }
    }

    /** One element and its permit. */
    private static final class Element<T> extends Ticket {

        private final Pacing<T> pacing;
        private final T value;
        private boolean asked;
        private volatile boolean decided;
        private @Nullable Throwable failed;

        Element(Pacing<T> pacing, T value) {
            super(pacing.demand);
            this.pacing = pacing;
            this.value = value;
        }

        @Override
        Tells tells() {
            return Tells.NOTHING;
        }

        boolean isNew() {
            return !asked;
        }

        boolean isGranted() {
            return decided;
        }

        @Nullable
        Throwable refused() {
            return decided ? failed : null;
        }

        void ask() {
            asked = true;
            try {
                String lane = RateLimitContext.laneOf(pacing.currentContext());
                pacing.admission.acquire(this, lane, 0, pacing.maxWaitNanos);
            } catch (Throwable e) {
                Exceptions.throwIfFatal(e);
                failAsking(e);
            }
        }

        @Override
        boolean failAsking(Throwable error) {
            failed = error;
            decided = true;
            pacing.steps();
            return true;
        }

        @Override
        void emit() {
            failed = refusal();
            decided = true;
            pacing.steps();
        }

        void release() {
            pacing.admission.release(this);
        }

        void tellRefused() {
            RateLimitException why = refusal();
            if (why != null) { // Else it failed while it asked.
                pacing.admission.refused(this, why);
            }
        }

        void discard() {
            pacing.admission.cancel(this);
            Operators.onDiscard(value, pacing.currentContext());
        }
    }
}
