package io.github.reactorratelimit.test;

import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Something that goes wrong with some of the requests to an endpoint, in place of its usual answer. Immutable.
 *
 * <p>By default a fault stands behind the limits: it sees, and counts from 1, the requests of all tokens that the
 * limits let through; such a request has cost quota, and its answer carries the quota fields. {@link #beforeLimits()}
 * puts it in front.
 */
public final class Fault {

    private final LongPredicate strikes;
    private final Reply reply;
    private final boolean beforeLimits;

    private Fault(LongPredicate strikes, Reply reply, boolean beforeLimits) {
        this.strikes = strikes;
        this.reply = reply;
        this.beforeLimits = beforeLimits;
    }

    /**
     * Every n-th request is answered with this status; no {@code Retry-After} is added.
     *
     * @param n at least 1
     * @param status 200 to 599
     * @return the fault
     */
    public static Fault everyNth(int n, int status) {
        return everyNth(n, Reply.status(status));
    }

    /**
     * Every n-th request gets this reply.
     *
     * @param n at least 1
     * @param reply what it gets
     * @return the fault
     */
    public static Fault everyNth(int n, Reply reply) {
        Checks.atLeastOne("n", n);
        return new Fault(count -> count % n == 0, reply, false);
    }

    /**
     * Only the n-th request gets this reply.
     *
     * @param n at least 1
     * @param reply what it gets
     * @return the fault
     */
    public static Fault nth(int n, Reply reply) {
        Checks.atLeastOne("n", n);
        return new Fault(count -> count == n, reply, false);
    }

    /**
     * The first n requests get this reply.
     *
     * @param n at least 1
     * @param reply what they get
     * @return the fault
     */
    public static Fault first(int n, Reply reply) {
        Checks.atLeastOne("n", n);
        return new Fault(count -> count <= n, reply, false);
    }

    /**
     * Every request gets this reply.
     *
     * @param reply what they get
     * @return the fault
     */
    public static Fault always(Reply reply) {
        return new Fault(count -> true, reply, false);
    }

    /**
     * The same fault in front of the limits, as a gateway or a broken network would be: it sees every request, costs no
     * quota, and its answer carries no quota fields.
     *
     * @return a copy in front of the limits
     */
    public Fault beforeLimits() {
        return new Fault(strikes, reply, true);
    }

    boolean standsBeforeLimits() {
        return beforeLimits;
    }

    @Nullable
    Reply on(long count) {
        return strikes.test(count) ? reply : null;
    }
}
