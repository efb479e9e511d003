package io.github.reactorratelimit;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One part of a batch on its way to its outcome. */
final class BatchPart<P, S> {

    enum State {
        /** Still to be sent, for the first time or again. */
        PENDING,
        /** Its answer stands, and what depends on it may be sent. */
        SUCCEEDED,
        /** Its answer, or its failure, stands, and what depends on it fails too. */
        FAILED
    }

    final P request;
    final Object id;
    final boolean idempotent;
    final List<BatchPart<P, S>> parents = new ArrayList<>(0);

    State state = State.PENDING;
    int sends;
    int failures;
    int refusals;

    @Nullable
    S answer;

    @Nullable
    Throwable failure;

    BatchPart(P request, Object id, boolean idempotent) {
        this.request = request;
        this.id = id;
        this.idempotent = idempotent;
    }

    boolean isPending() {
        return state == State.PENDING;
    }

    /** Whether it has to wait for a part that is not among {@code batch}. */
    boolean waitsFor(List<BatchPart<P, S>> batch) {
        for (BatchPart<P, S> parent : parents) {
            if (parent.isPending() && !batch.contains(parent)) {
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

    void answered(S stands, boolean success) {
        answer = stands;
        failure = null;
        state = success ? State.SUCCEEDED : State.FAILED;
    }

    void failed(Throwable why) {
        failure = why;
        state = State.FAILED;
    }

    BatchOutcome<S> outcome() {
        return new BatchOutcome<>(answer, failure, sends);
    }
}
