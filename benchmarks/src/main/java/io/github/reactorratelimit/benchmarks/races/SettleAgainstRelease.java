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
import org.openjdk.jcstress.infra.results.II_Result;

/** A cost is corrected while its call ends, and corrected by two at once. */
@JCStressTest
@Outcome(id = "97, 1", expect = Expect.ACCEPTABLE, desc = "Corrected from 10 tokens to 3, once")
@Outcome(id = "95, 1", expect = Expect.ACCEPTABLE, desc = "Corrected from 10 tokens to 5, once")
@Outcome(expect = Expect.FORBIDDEN, desc = "Corrected twice, or the slot was lost")
@State
public class SettleAgainstRelease {

    private final RateLimiter limiter =
            RateLimiter.of(Limit.of(100, Duration.ofDays(1)).unit("tokens"), Limit.inFlight(1));
    private final Permit permit =
            limiter.tryAcquire(Demand.one().cost("tokens", 10)).permit();

    /** Corrects. */
    @Actor
    public void settle() {
        permit.settle("tokens", 3);
    }

    /** Corrects and releases. */
    @Actor
    public void settleAndRelease() {
        permit.settle("tokens", 5);
        permit.release();
    }

    /**
     * Counts.
     *
     * @param r tokens free, slots free
     */
    @Arbiter
    public void count(II_Result r) {
        r.r1 = (int) limiter.snapshot().root().limits().get(0).available();
        r.r2 = (int) limiter.snapshot().root().limits().get(1).available();
    }
}
