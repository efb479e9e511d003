package io.github.reactorratelimit;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a limiter stands: every key with its limits, its cooldown and its lines. Taking one walks all keys, so it is for
 * operators and tests, not for every call. It looks at 256 keys at a time and lets calls go on in between, so of more keys
 * it shows no single instant.
 *
 * @param limiter the limiter's name
 * @param scopes the root first, then the keys, those longest unused first
 * @param waiting how many demands wait
 * @param timers how many deadlines, backoffs, timeouts and parked lines the limiter has on its one alarm
 */
public record RateLimiterSnapshot(String limiter, List<ScopeState> scopes, int waiting, int timers) {

    /**
     * The root scope's state.
     *
     * @return the first of the scopes
     */
    public ScopeState root() {
        return scopes.get(0);
    }

    /**
     * One scope key.
     *
     * @param by the attributes that the scope counts by; empty for the root
     * @param endpoint the endpoint as limits were configured for it, see {@link RateLimitListener.Subject#endpoint()}
     * @param keys from broad to narrow, as they are shown to people; empty for the root
     * @param limits its limits and what they have left
     * @param closedFor how long it stays closed, zero if it is open
     * @param waves how many refusals in a row closed it, each later than the one before
     * @param lines those who wait for it, a line per lane
     */
    public record ScopeState(
            List<String> by,
            @Nullable String endpoint,
            List<String> keys,
            List<LimitState> limits,
            Duration closedFor,
            int waves,
            List<LineState> lines) {}

    /**
     * One limit of one key.
     *
     * @param limit the limit
     * @param available what could be taken now, negative for a debt
     * @param fullAfter when it is full again if nothing more is taken, null if that is not a matter of time
     */
    public record LimitState(
            Limit limit, long available, @Nullable Duration fullAfter) {

        /**
         * How much of a limit on calls in flight is held by permits that were not released yet.
         *
         * @return the cost of what is in flight, 0 for every other kind of limit
         */
        public long held() {
            return limit.kind() == Limit.Kind.IN_FLIGHT ? limit.permits() - available : 0;
        }
    }

    /**
     * One line: whom its first waits for, and how long still.
     *
     * @param lane the lane
     * @param waiting how many stand in it
     * @param blockedBy the limit that holds up the first; null if it is the cooldown, or another key's turn
     * @param expected how long the first still waits, as far as it is known; null if it is not a matter of time
     */
    public record LineState(
            String lane,
            int waiting,
            @Nullable Limit blockedBy,
            @Nullable Duration expected) {}
}
