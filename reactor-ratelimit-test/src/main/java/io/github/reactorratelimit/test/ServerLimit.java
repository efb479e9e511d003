package io.github.reactorratelimit.test;

import java.time.Duration;

/**
 * How a service counts the requests of one endpoint and one token. It is a template: every pair of endpoint and token
 * gets a {@link Counter} of its own.
 *
 * <p>A user may write another one to simulate a service that counts differently. Counters are called under the lock of
 * their service, so they need none, and they are told the time in milliseconds since the epoch.
 */
@FunctionalInterface
public interface ServerLimit {

    /** The {@link Standing#limit() limit} of a counter that has no quota fields to tell. */
    long UNTOLD = -1;

    /**
     * A fresh count, as for a token that has never been seen.
     *
     * @return a counter with nothing counted
     */
    Counter newCounter();

    /**
     * A fixed window: it starts with the first request that comes when none is open, lets {@code permits} through, and
     * refuses the others until it ends. The next request starts the next window. Refused requests cost nothing.
     *
     * @param permits how many requests pass per window, at least 1
     * @param period the length of the window, at least 1 ms, counted in whole milliseconds
     * @return the limit
     */
    static ServerLimit fixedWindow(int permits, Duration period) {
        Checks.atLeastOne("permits", permits);
        Checks.atLeastOneMilli("period", period);
        return () -> new FixedWindow(permits, period.toMillis());
    }

    /**
     * A sliding window: a request passes if fewer than {@code permits} passed in the period that ends with it. Two
     * requests exactly one period apart don't share one. Refused requests cost nothing.
     *
     * @param permits how many requests pass in any period, at least 1
     * @param period the length of the window, at least 1 ms, counted in whole milliseconds
     * @return the limit
     */
    static ServerLimit slidingWindow(int permits, Duration period) {
        Checks.atLeastOne("permits", permits);
        Checks.atLeastOneMilli("period", period);
        return () -> new SlidingWindow(permits, period.toMillis());
    }

    /**
     * An aligned window: it starts at whole multiples of its length on the server's clock, such as each full minute, lets
     * {@code permits} through, and refuses the others until the next one. Refused requests cost nothing.
     *
     * @param permits how many requests pass per window, at least 1
     * @param period the length of the window, at least 1 ms, counted in whole milliseconds
     * @return the limit
     */
    static ServerLimit alignedWindow(int permits, Duration period) {
        Checks.atLeastOne("permits", permits);
        Checks.atLeastOneMilli("period", period);
        return () -> new AlignedWindow(permits, period.toMillis());
    }

    /**
     * A token bucket: it is full at first, each request takes one, and it refills steadily. Refused requests cost nothing.
     *
     * @param capacity how many requests pass at once, at least 1
     * @param refill how many come back per period, at least 1
     * @param period at least 1 ms, counted in whole milliseconds
     * @return the limit
     * @throws IllegalArgumentException if a figure is too small, or the capacity times the milliseconds is above 10^18
     */
    static ServerLimit bucket(int capacity, int refill, Duration period) {
        Checks.atLeastOne("the capacity", capacity);
        Checks.atLeastOne("the refill", refill);
        Checks.atLeastOneMilli("period", period);
        if (period.toMillis() > RefilledBucket.MOST_PARTS / capacity) {
            throw new IllegalArgumentException(
                    "the capacity times the milliseconds of the period must be at most 10^18, was " + capacity
                            + " over " + period);
        }
        return () -> new RefilledBucket(capacity, refill, period.toMillis());
    }

    /**
     * A cap on what is in flight, of requests that all take the same time; the endpoint's usual reply should come {@link
     * Reply#after after} it. Refused requests cost nothing. It has no quota fields, for it is no quota.
     *
     * @param calls how many are worked on at once, at least 1
     * @param takes how long the service works on each, at least 1 ms, counted in whole milliseconds
     * @return the limit
     */
    static ServerLimit inFlight(int calls, Duration takes) {
        Checks.atLeastOne("calls", calls);
        Checks.atLeastOneMilli("the time that a call takes", takes);
        return () -> new InFlightCap(calls, takes.toMillis());
    }

    /** The count of one endpoint and token. */
    interface Counter {

        /**
         * What the next request would meet; changes nothing.
         *
         * @param nowMillis the time in milliseconds since the epoch
         * @return limit, remaining, reset and the time when a refused request would pass
         */
        Standing look(long nowMillis);

        /**
         * Counts one request. Called only when {@link #look(long)} at the same time had something remaining.
         *
         * @param nowMillis the time in milliseconds since the epoch
         */
        void take(long nowMillis);
    }

    /**
     * Where a counter stands.
     *
     * @param limit how many requests pass in all, or {@link #UNTOLD}
     * @param remaining how many of them are left; a request is refused at 0
     * @param resetMillis when the count starts anew, in milliseconds since the epoch
     * @param retryMillis when the next request can pass, in milliseconds since the epoch
     */
    record Standing(long limit, long remaining, long resetMillis, long retryMillis) {}
}
