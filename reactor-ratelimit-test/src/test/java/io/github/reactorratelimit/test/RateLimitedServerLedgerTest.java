package io.github.reactorratelimit.test;

import org.junit.jupiter.api.AfterEach;

/** The real server over loopback, on a clock of the test. */
class RateLimitedServerLedgerTest extends ServiceContract {

    private final ServerOnAClock server = new ServerOnAClock();

    @Override
    void start(ServiceRules rules) {
        server.start(rules::start);
    }

    @AfterEach
    void stop() {
        server.stop();
    }

    @Override
    Answer at(long epochMillis, SimulatedRequest request) {
        return server.at(epochMillis, request);
    }

    @Override
    RequestLog log() {
        return server.log();
    }
}
