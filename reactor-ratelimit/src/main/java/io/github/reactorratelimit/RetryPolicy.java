package io.github.reactorratelimit;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What is tried again, how often and until when. Immutable: every method returns a changed copy.
 *
 * <p>Which outcomes are tried again is not a matter of configuration: a refusal for a limit for any method, since the
 * server did not act; a failure before sending for any method; a 5xx other than 501 and 505, 408, 425, a reset or a
 * timeout after sending only if the call is idempotent; everything else never.
 *
 * <p>Defaults: 4 attempts, 20 refusals, backoff from 500 ms after a 503 and from 100 ms otherwise up to 20 s with full
 * jitter, no deadline, the limiter's retry budget, 20 s from sending to the response head.
 */
public final class RetryPolicy {

    private static final int STANDARD_ATTEMPTS = 4;
    private static final int STANDARD_REFUSALS = 20;
    private static final Duration CAP = Duration.ofSeconds(20);
    private static final Backoff STANDARD_BACKOFF = Backoff.exponential(Duration.ofMillis(100), CAP);
    private static final Backoff STANDARD_UNAVAILABLE = Backoff.exponential(Duration.ofMillis(500), CAP);
    private static final long STANDARD_TIMEOUT_NANOS = 20_000_000_000L;
    private static final RetryPolicy STANDARD = new RetryPolicy(
            STANDARD_ATTEMPTS,
            STANDARD_REFUSALS,
            STANDARD_BACKOFF,
            STANDARD_UNAVAILABLE,
            Exact.NEVER,
            STANDARD_TIMEOUT_NANOS,
            null,
            false);

    private final int attempts;
    private final int refusals;
    private final Backoff backoff;
    private final Backoff unavailable;
    private final long deadlineNanos;
    private final long timeoutNanos;
    private final @Nullable RetryBudget budget;
    private final boolean lastResponse;

    private RetryPolicy(
            int attempts,
            int refusals,
            Backoff backoff,
            Backoff unavailable,
            long deadlineNanos,
            long timeoutNanos,
            @Nullable RetryBudget budget,
            boolean lastResponse) {
        this.attempts = attempts;
        this.refusals = refusals;
        this.backoff = backoff;
        this.unavailable = unavailable;
        this.deadlineNanos = deadlineNanos;
        this.timeoutNanos = timeoutNanos;
        this.budget = budget;
        this.lastResponse = lastResponse;
    }

    /**
     * The defaults.
     *
     * @return the policy of an operator that is given none
     */
    public static RetryPolicy standard() {
        return STANDARD;
    }

    /**
     * Nothing is tried again; limits, signals and the attempt timeout still apply.
     *
     * @return a policy with one attempt and no patience with refusals
     */
    public static RetryPolicy none() {
        return STANDARD.withAttempts(1).refusals(0);
    }

    /**
     * The defaults with another number of attempts.
     *
     * @param attempts how often a call is tried at most, the first included; refusals for a limit do not count
     * @return the policy
     * @throws IllegalArgumentException if the number is not positive
     */
    public static RetryPolicy attempts(int attempts) {
        if (attempts <= 0) {
            throw new IllegalArgumentException("attempts must be positive, was " + attempts);
        }
        return STANDARD.withAttempts(attempts);
    }

    private RetryPolicy withAttempts(int number) {
        return new RetryPolicy(
                number, refusals, backoff, unavailable, deadlineNanos, timeoutNanos, budget, lastResponse);
    }

    /**
     * How many refusals for a limit one call bears; 20 unless said. They are not failures: they count neither as attempts
     * nor against the budget.
     *
     * @param most not negative
     * @return the changed policy
     * @throws IllegalArgumentException if the number is negative
     */
    public RetryPolicy refusals(int most) {
        if (most < 0) {
            throw new IllegalArgumentException("refusals must not be negative, was " + most);
        }
        return new RetryPolicy(attempts, most, backoff, unavailable, deadlineNanos, timeoutNanos, budget, lastResponse);
    }

    /**
     * The backoff after failures, 503 included.
     *
     * @param base the upper bound of the first wait
     * @param cap the most it grows to
     * @return the changed policy
     */
    public RetryPolicy backoff(Duration base, Duration cap) {
        return backoff(Backoff.exponential(base, cap));
    }

    /**
     * The backoff after failures, 503 included.
     *
     * @param wait the backoff
     * @return the changed policy
     */
    public RetryPolicy backoff(Backoff wait) {
        return new RetryPolicy(attempts, refusals, wait, wait, deadlineNanos, timeoutNanos, budget, lastResponse);
    }

    /**
     * Bounds the call from its subscription to the response head that is handed on, all attempts and waits together;
     * unbounded unless said. A wait that would pass it fails at once. What comes after that head is not bounded.
     *
     * @param longest positive
     * @return the changed policy
     * @throws IllegalArgumentException if the duration is not positive
     */
    public RetryPolicy deadline(Duration longest) {
        if (longest.isNegative() || longest.isZero()) {
            throw new IllegalArgumentException("a deadline must be positive, was " + longest);
        }
        return new RetryPolicy(
                attempts, refusals, backoff, unavailable, Exact.nanos(longest), timeoutNanos, budget, lastResponse);
    }

    /**
     * Bounds one attempt from sending to the response head; 20 s unless said. The head of a plain Mono is its first signal,
     * that of a plain Flux its first element.
     *
     * @param longest positive
     * @return the changed policy
     * @throws IllegalArgumentException if the duration is not positive
     */
    public RetryPolicy attemptTimeout(Duration longest) {
        if (longest.isNegative() || longest.isZero()) {
            throw new IllegalArgumentException("an attempt timeout must be positive, was " + longest);
        }
        return withTimeout(Exact.nanos(longest));
    }

    /**
     * Lets an attempt take as long as it takes.
     *
     * @return the changed policy
     */
    public RetryPolicy noTimeout() {
        return withTimeout(Exact.NEVER);
    }

    private RetryPolicy withTimeout(long nanos) {
        return new RetryPolicy(attempts, refusals, backoff, unavailable, deadlineNanos, nanos, budget, lastResponse);
    }

    /**
     * Bounds retries by this budget instead of the limiter's.
     *
     * @param shared the budget, shared with whoever else is given it
     * @return the changed policy
     */
    public RetryPolicy budget(RetryBudget shared) {
        return new RetryPolicy(
                attempts, refusals, backoff, unavailable, deadlineNanos, timeoutNanos, shared, lastResponse);
    }

    /**
     * Hands the last response on when the attempts are used up, where there is one, instead of failing with
     * {@link RetriesExhaustedException}.
     *
     * @return the changed policy
     */
    public RetryPolicy returnLastResponse() {
        return new RetryPolicy(attempts, refusals, backoff, unavailable, deadlineNanos, timeoutNanos, budget, true);
    }

    int attempts() {
        return attempts;
    }

    int refusals() {
        return refusals;
    }

    boolean isNone() {
        return attempts == 1 && refusals == 0;
    }

    long waitNanos(boolean after503, int n, double random) {
        return (after503 ? unavailable : backoff).waitNanos(n, random);
    }

    long deadlineNanos() {
        return deadlineNanos;
    }

    long timeoutNanos() {
        return timeoutNanos;
    }

    @Nullable
    RetryBudget budget() {
        return budget;
    }

    boolean returnsLastResponse() {
        return lastResponse;
    }
}
