package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One part of a batch on its way to its outcome.
 *
 * <pre>
 *               sent                answered, and that stands
 *   PENDING ───────────► IN_FLIGHT ───────────────────────────► SUCCEEDED | FAILED
 *      ▲                     │                                             ▲
 *      └─────────────────────┘                                             │
 *       to be tried again        it gives up, is refused, or a part that it depends on failed
 * </pre>
 *
 * Used by one batch at a time.
 */
final class BatchPart<P, S> {

    enum State {
        /** Still to be sent, for the first time or again. */
        PENDING,
        /** In a batch that is under way. */
        IN_FLIGHT,
        /** Its answer stands, and what depends on it may be sent. */
        SUCCEEDED,
        /** Its answer, or its failure, stands, and what depends on it fails too. */
        FAILED
    }

    final P request;
    final Object id;
    final boolean idempotent;
    final Retries retries;
    final List<BatchPart<P, S>> parents = new ArrayList<>(0);

    State state = State.PENDING;
    /** How often it was tried and certainly not sent. */
    private int unsent;
    /** It was refused or failed itself, the last time it was tried. */
    private boolean troubled;

    private RateLimitSignal said = RateLimitSignal.none(0);

    @Nullable
    S answer;

    private @Nullable Throwable failure;

    BatchPart(P request, Object id, boolean idempotent, Retries retries) {
        this.request = request;
        this.id = id;
        this.idempotent = idempotent;
        this.retries = retries;
    }

    boolean isPending() {
        return state == State.PENDING;
    }

    boolean isInFlight() {
        return state == State.IN_FLIGHT;
    }

    /** Whether it had no permit yet. */
    boolean isNew() {
        return retries.attempts() == 0;
    }

    /** Whether a part that has to succeed first is still to be sent, or sent again, and not with it in {@code batch}. */
    boolean waitsFor(List<BatchPart<P, S>> batch) {
        for (BatchPart<P, S> parent : parents) {
            if (parent.isPending() && (parent.troubled || !batch.contains(parent))) {
                return true;
            }
        }
        return false;
    }

    /** Whether a 424 says of it that it has to wait for another part. */
    boolean isOrphan() {
        for (BatchPart<P, S> parent : parents) {
            if (parent.isPending()) {
                return true;
            }
        }
        return false;
    }

    /** One that has to succeed first and did not, or null. */
    @Nullable
    BatchPart<P, S> failedParent() {
        for (BatchPart<P, S> parent : parents) {
            if (parent.state == State.FAILED) {
                return parent;
            }
        }
        return null;
    }

    // ------------------------------------------------------------------------------------------- what comes of it

    void sent(long waitedNanos) {
        state = State.IN_FLIGHT;
        troubled = false;
        said = RateLimitSignal.none(0);
        retries.attempted(waitedNanos);
    }

    void notSent() {
        unsent++;
    }

    void heard(@Nullable S got, RateLimitSignal signal) {
        said = signal;
        answer = got == null ? answer : got;
    }

    /** Nothing was wrong with it: it waits for those that it depends on. */
    void waits() {
        state = State.PENDING;
    }

    void again() {
        state = State.PENDING;
        troubled = true;
    }

    void stands(boolean success) {
        state = success ? State.SUCCEEDED : State.FAILED;
    }

    void failed(Throwable why) {
        failure = why;
        state = State.FAILED;
    }

    /** The limiter refused the batch that it was to be sent with. */
    void refused(Throwable why) {
        Throwable before = retries.last();
        failed(
                before == null || !(why instanceof RateLimitException ours)
                        ? why
                        : ours.after(before, retries.maybeSent()));
    }

    /** Fails for the reason that a part that it depends on failed for. */
    void failedFor(BatchPart<P, S> parent, String limiter) {
        Throwable reason =
                parent.failure == null ? new RefusedResponseException(limiter, List.of(), parent.said) : parent.failure;
        failed(new RetriesExhaustedException(
                limiter,
                List.of(),
                "'" + parent.id + "', which it depends on, failed",
                retries.attempts(),
                parent.said.status(),
                parent.said.hint(),
                Duration.ofNanos(retries.waitedNanos()),
                sends() > 0,
                reason));
        said = parent.said;
    }

    private int sends() {
        return retries.attempts() - unsent;
    }

    BatchOutcome<S> outcome() {
        return new BatchOutcome<>(answer, failure, sends());
    }
}
