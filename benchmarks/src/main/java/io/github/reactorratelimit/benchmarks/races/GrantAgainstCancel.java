package io.github.reactorratelimit.benchmarks.races;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** The only slot is freed while the one who waits for it leaves. */
@JCStressTest
@Outcome(
        id = "1, 1",
        expect = Expect.ACCEPTABLE,
        desc = "The grant was first: it had the permit, and the slot is free again")
@Outcome(
        id = "0, 1",
        expect = Expect.ACCEPTABLE,
        desc = "The cancel was first: nobody had the permit, and the slot is free")
@Outcome(expect = Expect.FORBIDDEN, desc = "A permit was lost or doubled")
@State
public class GrantAgainstCancel {

    private final RateLimiter limiter = RateLimiter.of(Limit.inFlight(1));
    private final Permit held = limiter.tryAcquire().permit();
    private final Waiter waiter = new Waiter();

    /** Lets it wait. */
    public GrantAgainstCancel() {
        limiter.acquire(Demand.one()).subscribe(waiter);
    }

    /** Frees the slot. */
    @Actor
    public void release() {
        held.release();
    }

    /** Leaves. */
    @Actor
    public void cancel() {
        waiter.cancel();
    }

    /**
     * Counts.
     *
     * @param r permits had, permits free
     */
    @Arbiter
    public void count(II_Result r) {
        r.r1 = waiter.giveBack();
        r.r2 = (int) limiter.snapshot().root().limits().get(0).available();
    }
}
