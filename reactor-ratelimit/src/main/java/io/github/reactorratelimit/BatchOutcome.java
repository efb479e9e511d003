package io.github.reactorratelimit;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What came of one part of a batch: its answer, or why there is none to rely on.
 *
 * @param <S> a part as it is answered
 */
public final class BatchOutcome<S> {

    private final @Nullable S answer;
    private final @Nullable Throwable failure;
    private final int sends;

    BatchOutcome(@Nullable S answer, @Nullable Throwable failure, int sends) {
        this.answer = answer;
        this.failure = failure;
        this.sends = sends;
    }

    /**
     * The last answer, whatever its status. A part that was given up may have one too: its last refusal.
     *
     * @return the answer, empty if there was none
     */
    public Optional<S> answer() {
        return Optional.ofNullable(answer);
    }

    /**
     * Why the part was given up: {@link RetriesExhaustedException}, also if a part failed that it depends on; {@link
     * TerminalThrottleException}; a refusal of the limiter's own; or what its batch failed with. {@link
     * RateLimitException#mayHaveBeenSent} tells whether the server may have acted on it.
     *
     * @return the failure, empty if the answer stands
     */
    public Optional<Throwable> failure() {
        return Optional.ofNullable(failure);
    }

    /**
     * How often the part was sent; attempts of which it is known that nothing reached the server do not count.
     *
     * @return the number, 0 if it never was
     */
    public int sends() {
        return sends;
    }

    @Override
    public String toString() {
        return (failure == null ? "answered with " + answer : "failed with " + failure) + ", sent " + sends + " times";
    }
}
