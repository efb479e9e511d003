package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import org.jspecify.annotations.Nullable;

/** A try as the adapter sees it that carries it out: what is told of it, and how long it may take. */
abstract class TriedExchange extends Try implements Exchange {

    /** How long a client may take to free a response that is not handed on. */
    private static final long DRAIN_NANOS = 1_000_000_000L;

    /** Says of a response that is handed on, so never drained, that its permit outlasts the answer. */
    private enum Lending implements Runnable {
        HELD;

        @Override
        public void run() {}
    }

    /** What ends the attempt when the time to drain is over; one of our own, an adapter's, or that there is none. */
    volatile @Nullable Runnable draining;

    TriedExchange(Demand demand, @Nullable Retries retries) {
        super(demand, retries);
    }

    /** A call has one verdict on an attempt: that of the source's first signal, or that of the timeout. */
    abstract boolean isInTime();

    @Override
    public void sending() {
        admission().answers().sending(this);
    }

    @Override
    public void sent() {
        if (admission().answers().sent(this)) {
            watch(); // Once: a redirect is written too, and gets no time of its own.
        }
    }

    @Override
    public PermitSource source() {
        return operator().source();
    }

    @Override
    public void settle(String unit, long actual) {
        admission().answers().settle(this, unit, actual);
    }

    @Override
    public void hear(RateLimitSignal signal) {
        if (!isHeardInside()) {
            admission().answers().hear(this, signal, 0, false);
        }
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        return operator().bodyBytes(status, headers);
    }

    @Override
    public Verdict head(int status, Headers headers) {
        return head(operator().read(status, headers));
    }

    @Override
    public Verdict head(int status, Headers headers, byte[] body) {
        return head(operator().read(status, headers, body, Integer.MAX_VALUE));
    }

    private Verdict head(RateLimitSignal signal) {
        if (!isInTime()) {
            return Verdict.discard(Again.INSTANCE); // Nobody listens any more.
        }
        headed = true;
        Throwable failure = judge(signal);
        if (failure == null) {
            return Verdict.PASS;
        }
        behind().sentence(failure);
        return Verdict.discard(failure);
    }

    @Override
    public void draining(Runnable over) {
        draining = over;
        watchDraining();
    }

    @Override
    public void failing(Failure failure) {
        behind().told(failure);
    }

    @Override
    public Runnable hold() {
        draining = Lending.HELD;
        return () -> admission().release(this);
    }

    @Override
    public void unrepeatable() {
        behind().usedUp();
    }

    @Override
    public int attempt() {
        return number();
    }

    /** Whether its permit outlasts the answer. */
    final boolean lends() {
        return draining == Lending.HELD;
    }

    // ---------------------------------------------------------------------------------------------------- its time

    /** From now on it has so long to its head. */
    final void watch() {
        long longest = longestNanos();
        if (longest != Exact.NEVER && !headed) {
            admission().answers().watch(this, longest, false);
        }
    }

    /** How long this attempt has to its head: once it is sent the attempt timeout, and what is left of the deadline. */
    final long longestNanos() {
        RetryPolicy policy = operator().policy();
        Retries behind = retries;
        long deadline = policy.deadlineNanos();
        long left = behind != null
                ? behind.leftNanos(sentAt)
                : deadline == Exact.NEVER ? Exact.NEVER : Math.max(0, deadline - (sentAt - joinedAt));
        // An inner operator times its own attempts, and its waits for permits are none of them.
        return isHeardInside() || !isSent() ? left : Math.min(policy.timeoutNanos(), left);
    }

    /** Whether it is sent, or has to be taken for sent because nobody tells. */
    final boolean isSent() {
        return tells() != Tells.SENDING || phase != Phase.UNSENT;
    }

    /** From now on a response that is not handed on has so long to be freed. */
    final void watchDraining() {
        admission().answers().watch(this, DRAIN_NANOS, true);
    }
}
