package io.github.reactorratelimit.signal;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * What one response said about limits. Immutable, safe to share between threads; every time is a duration counted from
 * the receipt of the response, so a skewed clock no longer matters.
 */
public final class RateLimitSignal {

    private static final AtomicReferenceArray<@Nullable RateLimitSignal> NONE = new AtomicReferenceArray<>(600);

    private final int status;
    private final boolean throttled;
    private final @Nullable String terminal;
    private final @Nullable Duration hint;
    private final @Nullable Duration delay;
    private final boolean coarse;
    private final boolean guessed;
    private final boolean partial;
    private final List<Quota> quotas;
    private final @Nullable String scope;
    private final @Nullable String bucket;
    private final long cost;
    private final double usage;
    private final @Nullable String reason;

    private RateLimitSignal(Builder builder) {
        this.status = builder.status;
        this.throttled = builder.throttled;
        this.terminal = builder.terminal;
        this.hint = builder.hint;
        this.delay = builder.delay;
        this.coarse = builder.coarse;
        this.guessed = builder.guessed;
        this.partial = builder.partial;
        this.quotas = List.copyOf(builder.quotas);
        this.scope = builder.scope;
        this.bucket = builder.bucket;
        this.cost = builder.cost;
        this.usage = builder.usage;
        this.reason = builder.reason;
    }

    /**
     * The signal of a response that says nothing about limits and was not refused for one.
     *
     * @param status the HTTP status, 0 if there was none
     * @return an empty signal
     */
    public static RateLimitSignal none(int status) {
        if (status < 0 || status >= NONE.length()) {
            return new Builder(status).build();
        }
        RateLimitSignal none = NONE.get(status);
        if (none == null) {
            none = new Builder(status).build();
            NONE.set(status, none);
        }
        return none;
    }

    /**
     * Starts a signal.
     *
     * @param status the HTTP status, 0 if there was none
     * @return a builder
     */
    public static Builder of(int status) {
        return new Builder(status);
    }

    /**
     * Starts a signal that says the same as this one.
     *
     * @return a builder
     */
    public Builder toBuilder() {
        return new Builder(status)
                .throttled(throttled)
                .terminal(terminal)
                .hint(hint)
                .delay(delay)
                .coarse(coarse)
                .guessed(guessed)
                .partial(partial)
                .quotas(quotas)
                .scope(scope)
                .bucket(bucket)
                .cost(cost)
                .usage(usage)
                .reason(reason);
    }

    /**
     * The HTTP status, or 0 if there was none.
     *
     * @return the status
     */
    public int status() {
        return status;
    }

    /**
     * Whether the server refused this call because of a limit: it did not act on it.
     *
     * @return true if refused for a limit
     */
    public boolean throttled() {
        return throttled;
    }

    /**
     * Why waiting does not help (a spend limit, an exhausted plan), or null if it does.
     *
     * @return the reason of a terminal throttle, or null
     */
    public @Nullable String terminal() {
        return terminal;
    }

    /**
     * The explicit hint, the longest valid one of {@code Retry-After} and its kin; null if there was none.
     *
     * @return how long the server asked to wait, or null
     */
    public @Nullable Duration hint() {
        return hint;
    }

    /**
     * How long to hold back: the longest of everything that counts, the hint and the reset of each exhausted quota; null
     * if nothing counts. On a throttled response null means that the limiter's own backoff applies.
     *
     * @return the time to hold back, never negative, or null
     */
    public @Nullable Duration delay() {
        return delay;
    }

    /**
     * Whether {@link #delay()} came from an absolute time in whole seconds, which may be up to a second short of the
     * truth. The limiter adds its margin then.
     *
     * @return true if the delay needs a margin
     */
    public boolean coarse() {
        return coarse;
    }

    /**
     * Whether {@link #delay()} is no word of the server but what its vendor advises where it says nothing. On a throttled
     * response the limiter doubles it from wave to wave, and waits for it however long it is.
     *
     * @return true if the delay is only the first of a doubling row
     */
    public boolean guessed() {
        return guessed;
    }

    /**
     * Whether only a part of what was asked for was refused, and another part may have been acted on: a batch. It closes
     * scopes, and the response is the caller's, who knows what to send again.
     *
     * @return true if so
     */
    public boolean partial() {
        return partial;
    }

    /**
     * The quotas that the response described, in its order.
     *
     * @return the quotas, possibly none
     */
    public List<Quota> quotas() {
        return quotas;
    }

    /**
     * Whom the signal is about, as the server named it ({@code "user"}, {@code "application"}, {@code "global"}); null if
     * it named nobody. A limiter closes all of an account's calls for {@code "global"}, whatever their route: the key of
     * the broadest scope by {@code token} or another credential, unless that or a broader one counts by endpoint; else
     * everything.
     *
     * @return the named scope, or null
     */
    public @Nullable String scope() {
        return scope;
    }

    /**
     * The server's identity of the limit that this call's route counts against, where routes may share one; null if not
     * said. Keys of a limiter's narrowest scope that differ only in their route become one when they turn out to share it.
     *
     * @return the bucket's identity, or null
     */
    public @Nullable String bucket() {
        return bucket;
    }

    /**
     * What the call cost in the server's own count, or -1 if not said. A limiter gives a call's requests back that cost 0;
     * any other figure is the caller's to settle, who knows its unit.
     *
     * @return the cost, or -1
     */
    public long cost() {
        return cost;
    }

