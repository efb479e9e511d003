package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * One attempt of one call: its ticket, its permit and the subscriber of its source in one object, and one state machine.
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
class Attempt<T> extends TriedExchange implements CoreSubscriber<T>, Subscription, Layers.Mark {

    private static final int IDLE = 0;
    private static final int WAITING = 1;
    private static final int RUNNING = 2;
    private static final int DONE = 3;
    private static final int HANDED_ON = 4;
    private static final int CANCELLED = 5;
    private static final int ANSWERED = 6;
    private static final int OVERDUE = 7;
    private static final int LENT = 8;
    private static final int TELLING = 9;

    private static final RateLimitSignal NOTHING = RateLimitSignal.none(0);

    @SuppressWarnings("rawtypes")
    private static final AtomicIntegerFieldUpdater<Attempt> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Attempt.class, "state");

    @SuppressWarnings("rawtypes")
    private static final AtomicReferenceFieldUpdater<Attempt, Subscription> UPSTREAM =
            AtomicReferenceFieldUpdater.newUpdater(Attempt.class, Subscription.class, "upstream");

    private final Limited<T> limited;
    private final CoreSubscriber<? super T> actual;
    private @Nullable Context context;
    private volatile int state;
    private volatile @Nullable Subscription upstream;

    Attempt(Limited<T> limited, Demand demand, CoreSubscriber<? super T> actual, @Nullable Retries retries) {
        super(demand, retries);
        this.limited = limited;
        this.actual = actual;
    }

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

    // ------------------------------------------------------------------------------------------- as a subscription

    /** Notes what is requested; a call for a single element needs to know no more than that it was. */
    void note(long n) {}

    /** What is requested so far, for a source that is only now subscribed. */
    long noted() {
        return Long.MAX_VALUE;
    }

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
        } else if (STATE.compareAndSet(this, IDLE, WAITING)) {
            ask();
        }
    }

    private void ask() {
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
        } catch (RuntimeException e) {
            if (!STATE.compareAndSet(this, WAITING, DONE)) {
                throw e;
            }
            actual.onError(e);
        }
    }

    @Override
    final boolean leavesBreakers() {
        Patience patience = operator().patience();
        return patience != null && patience.leavesBreakers();
    }

    /** How long it may wait for its permit. */
    long patienceNanos() {
        Retries behind = retries;
        return behind == null
                ? Math.min(demand.maxWaitNanos(), operator().policy().deadlineNanos())
                : behind.leftNanos(admission().now());
    }

    @Override
    public void cancel() {
        int before = state;
        while (before != DONE && before != CANCELLED && !STATE.compareAndSet(this, before, CANCELLED)) {
            before = state;
        }
        switch (before) {
            case WAITING -> admission().cancel(this);
            case RUNNING, ANSWERED, OVERDUE -> {
                Operators.terminate(UPSTREAM, this);
                if (draining instanceof Draining drain) {
                    drain.dispose();
                }
                admission().abort(this);
            }
            case HANDED_ON -> {
                Operators.terminate(UPSTREAM, this);
                behind().abandon();
            }
            case LENT -> {
                Operators.terminate(UPSTREAM, this);
                admission().release(this);
            }
            default -> {}
        }
    }

    // ------------------------------------------------------------------------------------------------- as a ticket

    @Override
    void emit() {
        if (state == RUNNING || state == ANSWERED) {
            overdue();
            return;
        }
        RateLimitException refused = refusal();
        if (!STATE.compareAndSet(this, WAITING, refused == null ? TELLING : DONE)) {
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
        if (STATE.compareAndSet(this, TELLING, RUNNING)) {
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
            opened().subscribe(this);
        } catch (Throwable e) {
            // No publisher, or one that throws instead of failing: nobody else would ever end this attempt.
            Exceptions.throwIfFatal(e);
            onError(e);
            return;
        }
        if (tells() != Tells.SENDING && state == RUNNING) {
            watch();
        }
    }

    /** What is subscribed. The thread that grants may carry the thread-locals of whoever set the timer: not its caller's. */
    private Publisher<? extends T> opened() {
        if (!Hooks.isAutomaticContextPropagationEnabled()) {
            return limited.open(this);
        }
        // Writing to the Context restores them, for all that happens in the subscription.
        return limited.isSingle()
                ? Mono.defer(() -> Mono.<T>from(limited.open(this))).contextWrite(Function.identity())
                : Flux.defer(() -> Flux.<T>from(limited.open(this))).contextWrite(Function.identity());
    }

    /** The attempt timeout is over, or the time to drain. */
    private void overdue() {
        Runnable over = draining;
        long longest = longestNanos();
        if (over != null) {
            over.run();
        } else if (admission().now() - sentAt >= longest && STATE.compareAndSet(this, RUNNING, OVERDUE)) {
            if (longest == operator().policy().timeoutNanos()) {
                admission().answers().timedOut(this); // A deadline of the caller's own says nothing about the server.
            }
            end(judge(new AttemptTimeoutException(name(), keys(), Duration.ofNanos(longest), !isSurelyUnsent())), true);
        }
    }

    // ------------------------------------------------------------------------------------------------ as a layer

    @Override
    public final Exchange exchange() {
        return this;
    }

    @Override
    public final int number() {
        Retries behind = retries;
        return isFirst() || behind == null ? 1 : behind.attempts() + (state == IDLE || state == WAITING ? 1 : 0);
    }

    @Override
    public final long waitedNanos() {
        return sentAt - joinedAt;
    }

    // --------------------------------------------------------------------------------------------- as a subscriber

    @Override
    public Context currentContext() {
        Context known = context;
        if (known == null) {
            boolean tellsSending = tells() != Tells.HEAD;
            Layers.Mark mark = tellsSending ? new Layers.Sending(this, number(), waitedNanos()) : this;
            known = seen(Layers.mark(actual.currentContext(), mark));
            context = known;
        }
        return known;
    }

    /** What the source sees in its Context. */
    Context seen(Context marked) {
        return marked;
    }

    final Context callersContext() {
        return actual.currentContext();
    }

    @Override
    public void onSubscribe(Subscription subscription) {
        adopt(subscription, RUNNING);
    }

    /** Takes a subscription for upstream and requests what was requested so far; one that comes too late is cancelled. */
    private void adopt(Subscription subscription, int expected) {
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

    @Override
    final boolean isInTime() {
        return state == ANSWERED || STATE.compareAndSet(this, RUNNING, ANSWERED);
    }

    @Override
    public void onNext(T element) {
        if (draining instanceof Draining || !isInTime()) {
            late(element);
            return;
        }
        if (!headed && !handsOn(element)) {
            return;
        }
        emitted = true;
        if (limited.isSingle()) {
            conclude(element);
            return;
        }
        if (!headed) {
            headed = true;
            admission().answers().hear(this, NOTHING, 0, false);
        }
        actual.onNext(element);
    }

    /** What a source still gives that was cancelled is discarded; what it gives after its end breaks the rules. */
    private void late(T element) {
        if (state == DONE && upstream != Operators.cancelledSubscription()) {
            Operators.onNextDropped(element, currentContext());
        } else {
            Operators.onDiscard(element, currentContext());
        }
    }

    private RateLimitSignal read(ResponseReader<? super T> reader, T response) {
        int status = reader.status(response);
        Headers headers = reader.headers(response);
        int wanted = operator().bodyBytes(status, headers);
        return operator().read(status, headers, wanted > 0 ? reader.body(response, wanted) : null, wanted);
    }

    /** Looks at the first element: false if it is a response that is not handed on. */
    boolean handsOn(T element) {
        ResponseReader<? super T> reader = operator().readerOf(element);
        if (reader == null || isHeardInside()) {
            return true;
        }
        Throwable failure;
        try {
            failure = judge(read(reader, element));
        } catch (Throwable e) {
            Exceptions.throwIfFatal(e);
            Operators.onDiscard(element, currentContext());
            if (!end(judge(e), !limited.isSingle())) {
                Operators.onErrorDropped(e, currentContext());
            }
            return false;
        }
        headed = true;
        if (failure == null) {
            return true;
        }
        // A Mono has nothing to come after its element, and clients take a cancel then for a reason to close.
        Draining drain = new Draining(failure, currentContext(), outcome -> end(outcome, !limited.isSingle()));
        draining = drain;
        drain.start(reader, element);
        if (state == ANSWERED) {
            watchDraining();
        }
        return false;
    }

    @Override
    public void onComplete() {
        boolean ends = !(draining instanceof Draining) && isInTime();
        if (ends && STATE.compareAndSet(this, ANSWERED, DONE)) {
            Ticket out = concluded(true);
            try {
                actual.onComplete();
            } finally {
                admission().carryOut(out);
            }
        }
    }

    private void conclude(T element) {
        boolean lends = lends();
        if (STATE.compareAndSet(this, ANSWERED, lends ? LENT : DONE)) {
            Ticket out = concluded(!lends);
            try {
                actual.onNext(element);
                actual.onComplete();
            } finally {
                admission().carryOut(out);
            }
        } else {
            Operators.onDiscard(element, currentContext());
        }
    }

    /** The permit is free before the caller has its answer, but those who get it next are told after that. */
    private @Nullable Ticket concluded(boolean release) {
        Ticket out = null;
        if (!headed) {
            out = admission().answers().heard(this, NOTHING, 0, release);
        } else if (release) {
            out = admission().released(this);
        }
        if (earns()) {
            operator().budget().returnSuccess();
        }
        return out;
    }

    /** Whether it is a success to the retry budget. */
    boolean earns() {
        return retries == null || !retries.isFailing();
    }

    @Override
    public void onError(Throwable error) {
        if (draining instanceof Draining || !isInTime()) {
            Operators.onErrorDropped(error, currentContext());
            return;
        }
        boolean sentenced = retries != null && retries.isSentence(error);
        Throwable outcome = sentenced ? error : judge(error);
        if (!end(outcome, false)) {
            Operators.onErrorDropped(error, currentContext());
        }
    }

    // ------------------------------------------------------------------------------------------------------ the end

    /**
     * Ends the attempt, in an error or in another attempt; false if it was over already.
     *
     * @param early the source is not at its end and has to be cancelled
     */
    private boolean end(Throwable outcome, boolean early) {
        boolean handsOn = isFirst() && outcome instanceof Again;
        int judged = state == OVERDUE ? OVERDUE : ANSWERED;
        if (!STATE.compareAndSet(this, judged, handsOn ? HANDED_ON : DONE)) {
            return false;
        }
        leaveSource(early);
        Herald herald = admission().herald();
        if (herald != null && !(outcome instanceof Again)) {
            herald.failed(this, outcome);
        }
        Ticket out = admission().released(this);
        try {
            if (handsOn) {
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
        if (early && state == DONE) {
            Operators.terminate(UPSTREAM, this);
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

    /** From here on this attempt is only the subscription of the loop that tries again. */
    private void handOn() {
        if (limited.isSingle()) {
            new MonoAgain<>(limited, behind()).retryWhen(Resubscribe.INSTANCE).subscribe(new Loop());
        } else {
            new FluxAgain<>(limited, behind()).retryWhen(Resubscribe.INSTANCE).subscribe(new Loop());
        }
    }

    /** Hands the signals of the later attempts to the caller. */
    private final class Loop implements CoreSubscriber<T> {

        @Override
        public Context currentContext() {
            return actual.currentContext();
        }

        @Override
        public void onSubscribe(Subscription subscription) {
            adopt(subscription, HANDED_ON);
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
}
