package io.github.reactorratelimit;

import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

/** {@code limitEach()}, under a limit that is never reached. */
class LimitEachRulesTest extends OperatorRules {

    private final RateLimiter limiter = RateLimiter.of(Limit.inFlight(1_000));

    @Override
    Publisher<Integer> publisher(long elements) {
        return Flux.range(0, (int) Math.min(elements, Integer.MAX_VALUE)).transform(limiter.limitEach());
    }

    @Override
    Publisher<Integer> failing() {
        return Flux.<Integer>error(new IllegalStateException("broken")).transform(limiter.limitEach());
    }
}
