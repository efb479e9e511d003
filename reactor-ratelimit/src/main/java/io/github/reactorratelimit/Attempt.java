package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * One attempt of one call: its ticket, its permit and the subscriber of its source in one object. What it may do next is
 * decided by the {@linkplain TriedSubscription states} of the subscription that its caller holds.
 */
class Attempt<T> extends TriedCall<T> implements Layers.Mark {

    private static final RateLimitSignal NOTHING = RateLimitSignal.none(0);

    private @Nullable Context context;

    Attempt(Limited<T> limited, Demand demand, CoreSubscriber<? super T> actual, @Nullable Retries retries) {
        super(limited, demand, actual, retries);
    }

    // ------------------------------------------------------------------------------------------------ as a layer

    @Override
    public final Exchange exchange() {
        return this;
    }

    @Override
    public final int number() {
        Retries behind = retries;
        int state = state();
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

    @Override
    public void onSubscribe(Subscription subscription) {
        adopt(subscription, RUNNING);
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
        if (state() == DONE && !isSourceCancelled()) {
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
        if (state() == ANSWERED) {
            watchDraining();
        }
        return false;
    }

    @Override
    public void onComplete() {
        boolean ends = !(draining instanceof Draining) && isInTime();
        if (ends && step(ANSWERED, DONE)) {
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
        if (step(ANSWERED, lends ? LENT : DONE)) {
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
            drop(error);
            return;
        }
        boolean sentenced = retries != null && retries.isSentence(error);
        Throwable outcome = sentenced ? error : judge(error);
        if (!end(outcome, false)) {
            drop(error);
        }
    }

    /** Nobody is there for an error any more; that there should be another attempt is nobody else's business. */
    private void drop(Throwable error) {
        if (!(error instanceof Again)) {
            Operators.onErrorDropped(error, currentContext());
        }
    }

    // ------------------------------------------------------------------------------------------------------ the end

    @Override
    final boolean end(Throwable outcome, boolean early) {
        boolean handsOn = isFirst() && outcome instanceof Again;
        int judged = state() == OVERDUE ? OVERDUE : ANSWERED;
        if (early && !handsOn && (judged == OVERDUE || draining instanceof Draining)) {
            // Before it is over: what the source's thread still gives in this instant is late, and breaks no rules.
            cancelSource();
        }
        if (!step(judged, handsOn ? HANDED_ON : DONE)) {
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
                RetryLoop.start(limited, behind(), this, actual);
            } else {
                actual.onError(outcome);
            }
        } finally {
            admission().carryOut(out);
        }
        return true;
    }
}
