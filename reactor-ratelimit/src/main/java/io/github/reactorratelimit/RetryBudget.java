package io.github.reactorratelimit;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A bound on retries for all calls together, so that a server in trouble isn't met with a multiple of the load: every
 * retry costs tokens, every success returns some. Refusals for a limit cost nothing. Thread-safe, non-blocking; calls that
 * are given the same budget share it.
 *
 * <p>Default: 500 tokens, a retry costs 5, a success returns 1, shared by all calls of one limiter.
 */
public final class RetryBudget {

    private final long tokens;
    private final long retryCost;
    private final long successReturn;
    private final AtomicLong left;

    private RetryBudget(long tokens, long retryCost, long successReturn) {
        this.tokens = tokens;
        this.retryCost = retryCost;
        this.successReturn = successReturn;
        this.left = new AtomicLong(tokens);
    }

    /**
     * A full budget.
     *
     * @param tokens how many it holds at most, positive
     * @param retryCost what a retry costs, positive
     * @param successReturn what a success returns, positive
     * @return the budget
     * @throws IllegalArgumentException if a figure is not positive
     */
    public static RetryBudget of(long tokens, long retryCost, long successReturn) {
        if (tokens <= 0 || retryCost <= 0 || successReturn <= 0) {
            throw new IllegalArgumentException("a retry budget's figures must be positive, were " + tokens + ", "
                    + retryCost + " and " + successReturn);
        }
        return new RetryBudget(tokens, retryCost, successReturn);
    }

    /**
     * The default budget, full.
     *
     * @return 500 tokens, a retry costs 5, a success returns 1
     */
    public static RetryBudget standard() {
        return of(500, 5, 1);
    }

    /**
     * What is left.
     *
     * @return tokens
     */
    public long left() {
        return left.get();
    }

    boolean takeRetry() {
        long now = left.get();
        while (now >= retryCost) {
            if (left.compareAndSet(now, now - retryCost)) {
                return true;
            }
            now = left.get();
        }
        return false;
    }

    void returnSuccess() {
        long now = left.get();
        while (now < tokens && !left.compareAndSet(now, Math.min(tokens, Exact.add(now, successReturn)))) {
            now = left.get();
        }
    }
}
