package io.github.reactorratelimit.benchmarks.races;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** The only slot is freed while the scope is closed. */
@JCStressTest
@Outcome(id = "1, 0, 1", expect = Expect.ACCEPTABLE, desc = "The grant was first: it has the permit, nobody waits")
@Outcome(id = "0, 1, 1", expect = Expect.ACCEPTABLE, desc = "The pause was first: it still waits, the slot is free")
@Outcome(expect = Expect.FORBIDDEN, desc = "Granted while closed, forgotten, or lost")
@State
public class PauseAgainstGrant {

    private final RateLimiter limiter = RateLimiter.of(Limit.inFlight(1));
    private final Permit held = limiter.tryAcquire().permit();
    private final Waiter waiter = new Waiter();

    /** Lets it wait. */
    public PauseAgainstGrant() {
        limiter.acquire(Demand.one()).subscribe(waiter);
    }

    /** Frees the slot. */
    @Actor
    public void release() {
        held.release();
    }

    /** Closes the scope. */
    @Actor
    public void pause() {
        limiter.pause(Demand.one(), Duration.ofDays(1));
    }

    /**
     * Counts.
     *
     * @param r permits had, demands waiting, permits free
     */
    @Arbiter
    public void count(III_Result r) {
        r.r1 = waiter.giveBack();
        r.r2 = limiter.snapshot().waiting();
        r.r3 = (int) limiter.snapshot().root().limits().get(0).available();
        limiter.dispose();
    }
}
