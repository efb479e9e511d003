package io.github.reactorratelimit.test;

import static java.util.Objects.requireNonNull;
import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import reactor.test.scheduler.VirtualTimeScheduler;

/** The virtual form, on a scheduler of the test; each request is on its way until the time of its row. */
class SimulatedServiceLedgerTest extends ServiceContract {

    private final AtomicLong arrival = new AtomicLong();
    private VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private SimulatedService service = ServiceRules.create().simulate();

    @Override
    void start(ServiceRules rules) {
        VirtualTimeScheduler own = VirtualTimeScheduler.create();
        own.advanceTimeTo(Instant.ofEpochMilli(W0 - 1_000));
        time = own;
        service = rules.simulate()
                .on(() -> own)
                .latency(() -> Duration.ofMillis(arrival.get() - own.now(MILLISECONDS)), () -> Duration.ZERO);
    }

    @Override
    Answer at(long epochMillis, SimulatedRequest request) {
        arrival.set(epochMillis);
        CompletableFuture<SimulatedResponse> answer = service.call(request).toFuture();
        time.advanceTimeTo(Instant.ofEpochMilli(epochMillis));
        SimulatedResponse response = requireNonNull(answer.getNow(null), "no answer at its time");
        return Answer.of(response.status(), response.headers(), "");
    }

    @Override
    RequestLog log() {
        return service.log();
    }
}
