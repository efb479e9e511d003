package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * One attempt of one call: its ticket, its permit and the subscriber of its source in one object, and one state machine.
 *
 * <pre>
 *   IDLE ──request──► WAITING ──granted──► RUNNING ──over──► DONE
 *                        │ refused            │ to be tried again: the first attempt goes on as the
 *                        ▼                    ▼ subscription of the retry loop
 *                       DONE               HANDED ON
 *   cancel: from anywhere to CANCELLED
 * </pre>
 *
 * The source is subscribed only after the step from WAITING to RUNNING. Whoever loses that step against a cancel does
 * nothing: the cancel gives back.
 */
final class Attempt<T> extends Ticket implements CoreSubscriber<T>, Subscription, Exchange {

    private static final int IDLE = 0;
    private static final int WAITING = 1;
    private static final int RUNNING = 2;
    private static final int DONE = 3;
    private static final int HANDED_ON = 4;
    private static final int CANCELLED = 5;

    @SuppressWarnings("rawtypes")
    private static final AtomicIntegerFieldUpdater<Attempt> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Attempt.class, "state");

    @SuppressWarnings("rawtypes")
    private static final AtomicReferenceFieldUpdater<Attempt, Subscription> UPSTREAM =
            AtomicReferenceFieldUpdater.newUpdater(Attempt.class, Subscription.class, "upstream");

    @SuppressWarnings("rawtypes")
    private static final AtomicIntegerFieldUpdater<Attempt> JUDGED_BY =
            AtomicIntegerFieldUpdater.newUpdater(Attempt.class, "judgedBy");

    private static final int NOBODY = 0;
    private static final int SOURCE = 1;
    private static final int TIMEOUT = 2;

    private static final RateLimitSignal NOTHING = RateLimitSignal.none(0);

    private final Limited<T> limited;
    private final CoreSubscriber<? super T> actual;
    private final boolean first;
    private @Nullable Retries retries;
    private @Nullable Context context;
    private @Nullable Draining draining;
    private @Nullable Throwable verdict;
    private long requested;
    private volatile int state;
    private volatile @Nullable Subscription upstream;
    /** Who came first, a signal of the source or the timeout: a call has one verdict on an attempt. */
    private volatile int judgedBy;

    private volatile boolean headed;
    private boolean emitted;
    /** Its response is no success, even if it is handed on. */
    private boolean failed;
    /** An inner operator has heard the response, and maybe retried. */
    private volatile boolean heardInside;

    private volatile boolean retriedInside;

    Attempt(Limited<T> limited, Demand demand, CoreSubscriber<? super T> actual, @Nullable Retries retries) {
        super(demand, limited.tells());
        this.limited = limited;
        this.actual = actual;
        this.first = retries == null;
        this.retries = retries;
        this.front = retries != null;
    }

    // ------------------------------------------------------------------------------------------- as a subscription

    @Override
    public void request(long n) {
        if (!Operators.validate(n)) {
            return;
        }
        Subscription running;
        synchronized (this) {
            requested = Operators.addCap(requested, n);
            running = upstream;
        }
        if (running != null) {
            running.request(n);
        } else if (STATE.compareAndSet(this, IDLE, WAITING)) {
            ask();
        }
    }

    private void ask() {
        Admission admission = admission();
        RetryPolicy policy = limited.operator().policy();
        try {
            Retries behind = retries;
            long longest = behind == null
                    ? Math.min(demand.maxWaitNanos(), policy.deadlineNanos())
                    : behind.leftNanos(admission.now());
            long rest = behind == null ? 0 : behind.restNanos();
            if (behind != null && longest == 0) {
                rest = Math.max(1, rest); // The deadline is here: even a free permit comes too late.
            }
            admission.acquire(this, RateLimitContext.laneOf(actual.currentContext()), rest, longest);
        } catch (RuntimeException e) {
            if (!STATE.compareAndSet(this, WAITING, DONE)) {
                throw e;
            }
            actual.onError(e);
        }
    }

    @Override
    public void cancel() {
        int before = state;
        while (before != DONE && before != CANCELLED && !STATE.compareAndSet(this, before, CANCELLED)) {
            before = state;
        }
        switch (before) {
            case WAITING -> admission().cancel(this);
            case RUNNING -> {
                Operators.terminate(UPSTREAM, this);
                Draining drain = draining;
                if (drain != null) {
                    drain.cancel();
                }
                admission().abort(this);
            }
            case HANDED_ON -> {
                Operators.terminate(UPSTREAM, this);
                behind().abandon();
            }
            default -> {}
        }
    }

    // ------------------------------------------------------------------------------------------------- as a ticket

    @Override
    void emit() {
        if (timedOut) {
            overdue();
            return;
        }
        RateLimitException refused = refusal;
        if (!STATE.compareAndSet(this, WAITING, refused == null ? RUNNING : DONE)) {
            return;
        }
        if (refused == null) {
            run();
        } else {
            Retries behind = retries;
            Throwable last = behind == null ? null : behind.last();
            actual.onError(behind == null || last == null ? refused : refused.after(last, behind.maybeSent()));
        }
    }

    private void run() {
        if (retries != null) {
            retries.attempted(sentAt - joinedAt);
        }
        Publisher<? extends T> source;
        try {
            source = limited.source().apply(this);
        } catch (Throwable e) {
            Exceptions.throwIfFatal(e);
            source = null;
            onError(e);
        }
        if (source != null) {
            source.subscribe(this);
            long timeout = longestNanos();
            if (tells == Tells.HEAD && timeout != Exact.NEVER && state == RUNNING && !headed) {
                admission().watch(this, timeout, false);
            }
        }
    }

    /** How long this attempt has from sending to its head: the attempt timeout, or what is left of the deadline. */
    private long longestNanos() {
        RetryPolicy policy = limited.operator().policy();
        Retries behind = retries;
        long left = behind == null
                ? policy.deadlineNanos() == Exact.NEVER
                        ? Exact.NEVER
                        : Math.max(0, policy.deadlineNanos() - (sentAt - joinedAt))
                : behind.leftNanos(sentAt);
        // An inner operator times its own attempts, and its waits for permits are none of them.
        return heardInside ? left : Math.min(policy.timeoutNanos(), left);
    }

    /** The attempt timeout is over, or the time to drain. */
    private void overdue() {
        Draining drain = draining;
        if (drain != null) {
            drain.cancel();
            drain.over();
        } else if (state == RUNNING
                && admission().now() - sentAt >= longestNanos()
                && JUDGED_BY.compareAndSet(this, NOBODY, TIMEOUT)) {
            long timeout = longestNanos();
            boolean sent = tells != Tells.SENDING || sentTold;
            end(judge(new AttemptTimeoutException(name(), keys(), java.time.Duration.ofNanos(timeout), sent)), true);
        }
    }

    // ----------------------------------------------------------------------------------------------- as an exchange

    @Override
    public void sent() {
        admission().sent(this);
        long timeout = longestNanos();
        if (timeout != Exact.NEVER && !headed) {
            admission().watch(this, timeout, false);
        }
    }

    @Override
    public int bodyBytes(int status, Headers headers) {
        return limited.operator().dialect().bodyBytes(status, headers);
    }

    @Override
    public Verdict head(int status, Headers headers) {
        return head(limited.operator().read(status, headers));
    }

    @Override
    public Verdict head(int status, Headers headers, byte[] body) {
        return head(limited.operator().read(status, headers, body));
    }

    private Verdict head(RateLimitSignal signal) {
        if (!isInTime()) {
            return Verdict.discard(Again.INSTANCE); // Nobody listens any more.
        }
        headed = true;
        Throwable failure = judge(signal, null);
        if (failure == null) {
            return Verdict.PASS;
        }
        verdict = failure;
        return Verdict.discard(failure);
    }

    @Override
    public int attempt() {
        return retries == null ? 1 : retries.attempts();
    }

    // --------------------------------------------------------------------------------------------- as a subscriber

    @Override
    public Context currentContext() {
        Context known = context;
        if (known == null) {
            known = Layers.mark(actual.currentContext(), this);
            context = known;
        }
        return known;
    }

    @Override
    public void onSubscribe(Subscription subscription) {
        long n = adopt(subscription, RUNNING);
        if (n > 0) {
            subscription.request(limited.single() ? Long.MAX_VALUE : n);
        }
    }

    /** Takes a subscription for upstream; what is requested so far, 0 if it comes too late and is cancelled. */
    private long adopt(Subscription subscription, int expected) {
        synchronized (this) {
            if (state == expected && UPSTREAM.compareAndSet(this, null, subscription)) {
                return requested;
            }
        }
        subscription.cancel();
        return 0;
    }

    private boolean isInTime() {
        return judgedBy == SOURCE || JUDGED_BY.compareAndSet(this, NOBODY, SOURCE);
    }

    @Override
    public void onNext(T element) {
        if (state != RUNNING || draining != null || !isInTime()) {
            late(element);
            return;
        }
        boolean unheard = !headed;
        if (unheard && !handsOn(element)) {
            return;
        }
        emitted = true;
        if (limited.single()) {
            if (STATE.compareAndSet(this, RUNNING, DONE)) {
                Ticket out = concluded();
                try {
                    actual.onNext(element);
                    actual.onComplete();
                } finally {
                    admission().carryOut(out);
                }
            } else {
                Operators.onDiscard(element, currentContext());
            }
        } else {
            if (unheard && !headed) {
                headed = true;
                admission().hear(this, NOTHING, 0, false);
            }
            actual.onNext(element);
        }
    }

    /** What a source still gives that was cancelled is discarded; what it gives after its end breaks the rules. */
    private void late(T element) {
        if (state == DONE && !timedOut) {
            Operators.onNextDropped(element, currentContext());
        } else {
            Operators.onDiscard(element, currentContext());
        }
    }

    /** Looks at the first element: false if it is a response that is not handed on. */
    private boolean handsOn(T element) {
        ResponseReader<? super T> reader = limited.operator().readerOf(element);
        if (reader == null || heardInside) {
            return true;
        }
        Throwable failure;
        try {
            failure = judge(limited.operator().read(reader.status(element), reader.headers(element)), null);
        } catch (Throwable e) {
            Exceptions.throwIfFatal(e);
            onError(e);
            return false;
        }
        headed = true;
        if (failure == null) {
            return true;
        }
        Draining drain = new Draining(failure);
        draining = drain;
        drain.start(reader, element);
        return false;
    }

    @Override
    public void onComplete() {
        if (draining == null && isInTime() && STATE.compareAndSet(this, RUNNING, DONE)) {
            Ticket out = concluded();
            try {
                actual.onComplete();
            } finally {
                admission().carryOut(out);
            }
        }
    }

    private @Nullable Ticket concluded() {
        Ticket out = headed ? admission().released(this) : admission().heard(this, NOTHING, 0, true);
        if (!failed) {
            limited.operator().budget().returnSuccess();
        }
        return out;
    }

    @Override
    public void onError(Throwable error) {
        if (state != RUNNING || draining != null || !isInTime()) {
            Operators.onErrorDropped(error, currentContext());
            return;
        }
        Throwable outcome = error.equals(verdict) ? error : judge(error);
        if (!end(outcome, false)) {
            Operators.onErrorDropped(error, currentContext());
        }
    }

    // -------------------------------------------------------------------------------------------------- the verdict

    /** What becomes of a response: null if it is handed on, else what the attempt ends with. */
    private @Nullable Throwable judge(RateLimitSignal signal, @Nullable Throwable error) {
        RateLimitOperator operator = limited.operator();
        Outcome outcome = Outcome.of(signal);
        failed |= outcome != Outcome.PASSES || signal.throttled();
        boolean goesOn = outcome != Outcome.PASSES && mayRetry(outcome) && !operator.handsOn(signal);
        Retries behind = outcome == Outcome.PASSES ? null : behind();
        String givesUp = null;
        long pause = 0;
        if (behind != null) {
            Throwable cause = error == null ? new RefusedResponseException(name(), keys(), signal) : error;
            behind.failed(cause, signal.status(), true);
            if (goesOn) {
                givesUp = outcome == Outcome.THROTTLED
                        ? behind.refused(signal, heardInside)
                        : behind.failedFor(outcome == Outcome.UNAVAILABLE);
            }
            if (outcome == Outcome.UNAVAILABLE && !heardInside) {
                pause = goesOn && givesUp == null ? behind.restNanos() : operator.pauseNanos();
                behind.restAtTheGate();
            }
        }
        if (!heardInside) {
            admission().hear(this, signal, pause, false);
        }
        if (behind == null || !goesOn) {
            return error;
        }
        if (givesUp == null) {
            return Again.INSTANCE;
        }
        return operator.policy().returnsLastResponse() ? error : behind.exhausted(keys(), givesUp);
    }

    /** What an attempt that failed ends with. */
    private Throwable judge(Throwable error) {
        Failure failure = limited.operator().read(error);
        if (failure == null || retriedInside || emitted) {
            return error;
        }
        if (failure.kind() == Failure.Kind.RESPONSE) {
            headed = true;
            Throwable outcome = judge(limited.operator().read(failure.status(), failure.headers()), error);
            return outcome == null ? error : outcome;
        }
        Outcome outcome = Outcome.of(failure);
        if (outcome == Outcome.PASSES || !mayRetry(outcome)) {
            return outcome == Outcome.NOT_SENT ? NotSent.mark(error) : error;
        }
        Retries behind = behind();
        behind.failed(error, 0, outcome != Outcome.NOT_SENT);
        String givesUp = behind.failedFor(false);
        return givesUp == null ? Again.INSTANCE : behind.exhausted(keys(), givesUp);
    }

    private boolean mayRetry(Outcome outcome) {
        RateLimitOperator operator = limited.operator();
        return !retriedInside
                && !emitted
                && !operator.policy().isNone()
                && operator.isReplayable()
                && (outcome.anyMethod() || operator.isIdempotent(demand));
    }

    private Retries behind() {
        Retries known = retries;
        if (known == null) {
            RateLimitOperator operator = limited.operator();
            known = new Retries(admission().settings(), operator.policy(), operator.budget(), demand, joinedAt);
            known.attempted(sentAt - joinedAt);
            retries = known;
        }
        return known;
    }

    // ------------------------------------------------------------------------------------------------------ the end

    /**
     * Ends the attempt, in an error or in another attempt; false if it was over already.
     *
     * @param early the source is not at its end and has to be cancelled
     */
    private boolean end(Throwable outcome, boolean early) {
        boolean again = outcome instanceof Again;
        if (!STATE.compareAndSet(this, RUNNING, again && first ? HANDED_ON : DONE)) {
            return false;
        }
        leaveSource(early);
        Ticket out = admission().released(this);
        try {
            if (again && first) {
                handOn();
            } else {
                actual.onError(outcome);
            }
        } finally {
            admission().carryOut(out);
        }
        return true;
    }

    /** Makes room for the subscription of the loop; a source that is cancelled is so before its permit serves another. */
    private void leaveSource(boolean early) {
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

    /** From here on this attempt is only the subscription of the loop that tries again. */
    private void handOn() {
        Retries behind = behind();
        Loop loop = new Loop();
        if (limited.single()) {
            new MonoAgain<>(limited, behind).retryWhen(Resubscribe.INSTANCE).subscribe(loop);
        } else {
            new FluxAgain<>(limited, behind).retryWhen(Resubscribe.INSTANCE).subscribe(loop);
        }
    }

    void claim(boolean retries) {
        heardInside = true;
        if (retries) {
            retriedInside = true;
        }
    }

    private Admission admission() {
        return limited.operator().admission();
    }

    private String name() {
        return admission().settings().name();
    }

    private List<String> keys() {
        Slot line = slot;
        return line == null ? List.of() : Tree.labels(line.node);
    }

    /** Hands the signals of the later attempts to the caller. */
    private final class Loop implements CoreSubscriber<T> {

        @Override
        public Context currentContext() {
            return actual.currentContext();
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            long n = adopt(subscription, HANDED_ON);
            if (n > 0) {
                subscription.request(n);
            }
        }

        @Override
        public void onNext(T element) {
            actual.onNext(element);
        }

        @Override
        public void onError(Throwable error) {
            actual.onError(error);
        }

        @Override
        public void onComplete() {
            actual.onComplete();
        }
    }

    /** Frees a response that is not handed on, and ends the attempt then. */
    private final class Draining implements CoreSubscriber<Object> {

        /** How long a client may take to free a response. */
        private static final long LONGEST_NANOS = 1_000_000_000L;

        private final Throwable outcome;

        @SuppressWarnings("UnusedVariable") // Read through DRAIN.
        private volatile @Nullable Subscription drain;

        @SuppressWarnings("rawtypes")
        private static final AtomicReferenceFieldUpdater<Attempt.Draining, Subscription> DRAIN =
                AtomicReferenceFieldUpdater.newUpdater(Attempt.Draining.class, Subscription.class, "drain");

        Draining(Throwable outcome) {
            this.outcome = outcome;
        }

        void start(ResponseReader<? super T> reader, T response) {
            try {
                reader.discard(response).subscribe(this);
            } catch (Throwable e) {
                Exceptions.throwIfFatal(e);
                over();
            }
            if (state == RUNNING) {
                admission().watch(Attempt.this, LONGEST_NANOS, true);
            }
        }

        void cancel() {
            Operators.terminate(DRAIN, this);
        }

        void over() {
            // A Mono has nothing to come after its element, and clients take a cancel then for a reason to close.
            end(outcome, !limited.single());
        }

        @Override
        public Context currentContext() {
            return Attempt.this.currentContext();
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            if (Operators.setOnce(DRAIN, this, subscription)) {
                subscription.request(Long.MAX_VALUE);
            }
        }

        @Override
        public void onNext(Object nothing) {}

        @Override
        public void onError(Throwable ignored) {
            over();
        }

        @Override
        public void onComplete() {
            over();
        }
    }
}
