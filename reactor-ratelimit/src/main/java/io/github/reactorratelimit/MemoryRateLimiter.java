package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/** The limiter of one process; the books of its limits may be in a store that others share. */
final class MemoryRateLimiter implements RateLimiter {

    private final Admission admission;
    private final RateLimitOperator calls;
    private volatile RateLimiterSpec spec;

    private MemoryRateLimiter(RateLimiterSpec spec, @Nullable LimitStore store) {
        this.spec = spec;
        this.admission = new Admission(spec.settings(), spec.rootLimits(), spec.scopes(), spec.schedulers(), store);
        this.calls = RateLimitOperator.of(admission, spec.dialect());
    }

    static MemoryRateLimiter of(RateLimiterSpec spec, @Nullable LimitStore store) {
        MemoryRateLimiter limiter = new MemoryRateLimiter(spec, store);
        Herald herald = limiter.admission.herald();
        if (herald != null) {
            herald.built(limiter);
        }
        return limiter;
    }

    @Override
    public Mono<Permit> acquire(Demand demand) {
        return calls.acquire(demand);
    }

    @Override
    public Decision tryAcquire(Demand demand) {
        return admission.decisions().tryAcquire(calls.priced(demand));
    }

    @Override
    public Mono<Decision> ask(Demand demand) {
        return admission.decisions().ask(calls.priced(demand));
    }

    @Override
    public Decision estimate(Demand demand) {
        return admission.decisions().estimate(calls.priced(demand));
    }

    @Override
    public RateLimitOperator calls() {
        return calls;
    }

    @Override
    public RateLimiterSpec spec() {
        return spec;
    }

    @Override
    public void change(RateLimiterSpec changed) {
        spec.checkOnlyLimitsDiffer(changed);
        admission.controls().change(changed.rootLimits(), changed.scopes());
        spec = changed;
        Herald herald = admission.herald();
        if (herald != null) {
            herald.changed();
        }
    }

    @Override
    public void pause(Demand whom, Duration duration) {
        if (duration.isNegative()) {
            throw new IllegalArgumentException("a pause must not be negative, was " + duration);
        }
        admission.controls().pause(whom, Exact.nanos(duration));
    }

    @Override
    public void resume(Demand whom) {
        admission.controls().resume(whom);
    }

    @Override
    public Duration time() {
        return Duration.ofNanos(admission.now());
    }

    @Override
    public Mono<ScopeState> status(Demand whom) {
        return admission.controls().status(whom);
    }

    @Override
    public Mono<Void> reset(Demand whom) {
        return admission.controls().reset(whom);
    }

    @Override
    public RateLimiterSnapshot snapshot() {
        return admission.controls().snapshot();
    }

    @Override
    public void dispose() {
        admission.passes().dispose();
    }

    @Override
    public boolean isDisposed() {
        return admission.passes().isDisposed();
    }

    /** How often a node was asked whether a candidate fits; a figure for tests. */
    long evaluations() {
        return admission.controls().evaluations();
    }

    @Override
    public String toString() {
        return "RateLimiter '" + admission.settings().name() + "'";
    }
}
