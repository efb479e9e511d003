package io.github.reactorratelimit.test;

import org.junit.jupiter.api.AfterEach;

/** The real server over loopback, on a clock of the test. */
class OneNoteServerTest extends OneNoteContract {

    private final ServerOnAClock server = new ServerOnAClock();

    @Override
    void start(OneNoteRules rules) {
        server.start(rules::start);
    }

    @AfterEach
    void stop() {
        server.stop();
    }

    @Override
    Answer at(long afterMillis, SimulatedRequest request) {
        return server.at(ServiceContract.W0 + afterMillis, request);
    }

    @Override
    RequestLog log() {
        return server.log();
    }
}
