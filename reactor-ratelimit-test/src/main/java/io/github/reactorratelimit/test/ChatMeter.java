package io.github.reactorratelimit.test;

/** One count of a simulated chat service: requests, or tokens. Times are milliseconds since the epoch. */
interface ChatMeter {

    /** How many pass at most at once. */
    long limit();

    /** How many would pass now. */
    long remaining(long nowMillis);

    /** When so many pass, now at the soonest. They are no more than the limit. */
    long passesAt(long cost, long nowMillis);

    /** When all of the limit is there again if nobody comes. */
    long fullAt(long nowMillis);

    /** Counts what {@link #passesAt} lets through now. */
    void take(long cost, long nowMillis);

    /** Gives back a part of what was taken then. */
    void giveBack(long cost, long takenMillis, long nowMillis);

    /** The most that passes in a span of this length. */
    long mostIn(long spanMillis);
}
