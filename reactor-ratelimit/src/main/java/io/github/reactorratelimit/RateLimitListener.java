package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.util.context.Context;
import reactor.util.context.ContextView;

/**
 * Is told what a limiter decides and hears. Every method does nothing unless it is overridden; what no listener hears costs
 * nothing. Set by {@link RateLimiterSpec#listener}.
 *
 * <p>Every permit that is asked for comes to {@link #asked} first, then to exactly one of {@link #granted},
 * {@link #refused} and {@link #left}; one that was granted comes to {@link #released} at its end, unless it was a
 * {@code tryAcquire} of limits that hold nothing, whose permit nobody took. Times are limiter time.
 *
 * <p>Events are told on the thread that caused them, outside the limiter's monitor, those of one permit one after another;
 * those of several come from several threads at once. A listener must not block: the call goes on when it returns. What it
 * throws is logged, for its first failure, and harms nobody.
 */
public interface RateLimitListener {

    /**
     * The limiter is built, and its permits can be asked for.
     *
     * @param limiter the limiter that is listened to
     */
    default void built(RateLimiter limiter) {}

    /**
     * The limiter has other limits now.
     *
     * @param limiter the limiter, whose {@link RateLimiter#spec()} has them
     */
    default void changed(RateLimiter limiter) {}

    /**
     * An attempt of a call begins, on the thread that asks. Only attempts of {@link RateLimitOperator#limit}, of batches and of
     * adapters come here, before {@link #asked}.
     *
     * @param who the attempt
     * @param caller the Reactor Context of the caller
     * @return a listener of this attempt alone, which is told of it after this one; null for none
     */
    default @Nullable AttemptListener attempt(Subject who, ContextView caller) {
        return null;
    }

    /**
     * A permit is asked for.
     *
     * @param who who asks
     */
    default void asked(Subject who) {}

    /**
     * It can't be granted at once, so it stands in line. Told after it joined: another thread may tell of the grant before.
     *
     * @param who who waits
     * @param queue what it waits for
     */
    default void waiting(Subject who, Queue queue) {}

    /**
     * The permit is granted. For an attempt its source is subscribed after this.
     *
     * @param who whose it is
     * @param waited how long it waited, backoff included; zero if it was granted at once
     */
    default void granted(Subject who, Duration waited) {}

    /**
     * The permit is refused: the wait would be too long, or was; the line is full; the limiter is disposed; the cost can
     * never pass.
     *
     * @param who who asked
     * @param waited how long it waited all the same
     * @param why a {@link RateLimitException}, or what a function of yours for the limits of a key threw
     */
    default void refused(Subject who, Duration waited, Throwable why) {}

    /**
     * Who asked was cancelled before it had its permit.
     *
     * @param who who asked
     * @param waited how long it waited
     */
    default void left(Subject who, Duration waited) {}

    /**
     * The request is written. Only adapters tell, and {@link BatchRetry}.
     *
     * @param who whose request
     */
    default void sent(Subject who) {}

    /**
     * A response was heard at its head. Of a batch that is each of its parts, the one with most to say last.
     *
     * @param who whose response
     * @param signal what it says
     */
    default void answered(Subject who, RateLimitSignal signal) {}

    /**
     * The server refused a call for a limit. Told after {@link #answered}.
     *
     * @param who who was refused
     * @param signal what the response says
     * @param closedFor how long the scope stays closed now, margins included; zero if that would not help
     */
    default void throttled(Subject who, RateLimitSignal signal, Duration closedFor) {}

    /**
     * A scope is closed, or for longer than it was.
     *
     * @param closing which, how long, and why
     */
    default void closed(Closing closing) {}

    /**
     * A scope is open again, because its time is over or by hand.
     *
     * @param limiter the limiter's name
     * @param keys its keys from broad to narrow, as they are shown to people; empty for the root
     */
    default void opened(String limiter, List<String> keys) {}

    /**
     * An attempt is going to be followed by another.
     *
     * @param who the attempt that failed
     * @param retry why, and when
     */
    default void retried(Subject who, Retry retry) {}

    /**
     * A call, or a part of a batch, gives up: it was tried as often as it may be.
     *
     * @param who its last attempt
     * @param why attempts, time waited, the last failure
     */
    default void exhausted(Subject who, RetriesExhaustedException why) {}

    /**
     * An attempt ends in an error that the caller gets. Told before {@link #released}.
     *
     * @param who the attempt
     * @param error what the caller gets
     */
    default void failed(Subject who, Throwable error) {}

    /**
     * A cost was corrected.
     *
     * @param who whose permit
     * @param unit the unit
     * @param asked what it was asked for
     * @param actual what it was
     */
    default void settled(Subject who, String unit, long asked, long actual) {}

    /**
     * The permit is given back.
     *
     * @param who whose it was
     * @param held how long since it was sent, or granted where nobody told
     * @param ending how it ended
     */
    default void released(Subject who, Duration held, Ending ending) {}

