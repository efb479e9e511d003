package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/** What becomes of a response: handed on to the caller, or discarded with an error that the operator understands. */
public final class Verdict {

    static final Verdict PASS = new Verdict(null);

    private final @Nullable Throwable failure;

    private Verdict(@Nullable Throwable failure) {
        this.failure = failure;
    }

    static Verdict discard(Throwable failure) {
        return new Verdict(failure);
    }

    /**
     * Whether the response is the caller's.
     *
     * @return false if it has to be discarded
     */
    public boolean passes() {
        return failure == null;
    }

    /**
     * What the attempt has to end with after the response was discarded.
     *
     * @return the error
     * @throws IllegalStateException if the response passes
     */
    public Throwable failure() {
        if (failure == null) {
            throw new IllegalStateException("a response that passes has no failure");
        }
        return failure;
    }
}
