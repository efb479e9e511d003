package io.github.reactorratelimit;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;

/**
 * The one timer of a limiter. A pass says when it wants to be woken; the timer is set afterwards, outside the monitor,
 * because setting or disposing one can run other tasks on the spot. A ring only starts a pass, and the pass asks again.
 *
 * <p>An alarm that is set too early is left alone: it rings, finds nothing, and is set anew.
 */
final class Alarm {

    private static final AtomicIntegerFieldUpdater<Alarm> WORK =
            AtomicIntegerFieldUpdater.newUpdater(Alarm.class, "work");

    private final Consumer<Ring> onRing;
    private final Consumer<RejectedExecutionException> onRejected;
    private volatile @Nullable Wish wish;
    private volatile @Nullable Ring armed;

    @SuppressWarnings("UnusedVariable") // Read through WORK.
    private volatile int work;

    Alarm(Consumer<Ring> onRing, Consumer<RejectedExecutionException> onRejected) {
        this.onRing = onRing;
        this.onRejected = onRejected;
    }

    /**
     * Says when the pass wants to be woken, {@link Exact#NEVER} for not at all; under the monitor.
     *
     * @return whether {@link #set} has to be called after the pass
     */
    boolean want(long at, LimiterClock.Anchor anchor) {
        Wish before = wish;
        if (at == Exact.NEVER) {
            if (before == null) { // As nearly always; a volatile write would be felt.
                return armed != null;
            }
            wish = null;
        } else if (before == null || at < before.at || !before.anchor.equals(anchor) || !satisfies(armed, before)) {
            wish = new Wish(at, anchor);
        }
        return !satisfies(armed, wish);
    }

    /** A scheduler that was disposed never rings: its timer is set anew, which it rejects. Outside the monitor. */
    void check() {
        Ring ring = armed;
        if (ring != null && ring.wish.anchor.scheduler().isDisposed()) {
            ring.heard();
            set();
        }
    }

    /** Sets the timer as was wanted last. Threads that come meanwhile leave it to the first. */
    void set() {
        if (WORK.getAndIncrement(this) != 0) {
            return;
        }
        int missed = 1;
        do {
            Wish wanted = wish;
            while (!satisfies(armed, wanted)) {
                arm(wanted);
                wanted = wish;
            }
            missed = WORK.addAndGet(this, -missed);
        } while (missed != 0);
    }

    private static boolean satisfies(@Nullable Ring ring, @Nullable Wish wish) {
        if (ring == null || wish == null) {
            return ring == null && wish == null;
        }
        return !ring.rung && ring.wish.at <= wish.at && ring.wish.anchor.equals(wish.anchor);
    }

    private void arm(@Nullable Wish wanted) {
        Ring old = armed;
        armed = null;
        if (old != null) {
            old.dispose();
        }
        if (wanted == null) {
            return;
        }
        Ring ring = new Ring(wanted);
        armed = ring;
        LimiterClock.Anchor anchor = wanted.anchor;
        try {
            ring.timer = anchor.scheduler().schedule(ring, anchor.delayUntil(wanted.at), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            armed = null;
            wish = null;
            onRejected.accept(e);
        }
    }

    private record Wish(long at, LimiterClock.Anchor anchor) {}

    /** One setting of the timer. It may ring before {@code schedule} has returned. */
    final class Ring implements Runnable {

        private final Wish wish;
        private volatile boolean rung;
        private @Nullable Disposable timer;

        private Ring(Wish wish) {
            this.wish = wish;
        }

        @Override
        public void run() {
            onRing.accept(this);
        }

        /** It is heard; under the monitor, at the start of the pass that it causes. */
        void heard() {
            rung = true;
        }

        private void dispose() {
            if (timer != null && !rung) {
                timer.dispose();
            }
        }
    }
}