    /**
     * A proxy did not let an attempt through. Only adapters that know proxies tell.
     *
     * @param who the attempt
     * @param proxy host and port of the proxy, never its login
     * @param error what came of it
     */
    default void proxyFailed(Subject who, String proxy, Throwable error) {}

    /**
     * A listener of one attempt alone, which can add to the Reactor Context that the attempt's source sees. Of the events of
     * {@link RateLimitListener} it is told those that are about its attempt.
     */
    interface AttemptListener extends RateLimitListener {

        /**
         * What the attempt's source sees in its Context. Called once, after the grant.
         *
         * @param context the caller's Context with what the operator adds
         * @return the Context for the source
         */
        default Context context(Context context) {
            return context;
        }
    }

    /** Who asks for a permit. Equal for all events of one permit, so that it can be a key. */
    final class Subject {

        private final Object permit;
        private final String limiter;
        private final List<String> keys;
        private final @Nullable String endpoint;
        private final String lane;
        private final Demand demand;
        private final int attempt;

        Subject(
                Object permit,
                String limiter,
                List<String> keys,
                @Nullable String endpoint,
                String lane,
                Demand demand,
                int attempt) {
            this.permit = permit;
            this.limiter = limiter;
            this.keys = keys;
            this.endpoint = endpoint;
            this.lane = lane;
            this.demand = demand;
            this.attempt = attempt;
        }

        /**
         * The limiter's name.
         *
         * @return the name
         */
        public String limiter() {
            return limiter;
        }

        /**
         * The scope keys from broad to narrow, as they are shown to people: endpoints as they are, credentials as a short
         * hash. There may be any number of different ones.
         *
         * @return the keys, empty for the root scope
         */
        public List<String> keys() {
            return keys;
        }

        /**
         * The endpoint as the limiter was configured with it: the value or pattern of a scope by {@code endpoint}. There are
         * only as many different ones as were configured, so it can be the tag of a metric.
         *
         * @return the value or pattern, or null if limits are configured for none that matches
         */
        public @Nullable String endpoint() {
            return endpoint;
        }

        /**
         * The lane.
         *
         * @return its name
         */
        public String lane() {
            return lane;
        }

        /**
         * What is asked for. Its attributes may be credentials.
         *
         * @return the demand
         */
        public Demand demand() {
            return demand;
        }

        /**
         * Which attempt of its call it is.
         *
         * @return 1 for the first, and for a permit that is no attempt of a call
         */
        public int attempt() {
            return attempt;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Subject subject && permit == subject.permit;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(permit);
        }

        @Override
        public String toString() {
            return "attempt " + attempt + " under limiter '" + limiter + "' for " + keys + " in lane " + lane;
        }
    }

    /**
     * What a permit waits for when it begins to wait.
     *
     * @param blockedBy the limit that holds it up; null if it is a cooldown, a backoff, or another's turn
     * @param ahead how many requests stand before it in its own line
     * @param expected how long it will wait at least; null if that is not a matter of time
     */
    record Queue(
            @Nullable Limit blockedBy, long ahead, @Nullable Duration expected) {}

    /**
     * A closing of a scope.
     *
     * @param limiter the limiter's name
     * @param keys the scope's keys from broad to narrow, as they are shown to people; empty for the root
     * @param endpoint the endpoint as it was configured, see {@link Subject#endpoint()}
     * @param remaining how long it is closed from now on
     * @param added how much of that is new
     * @param cause why
     */
    record Closing(
            String limiter,
            List<String> keys,
            @Nullable String endpoint,
            Duration remaining,
            Duration added,
            Cause cause) {}

    /** Why a scope is closed. */
    enum Cause {
        /** The server refused a call for a limit. */
        REFUSED,
        /** A response said that a quota is used up. */
        EMPTIED,
        /** The server answered with a 503 that says no more. */
        UNAVAILABLE,
        /** Too many of its calls failed or timed out: {@link RateLimiterSpec#breaker()}. */
        FAILING,
        /** {@link RateLimiter#pause}. */
        BY_HAND
    }

    /**
     * Another attempt to come.
     *
     * @param next its number, 2 for the first retry
     * @param reason what made it necessary
     * @param delay how long it waits at least: its backoff, or what its scope stays closed
     * @param failure what the attempt failed with
     */
    record Retry(int next, Reason reason, Duration delay, Throwable failure) {}

    /** Why an attempt is followed by another. */
    enum Reason {
        /** The server refused it for a limit. */
        THROTTLED,
        /** The server answered with a 503 that says no more. */
        UNAVAILABLE,
        /** The server failed otherwise. */
        FAILED,
        /** Nothing reached the server. */
        NOT_SENT,
        /** It broke off, or timed out, after it was sent. */
        INTERRUPTED
    }

    /** How a permit ended. */
    enum Ending {
        /** Its attempt ended, or its holder gave it back. */
        DONE,
        /** The caller was cancelled after it was sent, or may have been: it stays charged. */
        CANCELLED,
        /** The caller was cancelled before it was sent: it is given back whole. */
        REFUNDED
    }
}
