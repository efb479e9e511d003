package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.Reason;
import io.github.reactorratelimit.RateLimitListener.Retry;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One try of a call, and what is made of its outcome: whether the caller gets it as it is, the call is tried again, or it
 * is given up. The verdict falls at the response head, where the response can still be discarded or handed on.
 */
abstract class Try extends Ticket {

    /** What lies behind the call; null before its first failure. */
    @Nullable
    Retries retries;
    /** The response head is here. */
    volatile boolean headed;
    /** An element was handed to the caller, so there is no way back. */
    boolean emitted;
    /** An inner operator hears the responses of this try. */
    private volatile boolean heardInside;
    /** An inner operator tries again by itself. */
    private volatile boolean retriedInside;

    Try(Demand demand, @Nullable Retries retries) {
        super(demand);
        this.retries = retries;
        this.front = retries != null;
    }

    /** How it is limited and tried again. */
    abstract RateLimitOperator operator();

    /** An inner operator was subscribed: this one only limits. */
    public final void claim(boolean retriesToo) {
        heardInside = true;
        if (retriesToo) {
            retriedInside = true;
        }
    }

    boolean isHeardInside() {
        return heardInside;
    }

    boolean isRetriedInside() {
        return retriedInside;
    }

    /** What becomes of a response: null if it is handed on, else what the try ends with. */
    @Nullable
    Throwable judge(RateLimitSignal signal) {
        return judge(signal, null);
    }

    /** What a try that failed ends with. */
    Throwable judge(Throwable error) {
        Failure known = operator().read(error);
        Failure failure = known == null && retries != null ? retries.takeTold() : known;
        tellProxy(failure, error);
        if (failure == null || retriedInside || emitted) {
            return error;
        }
        if (failure.kind() == Failure.Kind.RESPONSE) {
            headed = true;
            int wanted = operator().bodyBytes(failure.status(), failure.headers());
            RateLimitSignal signal = operator().read(failure.status(), failure.headers(), failure.body(), wanted);
            Throwable outcome = judge(signal, error);
            return outcome == null ? error : outcome;
        }
        // What fails after the head was sent, whatever it looks like: it may be a call of the caller's own.
        boolean notSent = !headed && failure.isNotSent();
        if (notSent) {
            tellUnsent();
        }
        Outcome outcome = headed && failure.isNotSent() ? Outcome.PASSES : Outcome.of(failure);
        if (outcome == Outcome.PASSES || !mayRetry(outcome)) {
            return notSent ? NotSent.mark(error) : error;
        }
        Retries behind = behind();
        behind.failed(error, 0, outcome != Outcome.NOT_SENT);
        String givesUp = behind.failedFor(false);
        return givesUp == null ? again(outcome) : givenUp(givesUp);
    }

    /** It failed, and its failure says that nothing reached the server. */
    final void tellUnsent() {
        if (!heardInside && !demand.units().isEmpty()) {
            admission().answers().unsent(this);
        }
    }

    private @Nullable Throwable judge(RateLimitSignal signal, @Nullable Throwable error) {
        Outcome outcome = Outcome.of(signal);
        if (outcome == Outcome.PASSES) {
            hear(signal, 0);
            return error;
        }
        if (outcome == Outcome.TERMINAL) {
            return terminal(signal, error);
        }
        boolean goesOn = mayRetry(outcome) && !operator().handsOn(signal);
        Retries behind = behind();
        behind.failed(
                error == null ? new RefusedResponseException(name(), keys(), signal) : error, signal.status(), true);
        String givesUp = goesOn ? givesUp(behind, outcome, signal) : null;
        long pause = 0;
        if (outcome == Outcome.UNAVAILABLE && !heardInside) {
            pause = goesOn && givesUp == null ? behind.restNanos() : operator().pauseNanos();
            if (!operator().failsFast()) {
                behind.rest(0); // The endpoint stops for everybody, and the call itself waits for nothing besides.
            }
        }
        hear(signal, pause);
        if (!goesOn) {
            return error;
        }
        if (givesUp == null) {
            return again(outcome);
        }
        boolean handsOn = operator().policy().returnsLastResponse();
        if (handsOn && admission().herald() == null) {
            return error;
        }
        Throwable exhausted = givenUp(givesUp);
        return handsOn ? error : exhausted;
    }

    private Throwable again(Outcome outcome) {
        Herald herald = admission().herald();
        Throwable failure = behind().last();
        if (herald != null && failure != null) {
            long wait = Math.max(behind().restNanos(), admission().answers().closedFor(this));
            int next = behind().attempts() + 1;
            herald.retried(this, new Retry(next, Reason.valueOf(outcome.name()), Duration.ofNanos(wait), failure));
        }
        return Again.INSTANCE;
    }

    private Throwable givenUp(String why) {
        RetriesExhaustedException exhausted = behind().exhausted(keys(), why);
        Herald herald = admission().herald();
        if (herald != null) {
            herald.exhausted(this, exhausted);
        }
        return exhausted;
    }

    final void tellProxy(@Nullable Failure failure, Throwable error) {
        Herald herald = admission().herald();
        String proxy = failure == null ? null : failure.proxy();
        if (herald != null && proxy != null) {
            herald.proxyFailed(this, proxy, error);
        }
    }

    /** Fails at once and for its own reason, unless the caller wants to see responses, or an inner operator has seen it. */
    private @Nullable Throwable terminal(RateLimitSignal signal, @Nullable Throwable error) {
        String reason = signal.terminal();
        hear(signal, 0);
        if (reason == null || retriedInside || emitted || operator().policy().returnsLastResponse()) {
            return error;
        }
        TerminalThrottleException failure = new TerminalThrottleException(name(), keys(), reason, signal, error);
        Throwable before = retries == null ? null : retries.last();
        if (before != null) {
            failure.addSuppressed(before);
        }
        behind().failed(failure, signal.status(), true);
        return failure;
    }

    private @Nullable String givesUp(Retries behind, Outcome outcome, RateLimitSignal signal) {
        return outcome == Outcome.THROTTLED
                ? behind.refused(signal, heardInside)
                : behind.failedFor(outcome == Outcome.UNAVAILABLE);
    }

    private void hear(RateLimitSignal signal, long pauseNanos) {
        if (!heardInside) {
            admission().answers().hear(this, signal, pauseNanos, false);
        }
    }

    private boolean mayRetry(Outcome outcome) {
        return !retriedInside
                && !emitted
                && (retries == null || !retries.isUsedUp())
                && operator().mayRetry(outcome, operator().isIdempotent(demand));
    }

    final Retries behind() {
        Retries known = retries;
        if (known == null) {
            known = new Retries(
                    admission().settings(), operator().policy(), operator().budget(), demand, joinedAt);
            known.attempted(sentAt - joinedAt);
            retries = known;
        }
        return known;
    }

    final Admission admission() {
        return operator().admission();
    }

    final String name() {
        return admission().settings().name();
    }

    final List<String> keys() {
        Slot line = slot;
        return line == null ? List.of() : Tree.labels(line.node);
    }
}
