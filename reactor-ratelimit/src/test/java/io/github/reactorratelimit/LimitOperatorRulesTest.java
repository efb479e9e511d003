package io.github.reactorratelimit;

import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

/** {@code limit()} on a Flux, under a limit that is never reached. */
class LimitOperatorRulesTest extends OperatorRules {

    private final RateLimiter limiter = RateLimiter.of(Limit.inFlight(1_000));

    @Override
    Publisher<Integer> publisher(long elements) {
        return Flux.range(0, (int) Math.min(elements, Integer.MAX_VALUE)).transform(limiter.limit());
    }

    @Override
    Publisher<Integer> failing() {
        // The source is asked for on request only, so what fails before is the demand.
        return Flux.just(1).transform(limiter.calls().limitBy(context -> {
            throw new IllegalStateException("broken");
        }));
    }
}
