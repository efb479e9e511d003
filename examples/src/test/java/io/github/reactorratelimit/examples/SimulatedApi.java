package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Verdict;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.SimulatedRequest;
import io.github.reactorratelimit.test.SimulatedResponse;
import io.github.reactorratelimit.test.SimulatedService;
import java.time.Duration;
import reactor.core.publisher.Mono;

/** The main job's service in the time of the scheduler in force, 5 ms away. */
final class SimulatedApi implements Api {

    private static final Duration WAY = Duration.ofMillis(5);

    private final SimulatedService service = Scenarios.service().simulate().latency(WAY, WAY);

    @Override
    public Mono<Integer> bare(String path, String token) {
        return service.call(SimulatedRequest.get(path).token(token)).map(SimulatedResponse::status);
    }

    @Override
    public Mono<Integer> limited(RateLimiter limiter, String path, String token) {
        Demand demand = Demand.of("endpoint", path).and("token", token).and("method", "GET");
        SimulatedRequest request = SimulatedRequest.get(path).token(token);
        return limiter.calls()
                .exchange(
                        demand,
                        exchange -> Mono.defer(() -> {
                                    exchange.sent();
                                    return service.call(request);
                                })
                                .flatMap(response -> {
                                    Verdict verdict = exchange.head(response.status(), response.headers());
                                    return verdict.passes()
                                            ? Mono.just(response.status())
                                            : Mono.error(verdict.failure());
                                }));
    }

    @Override
    public RequestLog log() {
        return service.log();
    }
}
