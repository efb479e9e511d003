package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitedException.Prospect;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a demand that may not wait is told: which rule, which value, and the time it would have taken. */
final class Refusals {

    private Refusals() {}

    static RateLimitedException never(String name, Node leaf, Demand demand, Limit limit) {
        long cost = demand.cost(limit.unit());
        String why = limit.kind() == Limit.Kind.TOTAL && cost <= limit.permits()
                ? "the budget of " + limit + " is spent as far as a cost of " + cost + " needs it"
                : "a cost of " + cost + " " + limit.unit() + " can never pass a limit of " + limit
                        + ". Split the demand, or raise the limit";
        return new RateLimitedException(name, Tree.labels(leaf), text(name, leaf, why), null, limit, null)
                .prospect(Prospect.NEVER);
    }

    static RateLimitedException tooLong(
            String name, Node leaf, long waitNanos, long maxWaitNanos, @Nullable Limit limit) {
        Duration wait = Duration.ofNanos(Math.max(0, waitNanos));
        String why = "the wait would be " + (waitNanos > 0 ? "at least " + wait : "of unknown length")
                + (limit == null ? "" : " because of " + limit)
                + ", and the longest allowed is " + Duration.ofNanos(maxWaitNanos);
        return new RateLimitedException(
                name, Tree.labels(leaf), text(name, leaf, why), waitNanos > 0 ? wait : null, limit, null);
    }

    /** What {@code tryAcquire} answered, as listeners are told it. */
    static RateLimitedException now(String name, List<String> labels, Decision decision) {
        String why = "it can't go now, " + decision;
        return new RateLimitedException(
                name, labels, text(name, labels, why), decision.retryAfter(), decision.limit(), null);
    }

    static RateLimitedException waitedTooLong(String name, Node leaf, long waitedNanos) {
        String why = "it waited " + Duration.ofNanos(waitedNanos) + ", which is the longest allowed";
        return new RateLimitedException(name, Tree.labels(leaf), text(name, leaf, why), null, null, null)
                .prospect(Prospect.WAITED);
    }

    static RateLimitedException noAnswer(PermitSource source, long waitedNanos) {
        String why =
                source + " gave no permit within " + Duration.ofNanos(waitedNanos) + ", which is the longest allowed.";
        return new RateLimitedException(String.valueOf(source), List.of(), why, null, null, null)
                .prospect(Prospect.WAITED);
    }

    static RateLimitedException closed(String name, Node leaf, long leftNanos, long maxServerDelayNanos) {
        Duration left = Duration.ofNanos(leftNanos);
        String why = "the server asked to wait " + left + " more, and the longest server delay obeyed is "
                + Duration.ofNanos(maxServerDelayNanos) + ". Raise maxServerDelay to wait for it";
        return new RateLimitedException(name, Tree.labels(leaf), text(name, leaf, why), left, null, null);
    }

    /** With the time until one call may find out, if it is known. */
    static RateLimitedException breakerOpen(String name, Node leaf, long restNanos) {
        Duration rest = restNanos > 0 ? Duration.ofNanos(restNanos) : null;
        String why = "its breaker is open, because too many of its calls failed or timed out"
                + (rest == null ? ", and one call is finding out" : "; one call finds out in " + rest);
        return new RateLimitedException(name, Tree.labels(leaf), text(name, leaf, why), rest, null, null)
                .prospect(Prospect.BREAKER);
    }

    static QueueFullException full(String name, Node leaf, int maxPending, String where) {
        return new QueueFullException(name, Tree.labels(leaf), maxPending, where);
    }

    static LimiterDisposedException disposed(String name, Node leaf, @Nullable Throwable cause) {
        return new LimiterDisposedException(name, Tree.labels(leaf), cause);
    }

    static LimiterUnavailableException unavailable(String name, Node leaf, @Nullable Throwable cause) {
        return new LimiterUnavailableException(name, Tree.labels(leaf), cause);
    }

    private static String text(String name, Node leaf, String why) {
        return text(name, Tree.labels(leaf), why);
    }

    private static String text(String name, List<String> labels, String why) {
        return "Limiter '" + name + "' refused a demand"
                + (labels.isEmpty() ? "" : " for " + String.join(" / ", labels)) + ": " + why + ".";
    }
}
