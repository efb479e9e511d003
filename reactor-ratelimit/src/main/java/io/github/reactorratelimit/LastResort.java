package io.github.reactorratelimit;

import io.github.reactorratelimit.Fallback.Choice;
import io.github.reactorratelimit.RateLimitedException.Prospect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The sources that one call has left for their waits, in the order in which it asks them again once none served: by the time
 * at which they would have had a permit; then those of which that is not known, because calls in flight are in the way; then
 * those that had no room to wait in. Who refused for good is not asked again. By one thread at a time.
 */
final class LastResort {

    private record Left(Choice choice, Throwable refusal, long at, boolean mayServe) {

        boolean isCrowded() {
            return refusal instanceof QueueFullException;
        }
    }

    private final List<Left> left = new ArrayList<>();
    private @Nullable Throwable nearest;

    /**
     * Notes a source that was left, the preferred ones first.
     *
     * @param now the time of the refusal
     * @param mayWait whether its demand allows it to wait on
     */
    void add(Choice choice, Throwable refusal, long now, boolean mayWait) {
        RateLimitedException known = refusal instanceof RateLimitedException refused ? refused : null;
        Duration wait = known == null ? null : known.retryAfter();
        boolean never = known != null && known.prospect() == Prospect.NEVER;
        long at = wait == null ? Exact.NEVER : Exact.add(now, Exact.nanos(wait));
        left.add(new Left(choice, refusal, at, mayWait && !never));
    }

    /** The source to ask now, once; null if there is none. */
    @Nullable
    Choice next() {
        Left next = left.stream()
                .filter(Left::mayServe)
                .min(Comparator.comparing(Left::isCrowded).thenComparing(Left::at))
                .orElse(null);
        left.remove(next);
        return next == null ? null : next.choice;
    }

    /** Notes the refusal of a source that was asked again. */
    void refusedAgain(Throwable refusal) {
        nearest = nearest == null ? refusal : nearest;
    }

    /** The refusal that tells most where nobody served for waits alone: of who would have served first, or is preferred. */
    Throwable telling(Throwable refusal) {
        return nearest != null ? nearest : left.isEmpty() ? refusal : left.get(0).refusal;
    }
}
