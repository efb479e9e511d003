package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.RateLimitSignal;

/**
 * The right to one attempt. All methods are idempotent, may be called on any thread and never block.
 *
 * <p>Rate limits count a permit whether or not it is released; a limit on calls in flight holds it until
 * {@link #complete} or {@link #release}.
 */
public interface Permit {

    /**
     * Tells that the request is written now. Only the first call counts. Without it the grant is taken for the moment of
     * sending.
     */
    void sent();

    /**
     * Corrects an estimated cost, up or down, once per unit; a second correction of a unit is ignored, and so is one of a
     * permit that was given back unused. Room that comes back serves those who wait; an overuse is a debt that later callers
     * wait off. A correction never lifts a limit above its size. It may come at any time, after {@link #release} too:
     *
     * <ul>
     *   <li>A window, spaced or not, and a period of a calendar are corrected as long as they count the permit; after that
     *       nothing changes.
     *   <li>A bucket has no windows. An underuse comes back unless the bucket has been full since the call was sent: then it
     *       was refilled already. An overuse is a debt whenever it is told.
     *   <li>A total is corrected whenever it is told.
     * </ul>
     *
     * <p>A figure that nobody can mean, such as {@link Long#MAX_VALUE}, is no error: it blocks a window or a calendar until
     * they forget the permit, and a total for good. It costs a bucket what was asked and a hundred times its capacity, and
     * spaces a window by no more than a hundred times its limit.
     *
     * <p>What a response refuses for a limit, with a status of 400 and above, is settled at once: it counts as a request, and
     * costs nothing in any other unit.
     *
     * @param unit the unit of the cost
     * @param actual what was really used, not negative
     * @throws IllegalArgumentException if the figure is negative
     */
    void settle(String unit, long actual);

    /**
     * Hears what the response said about limits, without releasing: for answers whose body is still to come. The first
     * call marks the response head.
     *
     * @param signal what the response said
     */
    void hear(RateLimitSignal signal);

    /**
     * Hears what the response said, then releases, in one step: a slot that is freed never reaches the next caller before
     * the response had its say.
     *
     * @param signal what the response said
     */
    void complete(RateLimitSignal signal);

    /** Ends the attempt: what it held while in flight is free again. */
    void release();
}
