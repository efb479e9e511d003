package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.publisher.Operators;

/**
 * A try as its caller holds it: it is requested and cancelled long before there is a source, and the source may be replaced
 * by the loop of further attempts. One state machine decides between a cancel and all that can come in its way.
 *
 * <pre>
 *                                                  a signal of the source came first
 *   IDLE ──request──► WAITING ──granted──► RUNNING ──────────► ANSWERED ──┐
 *                        │ refused            └──────────────► OVERDUE  ──┼──► DONE
 *                        ▼                     the timeout came first     │
 *                       DONE                                              └──► HANDED_ON
 *   cancel: from anywhere but DONE to CANCELLED         to be tried again: the first attempt
 *                                                       goes on as the loop's subscription
 *   ANSWERED ──its body to come──► LENT, until somebody gives the permit back
 * </pre>
 *
 * The source is subscribed only after the step from WAITING over TELLING to RUNNING. Whoever loses the first of them
 * against a cancel does nothing: the cancel gives back. Whoever loses the second gives back.
 */
abstract class TriedSubscription extends TriedExchange implements Subscription {

    static final int IDLE = 0;
    static final int WAITING = 1;
    static final int RUNNING = 2;
    static final int DONE = 3;
    static final int HANDED_ON = 4;
    static final int CANCELLED = 5;
    static final int ANSWERED = 6;
    static final int OVERDUE = 7;
    static final int LENT = 8;
    static final int TELLING = 9;

    private static final AtomicIntegerFieldUpdater<TriedSubscription> STATE =
            AtomicIntegerFieldUpdater.newUpdater(TriedSubscription.class, "state");

    private static final AtomicReferenceFieldUpdater<TriedSubscription, Subscription> UPSTREAM =
            AtomicReferenceFieldUpdater.newUpdater(TriedSubscription.class, Subscription.class, "upstream");

    private volatile int state;
    private volatile @Nullable Subscription upstream;

    TriedSubscription(Demand demand, @Nullable Retries retries) {
        super(demand, retries);
    }

    /** Asks for its permit; once, when something is requested first. */
    abstract void ask();

    /** How long it may wait for its permit. */
    long patienceNanos() {
        Retries behind = retries;
        return behind == null
                ? Math.min(demand.maxWaitNanos(), operator().policy().deadlineNanos())
                : behind.leftNanos(admission().now());
    }

    @Override
    final boolean leavesBreakers() {
        Patience patience = operator().patience();
        return patience != null && patience.leavesBreakers();
    }

    /** Notes what is requested; a call for a single element needs to know no more than that it was. */
    void note(long n) {}

    /** What is requested so far, for a source that is only now subscribed. */
    long noted() {
        return Long.MAX_VALUE;
    }

    // ------------------------------------------------------------------------------------------------- its states

    final int state() {
        return state;
    }

    /** False if somebody else was first. */
    final boolean step(int from, int to) {
        return STATE.compareAndSet(this, from, to);
    }

    @Override
    final boolean isInTime() {
        return state == ANSWERED || step(RUNNING, ANSWERED);
    }

    // --------------------------------------------------------------------------------------------- its downstream

    @Override
    public final void request(long n) {
        if (!Operators.validate(n)) {
            return;
        }
        Subscription running;
        synchronized (this) {
            note(n);
            running = upstream;
        }
        if (running != null) {
            running.request(n);
        } else if (step(IDLE, WAITING)) {
            ask();
        }
    }

    @Override
    public final void cancel() {
        int before = state;
        while (before != DONE && before != CANCELLED && !step(before, CANCELLED)) {
            before = state;
        }
        switch (before) {
            case WAITING -> admission().cancel(this);
            case RUNNING, ANSWERED, OVERDUE -> {
                cancelSource();
                if (draining instanceof Draining drain) {
                    drain.dispose();
                }
                admission().abort(this);
            }
            case HANDED_ON -> {
                cancelSource();
                behind().abandon();
            }
            case LENT -> {
                cancelSource();
                admission().release(this);
            }
            default -> {}
        }
    }

    // ----------------------------------------------------------------------------------------------- its upstream

    /** Takes a subscription for upstream and requests what was requested so far; one that comes too late is cancelled. */
    final void adopt(Subscription subscription, int expected) {
        long n = 0;
        synchronized (this) {
            // A head may be told before the source is subscribed.
            boolean takes = state == expected || (expected == RUNNING && state == ANSWERED);
            if (takes && UPSTREAM.compareAndSet(this, null, subscription)) {
                n = noted();
            }
        }
        if (n > 0) {
            subscription.request(n);
        } else {
            subscription.cancel();
        }
    }

    /** For good: nothing else takes its place. */
    final void cancelSource() {
        Operators.terminate(UPSTREAM, this);
    }

    /** Makes room for the subscription of the loop; a source that is cancelled is so before its permit serves another. */
    final void leaveSource(boolean early) {
        if (early && state == DONE) {
            cancelSource();
            return;
        }
        Subscription over;
        synchronized (this) {
            over = upstream;
            if (over != null && over != Operators.cancelledSubscription()) {
                UPSTREAM.compareAndSet(this, over, null);
            }
        }
        if (early && over != null) {
            over.cancel();
        }
    }

    /** Its source was cancelled, and did not end by itself. */
    final boolean isSourceCancelled() {
        return upstream == Operators.cancelledSubscription();
    }
}
