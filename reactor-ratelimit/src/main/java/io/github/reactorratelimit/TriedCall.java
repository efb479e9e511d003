package io.github.reactorratelimit;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.util.context.Context;

/**
 * A try as the admission sees it: it asks for its permit, is told what was decided, subscribes its source once it is
 * granted, and hears when its time is over.
 */
abstract class TriedCall<T> extends TriedSubscription implements CoreSubscriber<T> {

    final Limited<T> limited;
    final CoreSubscriber<? super T> actual;

    TriedCall(Limited<T> limited, Demand demand, CoreSubscriber<? super T> actual, @Nullable Retries retries) {
        super(demand, retries);
        this.limited = limited;
        this.actual = actual;
    }

    /**
     * Ends the attempt, in an error or in another attempt; false if it was over already.
     *
     * @param early the source is not at its end and has to be cancelled
     */
    abstract boolean end(Throwable outcome, boolean early);

    /** Whether it is the call's first attempt, and so the caller's subscription: all others stand at the front. */
    boolean isFirst() {
        return !front;
    }

    @Override
    final RateLimitOperator operator() {
        return limited.operator();
    }

    @Override
    final Tells tells() {
        return limited.tells();
    }

    final Context callersContext() {
        return actual.currentContext();
    }

    @Override
    final void ask() {
        Retries behind = retries;
        try {
            long longest = patienceNanos();
            long rest = behind == null ? 0 : behind.takeRest();
            if (longest == 0 && behind != null && behind.leftNanos(admission().now()) == 0) {
                rest = Math.max(1, rest); // The deadline is here: even a free permit comes too late.
            }
            if (operator().failsFast()) {
                longest = Math.min(longest, rest);
            }
            Patience patience = operator().patience();
            if (patience != null) {
                longest = Math.min(longest, patience.leftNanos());
            }
            admission().acquire(this, RateLimitContext.laneOf(actual.currentContext()), rest, longest);
        } catch (Throwable e) {
            Exceptions.throwIfFatal(e);
            if (!failAsking(e)) {
                throw e;
            }
        }
    }

    @Override
    final boolean failAsking(Throwable error) {
        boolean wanted = step(WAITING, DONE);
        if (wanted) {
            actual.onError(error);
        }
        return wanted;
    }

    @Override
    final void emit() {
        int state = state();
        if (state == RUNNING || state == ANSWERED) {
            overdue();
            return;
        }
        RateLimitException refused = refusal();
        if (!step(WAITING, refused == null ? TELLING : DONE)) {
            return;
        }
        Patience patience = operator().patience();
        if (patience != null) {
            patience.spend(
                    refused == null
                            ? sentAt - joinedAt
                            : slot == null ? 0 : admission().now() - joinedAt);
        }
        if (refused == null) {
            tellGranted();
        } else {
            admission().refused(this, refused);
            Retries behind = retries;
            Throwable last = behind == null ? null : behind.last();
            actual.onError(behind == null || last == null ? refused : refused.after(last, behind.maybeSent()));
        }
    }

    /** A cancel that comes meanwhile leaves it to this thread to give back: nothing is told of a permit before its grant. */
    private void tellGranted() {
        if (retries != null) {
            retries.attempted(sentAt - joinedAt);
        }
        admission().granted(this);
        if (step(TELLING, RUNNING)) {
            run();
        } else {
            admission().withdraw(this);
        }
    }

    private void run() {
        if (tells() == Tells.SENDING && operator().policy().deadlineNanos() != Exact.NEVER) {
            watch(); // The timeout starts with sending, but the deadline doesn't wait for that.
        }
        try {
            limited.opened(this).subscribe(this);
        } catch (Throwable e) {
            // No publisher, or one that throws instead of failing: nobody else would ever end this attempt.
            Exceptions.throwIfFatal(e);
            onError(e);
            return;
        }
        if (tells() != Tells.SENDING && state() == RUNNING) {
            watch();
        }
    }

    /** The attempt timeout is over, or the time to drain. */
    private void overdue() {
        Runnable over = draining;
        long longest = longestNanos();
        if (over != null) {
            over.run();
        } else if (admission().now() - sentAt >= longest && step(RUNNING, OVERDUE)) {
            if (longest == operator().policy().timeoutNanos()) {
                admission().answers().timedOut(this); // A deadline of the caller's own says nothing about the server.
            }
            end(judge(new AttemptTimeoutException(name(), keys(), Duration.ofNanos(longest), !isSurelyUnsent())), true);
        }
    }
}
