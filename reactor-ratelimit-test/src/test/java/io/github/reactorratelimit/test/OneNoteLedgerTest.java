package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The decisions alone. */
class OneNoteLedgerTest extends OneNoteContract {

    private static final long HOUR = 3_600_000;

    private RateLimitedService service = OneNoteRules.create().service();

    @Override
    void start(OneNoteRules rules) {
        service = rules.service();
    }

    @Override
    Answer at(long afterMillis, SimulatedRequest request) {
        Reply reply = service.answer(request, ServiceContract.W0 + afterMillis);
        return Answer.of(reply.status(), reply.headers(), reply.body());
    }

    @Override
    RequestLog log() {
        return service.log();
    }

    @Test
    void a_user_has_400_an_hour() {
        start(OneNoteRules.create());
        for (int minute = 0; minute < 4; minute++) {
            assertThat(last(minute * MINUTE, "anna", 100)).startsWith("200");
        }
        assertThat(text(at(4 * MINUTE, page("anna")))).isEqualTo("429 User 1");
        assertThat(text(at(HOUR, page("anna")))).isEqualTo("200 null null");
    }

    @Test
    void an_application_has_240_a_minute_and_800_an_hour() {
        start(OneNoteRules.create());
        assertThat(last(0, "anna", 120)).isEqualTo("200 null 1");
        assertThat(last(0, "ben", 119)).isEqualTo("200 null 0.995");
        assertThat(last(0, "cleo", 1)).isEqualTo("200 null 1");
        assertThat(last(0, "cleo", 1)).isEqualTo("429 Application 1");
        assertThat(last(0, "anna", 1)).isEqualTo("429 User, Application 1");
        for (int minute = 1; minute <= 4; minute++) {
            last(minute * MINUTE, "d" + minute, 120);
        }
        assertThat(last(5 * MINUTE, "cleo", 80)).isEqualTo("200 null 1");
        assertThat(last(5 * MINUTE, "cleo", 1)).isEqualTo("429 Application 1");
    }
}
