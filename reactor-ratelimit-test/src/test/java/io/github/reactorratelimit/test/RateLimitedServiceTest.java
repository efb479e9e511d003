package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class RateLimitedServiceTest extends ServiceContract {

    private RateLimitedService service = ServiceRules.create().service();

    @Override
    void start(ServiceRules rules) {
        service = rules.service();
    }

    @Override
    Answer at(long epochMillis, SimulatedRequest request) {
        Reply reply = service.answer(request, epochMillis);
        return Answer.of(reply.status(), reply.headers(), reply.body());
    }

    @Override
    RequestLog log() {
        return service.log();
    }

    @Test
    void rules_are_templates_that_later_rules_and_running_services_leave_alone() {
        ServiceRules one = ServiceRules.create().limit("/x", 1, Duration.ofSeconds(1));
        ServiceRules two = one.fault("/x", Fault.always(Reply.status(500)));
        RateLimitedService first = one.service();

        assertThat(first.answer(SimulatedRequest.get("/x"), 0).status()).isEqualTo(200);
        assertThat(one.service().answer(SimulatedRequest.get("/x"), 0).status()).isEqualTo(200);
        assertThat(two.service().answer(SimulatedRequest.get("/x"), 0).status()).isEqualTo(500);
    }

    @Test
    void a_user_can_bring_a_limit_of_his_own() {
        ServerLimit never = () -> new ServerLimit.Counter() {
            @Override
            public ServerLimit.Standing look(long nowMillis) {
                return new ServerLimit.Standing(7, 0, nowMillis + 2_500, nowMillis + 1_500);
            }

            @Override
            public void take(long nowMillis) {
                throw new AssertionError("nothing remained");
            }
        };
        Reply reply = ServiceRules.create().limit("/x", never).service().answer(SimulatedRequest.get("/x"), 1_000);

        assertThat(reply.status()).isEqualTo(429);
        assertThat(reply.header("Retry-After")).isEqualTo("2");
        assertThat(reply.header("X-RateLimit-Reset")).isEqualTo("3");
    }

    @Test
    void the_usual_answer_can_be_set_and_its_own_fields_win() {
        Reply usual = Reply.ok().header("X-RateLimit-Remaining", "99").body("[]");
        Reply reply = ServiceRules.create()
                .limit("/x", 3, Duration.ofSeconds(1))
                .reply("/x", usual)
                .service()
                .answer(SimulatedRequest.get("/x"), 0);

        assertThat(reply.body()).isEqualTo("[]");
        assertThat(Answer.of(reply.status(), reply.headers(), "").lines())
                .containsExactly(
                        "X-RateLimit-Remaining: 99",
                        "X-RateLimit-Limit: 3",
                        "X-RateLimit-Reset: 1",
                        "Date: Thu, 01 Jan 1970 00:00:00 GMT");
    }

    @Test
    void values_out_of_range_are_refused_where_they_enter() {
        assertThatThrownBy(() -> ServiceRules.create().limit("/x", 0, Duration.ofSeconds(1)))
                .hasMessage("permits must be at least 1, was 0");
        assertThatThrownBy(() -> ServiceRules.create().limit("/x", 1, Duration.ofNanos(1)))
                .hasMessage("period must be at least 1 ms, was PT0.000000001S");
        assertThatThrownBy(() -> ServiceRules.create().limit("x?y", 1, Duration.ofSeconds(1)))
                .hasMessage("a path must start with / and have no query, was x?y");
        assertThatThrownBy(() -> Reply.status(99)).hasMessage("status must be 200 to 599, was 99");
        assertThatThrownBy(() -> Reply.reset().body("x"))
                .hasMessage("a reply that is RESET has no body, start from Reply.ok() or status(n)");
        assertThatThrownBy(() -> Fault.everyNth(0, 503)).hasMessage("n must be at least 1, was 0");
    }

    @Test
    void a_filled_body_has_exactly_the_size_asked_for() {
        assertThat(Reply.ok().bodyOfSize(1_048_576).body()).hasSize(1_048_576).startsWith("{\"fill\":\"x");
        assertThat(Reply.ok().bodyOfSize(11).body()).isEqualTo("{\"fill\":\"\"}");
    }
}
