package io.github.reactorratelimit;

import io.github.reactorratelimit.BatchAnswer.Read;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What becomes of each part of one attempt at a batch, by the rules that hold for calls of their own: whether its answer
 * stands, it is tried again, or it is given up.
 */
final class BatchVerdict<P, S> {

    private final RateLimitOperator operator;
    private final List<String> keys;
    private final boolean heardInside;
    private final boolean retriedInside;
    private final List<RetriesExhaustedException> exhausted = new ArrayList<>(0);
    private boolean unavailable;
    private long stopNanos = -1;
    private long restNanos;
    private @Nullable Outcome again;
    private @Nullable Throwable last;

    BatchVerdict(RateLimitOperator operator, List<String> keys, boolean heardInside, boolean retriedInside) {
        this.operator = operator;
        this.keys = keys;
        this.heardInside = heardInside;
        this.retriedInside = retriedInside;
    }

    /** How long the endpoint stops for a 503; 0 for not. Asked for once. */
    long pauseNanos() {
        return !unavailable ? 0 : stopNanos >= 0 ? stopNanos : operator.pauseNanos();
    }

    /** How long the next attempt rests. */
    long restNanos() {
        return restNanos;
    }

    /** The strongest reason for another attempt; null if no part needs one. */
    @Nullable
    Outcome again() {
        return again;
    }

    /** What the part failed with that has this reason. */
    @Nullable
    Throwable last() {
        return last;
    }

    /** Those that are given up. */
    List<RetriesExhaustedException> exhausted() {
        return exhausted;
    }

    // --------------------------------------------------------------------------------------- a batch that is answered

    void answered(List<BatchPart<P, S>> parts, BatchAnswer<S> batch) {
        for (BatchPart<P, S> part : parts) {
            Read<S> read = batch.to(part.id);
            Throwable unreadable = batch.unreadable();
            if (read != null) {
                answered(part, read);
            } else if (unreadable != null) {
                part.failed(unreadable);
            } else {
                failed(
                        part,
                        Failure.interrupted(),
                        new IllegalStateException("the batch was answered without part '" + part.id + "'"));
            }
        }
    }

    private void answered(BatchPart<P, S> part, Read<S> read) {
        RateLimitSignal signal = read.signal();
        part.heard(read.answer(), signal);
        boolean depends = signal.status() == 424;
        BatchPart<P, S> failed = depends ? part.failedParent() : null;
        if (failed != null) {
            part.failedFor(failed, name());
        } else if (depends && part.isOrphan()) {
            part.waits();
        } else {
            judge(part, signal, null, false);
        }
    }

    // ------------------------------------------------------------------------------------------ a batch that fails

    /** Its exception stands for a response. */
    void refused(List<BatchPart<P, S>> parts, RateLimitSignal signal, Throwable error) {
        for (BatchPart<P, S> part : parts) {
            part.heard(null, signal);
            judge(part, signal, error, retriedInside);
        }
    }

    /** There was no response, and {@code failure} tells how far it got if that is known. */
    void failed(List<BatchPart<P, S>> parts, @Nullable Failure failure, Throwable error) {
        for (BatchPart<P, S> part : parts) {
            if (failure == null || retriedInside) {
                part.failed(error);
            } else {
                failed(part, failure, error);
            }
        }
    }

    private void failed(BatchPart<P, S> part, Failure failure, Throwable error) {
        Outcome outcome = Outcome.of(failure);
        if (failure.isNotSent()) {
            part.notSent();
        }
        if (outcome == Outcome.PASSES || !mayRetry(part, outcome)) {
            part.failed(error);
            return;
        }
        part.retries.failed(error, 0, outcome != Outcome.NOT_SENT);
        goOn(part, outcome, part.retries.failedFor(false), false);
    }

    // ---------------------------------------------------------------------------------------------------- one part

    /** @param error what stands for its answer, if that is no answer of its own */
    private void judge(BatchPart<P, S> part, RateLimitSignal signal, @Nullable Throwable error, boolean givenUp) {
        Outcome outcome = Outcome.of(signal);
        boolean heardHere = error == null || !heardInside;
        unavailable |= outcome == Outcome.UNAVAILABLE && heardHere;
        if (outcome == Outcome.PASSES) {
            stands(part, error, signal.status() < 400);
            if (error == null) {
                operator.budget().returnSuccess();
            }
        } else if (outcome == Outcome.TERMINAL && !givenUp && !operator.policy().returnsLastResponse()) {
            terminal(part, signal, error);
        } else if (givenUp || !mayRetry(part, outcome) || operator.handsOn(signal)) {
            stands(part, error, false);
        } else {
            Throwable failure = error == null ? new RefusedResponseException(name(), keys, signal) : error;
            part.retries.failed(failure, signal.status(), true);
            String givesUp = outcome == Outcome.THROTTLED
                    ? part.retries.refused(signal, !heardHere)
                    : part.retries.failedFor(outcome == Outcome.UNAVAILABLE);
            long stop = outcome == Outcome.UNAVAILABLE && heardHere ? part.retries.takeRest() : -1;
            stopNanos = Math.max(stopNanos, stop); // For everybody, so the batch has nothing to rest for besides.
            goOn(part, outcome, givesUp, error == null);
        }
    }

    private void goOn(BatchPart<P, S> part, Outcome outcome, @Nullable String givesUp, boolean answered) {
        if (givesUp == null) {
            part.again();
            restNanos = Math.max(restNanos, part.retries.restNanos());
            if (again == null || outcome.compareTo(again) < 0) {
                again = outcome;
                last = part.retries.last();
            }
            return;
        }
        RetriesExhaustedException why = part.retries.exhausted(keys, givesUp);
        exhausted.add(why);
        if (answered && operator.policy().returnsLastResponse()) {
            part.stands(false);
        } else {
            part.failed(why);
        }
    }

    private void terminal(BatchPart<P, S> part, RateLimitSignal signal, @Nullable Throwable error) {
        TerminalThrottleException why =
                new TerminalThrottleException(name(), keys, String.valueOf(signal.terminal()), signal, error);
        Throwable before = part.retries.last();
        if (before != null) {
            why.addSuppressed(before);
        }
        part.failed(why);
    }

    private void stands(BatchPart<P, S> part, @Nullable Throwable error, boolean success) {
        if (error == null) {
            part.stands(success);
        } else {
            part.failed(error);
        }
    }

    private boolean mayRetry(BatchPart<P, S> part, Outcome outcome) {
        return outcome != Outcome.TERMINAL && operator.mayRetry(outcome, part.idempotent);
    }

    private String name() {
        return operator.admission().settings().name();
    }
}
