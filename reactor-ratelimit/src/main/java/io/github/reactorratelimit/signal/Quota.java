package io.github.reactorratelimit.signal;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One quota as a response described it: how much there is, how much is left, and when there is more.
 *
 * @param name the server's name for it, a policy or header family; {@code ""} if it has none
 * @param unit what is counted, {@code "requests"} unless the response says otherwise
 * @param limit the quota's size, or -1 if not said
 * @param remaining what is left, or -1 if not said; fractions are cut off, so 0 means that less than one is left
 * @param used what was used, or -1 if not said
 * @param reset time from the receipt of the response until there is more, or null if not said
 * @param window the length of the quota's window, or null if not said
 * @param partition the server's own key for this quota (a partition key, a bucket identity), or null
 * @param coarse whether {@code reset} came from an absolute time in whole seconds, which may be up to a second short of the
 *     truth
 */
public record Quota(
        String name,
        String unit,
        long limit,
        long remaining,
        long used,
        @Nullable Duration reset,
        @Nullable Duration window,
        @Nullable String partition,
        boolean coarse) {

    /**
     * A quota whose reset is as exact as it looks.
     *
     * @param name the server's name for it
     * @param unit what is counted
     * @param limit its size, or -1
     * @param remaining what is left, or -1
     * @param used what was used, or -1
     * @param reset time until there is more, or null
     * @param window the length of its window, or null
     * @param partition the server's own key, or null
     */
    public Quota(
            String name,
            String unit,
            long limit,
            long remaining,
            long used,
            @Nullable Duration reset,
            @Nullable Duration window,
            @Nullable String partition) {
        this(name, unit, limit, remaining, used, reset, window, partition, false);
    }

    /**
     * Whether nothing is left, so that the next call would be refused.
     *
     * @return true if {@code remaining} is known to be 0
     */
    public boolean exhausted() {
        return remaining == 0;
    }

    /** For people; without the partition, which some servers derive from a credential. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(name.isEmpty() ? "" : name + ": ")
                .append(count(remaining))
                .append(" of ")
                .append(count(limit))
                .append(' ')
                .append(unit)
                .append(" left");
        if (used >= 0) {
            text.append(", ").append(used).append(" used");
        }
        if (reset != null) {
            text.append(", more in ").append(reset);
        }
        return window == null
                ? text.toString()
                : text.append(", window ").append(window).toString();
    }

    private static String count(long count) {
        return count < 0 ? "?" : Long.toString(count);
    }
}
