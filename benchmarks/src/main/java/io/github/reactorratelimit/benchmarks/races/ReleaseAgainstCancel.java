package io.github.reactorratelimit.benchmarks.races;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;
import reactor.core.Disposable;
import reactor.core.publisher.Sinks;

/** A call ends while it is cancelled. */
@JCStressTest
@Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "The slot is free exactly once")
@Outcome(expect = Expect.FORBIDDEN, desc = "The slot was lost, or freed twice")
@State
public class ReleaseAgainstCancel {

    private final RateLimiter limiter = RateLimiter.of(Limit.inFlight(1));
    private final Sinks.One<String> answer = Sinks.one();
    private final Disposable call = answer.asMono().transform(limiter.limit()).subscribe(value -> {}, error -> {});

    /** The answer comes. */
    @Actor
    public void answer() {
        answer.tryEmitValue("answer");
    }

    /** The caller leaves. */
    @Actor
    public void cancel() {
        call.dispose();
    }

    /**
     * Counts.
     *
     * @param r permits free
     */
    @Arbiter
    public void count(I_Result r) {
        r.r1 = (int) limiter.snapshot().root().limits().get(0).available();
    }
}
