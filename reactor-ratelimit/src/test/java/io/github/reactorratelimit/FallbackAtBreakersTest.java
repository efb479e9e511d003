package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Fallback.Reason;
import io.github.reactorratelimit.RetryScript.Response;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** Who serves a call while the breaker of the preferred source is open. */
class FallbackAtBreakersTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RetryScript model = new RetryScript(time);
    private final RateLimiter limiter = limiter("gpt");
    private final RateLimiter spare = limiter("spare");
    private final PermitSource gpt = model.on(limiter.calls()).retry(RetryPolicy.none());
    private final Fallback llm = PermitSource.firstWithin(ofMinutes(5), gpt, spare);

    private RateLimiter limiter(String name) {
        return RateLimiter.named(name)
                .limit(Limit.of(1_000, ofSeconds(1)), Limit.inFlight(20))
                .scheduler(() -> time)
                .random(() -> 0.0)
                .breaker()
                .build();
    }

    @AfterEach
    void nobody_is_left_and_nothing_is_held() {
        for (RateLimiter one : List.of(limiter, spare)) {
            assertThat(one.snapshot().waiting()).isZero();
            assertThat(one.snapshot().root().limits().get(1).available()).isEqualTo(20);
        }
    }

    private TestSubscriber<String> ask(PermitSource source) {
        return source.use(
                        asked -> Demand.one(),
                        permit -> permit.source() == gpt ? model.call().cast(Object.class) : Mono.<Object>just("spare"))
                .map(answer -> answer instanceof Response response ? "gpt " + response.status() : "spare")
                .subscribeWith(TestSubscriber.create());
    }

    private void pass(Duration duration) {
        time.advanceTimeBy(duration);
    }

    private Mono<Response> later(int status) {
        return Mono.delay(ofSeconds(1), time).map(tick -> Response.of(status));
    }

    /** Ten calls fail, which is enough. */
    private void open() {
        for (int i = 0; i < 10; i++) {
            model.then(500);
            ask(gpt);
        }
    }

    @Test
    void a_breaker_that_is_open_is_left_at_once_however_long_a_wait_is_borne() {
        open();
        assertThat(ask(llm).getReceivedOnNext()).containsExactly("spare");
    }

    @Test
    void switched_off_its_rest_is_a_wait_like_any_other() {
        open();
        model.then(200);
        TestSubscriber<String> call = ask(llm.without(Reason.BREAKER));
        pass(ofSeconds(29));
        assertThat(call.getReceivedOnNext()).isEmpty();
        pass(ofSeconds(1));
        assertThat(call.getReceivedOnNext()).containsExactly("gpt 200");
    }

    @Test
    void it_is_left_where_nobody_goes_on_for_a_wait() {
        open();
        assertThat(ask(llm.without(Reason.WAIT)).getReceivedOnNext()).containsExactly("spare");
    }

    @Test
    void who_waits_already_leaves_when_it_opens() {
        for (int i = 0; i < 9; i++) {
            model.then(500);
            ask(gpt);
        }
        for (int i = 0; i < 20; i++) {
            model.then(later(500));
            ask(gpt);
        }
        TestSubscriber<String> call = ask(llm);
        assertThat(limiter.snapshot().waiting()).isEqualTo(1);
        pass(ofSeconds(1));
        assertThat(call.getReceivedOnNext()).containsExactly("spare");
    }

    @Test
    void when_the_rest_is_over_one_call_finds_out_and_others_go_on_until_it_has() {
        open();
        pass(ofSeconds(30));
        model.then(later(200));
        TestSubscriber<String> trial = ask(llm);
        assertThat(ask(llm).getReceivedOnNext()).containsExactly("spare");
        pass(ofSeconds(1));
        assertThat(trial.getReceivedOnNext()).containsExactly("gpt 200");
        model.then(200);
        TestSubscriber<String> next = ask(llm);
        assertThat(next.getReceivedOnNext()).containsExactly("gpt 200");
    }

    @Test
    void with_nobody_else_left_it_is_waited_for() {
        open();
        spare.pause(Demand.one(), ofMinutes(10));
        model.then(200);
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ofSeconds(2), gpt, spare));
        pass(ofSeconds(30));
        assertThat(call.getReceivedOnNext()).containsExactly("gpt 200");
    }
}
