package io.github.reactorratelimit.test;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The service in virtual time, where requests take time and are in flight meanwhile. */
@InVirtualTime
class SimulatedOneNoteTest {

    private static final SimulatedRequest PAGE = SimulatedRequest.get("/pages");

    private final VirtualTime time;
    private final SimulatedService service;
    private final List<String> answers = new ArrayList<>();

    SimulatedOneNoteTest(VirtualTime time) {
        this.time = time;
        this.service = OneNoteRules.create()
                .takes(ofMillis(200))
                .fault(Fault.nth(6, Reply.status(503)))
                .simulate()
                .on(time::scheduler);
    }

    private void call(String user, int times) {
        for (int i = 0; i < times; i++) {
            service.call(PAGE.token(user)).subscribe(reply -> answers.add(user + " " + reply.status()));
        }
    }

    @Test
    void a_user_has_five_in_flight_until_they_are_answered() {
        call("anna", 5);
        assertThat(answers).isEmpty();
        call("anna", 1);
        assertThat(answers).containsExactly("anna 429");
        time.advance(ofMillis(200));
        assertThat(answers).hasSize(6).containsOnlyOnce("anna 429");
    }

    @Test
    void a_place_in_flight_is_free_when_its_request_is_answered_and_a_fault_takes_as_long() {
        call("anna", 5);
        time.advance(ofMillis(200));
        call("anna", 5);
        time.advance(ofMillis(199));
        assertThat(answers).hasSize(5);
        time.advance(ofMillis(1));
        assertThat(answers).hasSize(10).containsOnlyOnce("anna 503").doesNotContain("anna 429");
    }

    @Test
    void an_application_has_twenty_in_flight() {
        for (String user : List.of("a", "b", "c", "d")) {
            call(user, 5);
        }
        call("e", 1);
        assertThat(answers).containsExactly("e 429");
        assertThat(service.log().entries().get(20).reply().header("x-ms-throttle-scope"))
                .isEqualTo("Application");
        time.advance(ofSeconds(1));
        call("a", 1);
        assertThat(answers).hasSize(22).endsWith("a 429");
    }

    @Test
    void the_parts_of_a_batch_are_in_flight_together() {
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            parts.add("{\"id\":\"" + i + "\",\"method\":\"GET\",\"url\":\"/pages/" + i + "\"}");
        }
        service.call(SimulatedRequest.post("/$batch").body("{\"requests\":[" + String.join(",", parts) + "]}"))
                .flatMap(SimulatedResponse::bodyAsString)
                .subscribe(answers::add);
        assertThat(answers).isEmpty();
        time.advance(ofMillis(200));
        assertThat(answers).hasSize(1);
        assertThat(answers.get(0)).containsOnlyOnce("\"status\":429").contains("\"id\":\"5\",\"status\":429");
    }
}