    /**
     * How much of the quota is used, as a share: 0.8 is 80 %. NaN if not said.
     *
     * @return the usage figure, or NaN
     */
    public double usage() {
        return usage;
    }

    /**
     * Which rule decided, for people; null if nothing was to decide.
     *
     * @return a short sentence, or null
     */
    public @Nullable String reason() {
        return reason;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("status ").append(status);
        if (throttled) {
            text.append(", throttled");
        }
        if (terminal != null) {
            text.append(", terminal: ").append(terminal);
        }
        if (delay != null) {
            text.append(", wait ").append(delay).append(guessed ? " at least" : coarse ? " and a margin" : "");
        }
        if (hint != null && !hint.equals(delay)) {
            text.append(", hint ").append(hint);
        }
        if (scope != null) {
            text.append(", scope ").append(scope);
        }
        if (bucket != null) {
            text.append(", bucket ").append(bucket);
        }
        if (cost >= 0) {
            text.append(", cost ").append(cost);
        }
        if (!Double.isNaN(usage)) {
            text.append(", usage ").append(Math.round(usage * 100)).append(" %");
        }
        for (Quota quota : quotas) {
            text.append(", quota ").append(quota);
        }
        if (reason != null) {
            text.append(" (").append(reason).append(')');
        }
        return text.toString();
    }

    /** Collects what a dialect read. Not thread-safe. */
    public static final class Builder {

        private final int status;
        private boolean throttled;
        private @Nullable String terminal;
        private @Nullable Duration hint;
        private @Nullable Duration delay;
        private boolean coarse;
        private boolean guessed;
        private boolean partial;
        private List<Quota> quotas = List.of();
        private @Nullable String scope;
        private @Nullable String bucket;
        private long cost = -1;
        private double usage = Double.NaN;
        private @Nullable String reason;

        private Builder(int status) {
            this.status = status;
        }

        /**
         * Says whether the call was refused because of a limit.
         *
         * @param refused true if it was; default false
         * @return this builder
         */
        public Builder throttled(boolean refused) {
            this.throttled = refused;
            return this;
        }

        /**
         * Says that waiting does not help.
         *
         * @param why the reason, for people
         * @return this builder
         */
        public Builder terminal(@Nullable String why) {
            this.terminal = why;
            return this;
        }

        /**
         * Sets the explicit hint.
         *
         * @param time how long the server asked to wait, not negative
         * @return this builder
         */
        public Builder hint(@Nullable Duration time) {
            this.hint = notNegative("hint", time);
            return this;
        }

        /**
         * Sets the time to hold back.
         *
         * @param time the longest of what counts, not negative
         * @return this builder
         */
        public Builder delay(@Nullable Duration time) {
            this.delay = notNegative("delay", time);
            return this;
        }

        /**
         * Says that the delay came from an absolute time in whole seconds.
         *
         * @param wholeSeconds true if it did; default false
         * @return this builder
         */
        public Builder coarse(boolean wholeSeconds) {
            this.coarse = wholeSeconds;
            return this;
        }

        /**
         * Says that the delay is no word of the server but what its vendor advises where it says nothing.
         *
         * @param advised true if it is; default false
         * @return this builder
         */
        public Builder guessed(boolean advised) {
            this.guessed = advised;
            return this;
        }

        /**
         * Says that only a part of what was asked for was refused.
         *
         * @param some true if another part may have been acted on
         * @return this builder
         */
        public Builder partial(boolean some) {
            this.partial = some;
            return this;
        }

        /**
         * Sets the quotas.
         *
         * @param all the quotas in the response's order
         * @return this builder
         */
        public Builder quotas(List<Quota> all) {
            this.quotas = Objects.requireNonNull(all, "quotas");
            return this;
        }

        /**
         * Names whom the signal is about.
         *
         * @param name the server's name of the scope
         * @return this builder
         */
        public Builder scope(@Nullable String name) {
            this.scope = name;
            return this;
        }

        /**
         * Names the limit that the call's route counts against, where routes may share one.
         *
         * @param identity the server's name of the bucket
         * @return this builder
         */
        public Builder bucket(@Nullable String identity) {
            this.bucket = identity;
            return this;
        }

        /**
         * Sets what the call cost in the server's own count.
         *
         * @param units the cost, -1 if not said
         * @return this builder
         * @throws IllegalArgumentException if it is less than -1
         */
        public Builder cost(long units) {
            if (units < -1) {
                throw new IllegalArgumentException("cost must be -1 or more, was " + units);
            }
            this.cost = units;
            return this;
        }

        /**
         * Sets the usage figure.
         *
         * @param share 0.8 is 80 %; NaN if not said
         * @return this builder
         * @throws IllegalArgumentException if it is negative or infinite
         */
        public Builder usage(double share) {
            if (share < 0) {
                throw new IllegalArgumentException("usage must not be negative, was " + share);
            }
            if (Double.isInfinite(share)) {
                throw new IllegalArgumentException("usage must be finite, was " + share);
            }
            this.usage = share;
            return this;
        }

        /**
         * Says which rule decided.
         *
         * @param sentence a short sentence for people
         * @return this builder
         */
        public Builder reason(@Nullable String sentence) {
            this.reason = sentence;
            return this;
        }

        /**
         * Ends the signal.
         *
         * @return what was said
         */
        public RateLimitSignal build() {
            return new RateLimitSignal(this);
        }

        private static @Nullable Duration notNegative(String name, @Nullable Duration time) {
            if (time != null && time.isNegative()) {
                throw new IllegalArgumentException(name + " must not be negative, was " + time);
            }
            return time;
        }
    }
}
