package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Headers;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;

/** What an adapter may say about an attempt whose answer has a body to come, or whose request can be sent once only. */
class HeldPermitTest {

    private static final Headers NONE = Headers.of();

    private final VirtualTime time = new VirtualTime();
    private final RateLimiter limiter = time.limiter(Limit.inFlight(1), Limit.of(10, ofSeconds(1)));
    private Runnable permit = () -> {};
    private final List<String> answers = new ArrayList<>();

    private Mono<String> held(RateLimitOperator calls) {
        return calls.exchange(Demand.one(), exchange -> {
            exchange.sent();
            assertThat(exchange.head(200, NONE).passes()).isTrue();
            permit = exchange.hold();
            return Mono.just("answer");
        });
    }

    private long free() {
        return limiter.snapshot().root().limits().get(0).available();
    }

    @Test
    void a_held_permit_outlasts_the_answer_until_it_is_given_back() {
        Disposable call = held(limiter.calls()).subscribe(answers::add);

        assertThat(answers).containsExactly("answer");
        assertThat(call.isDisposed()).isTrue();
        assertThat(free()).isZero();
        permit.run();
        permit.run();
        assertThat(free()).isEqualTo(1);
    }

    @Test
    void the_next_in_line_goes_when_it_is_given_back() {
        Disposable first = held(limiter.calls()).subscribe(answers::add);
        Disposable second = Mono.just("second").transform(limiter.limit()).subscribe(answers::add);

        assertThat(answers).containsExactly("answer");
        permit.run();
        assertThat(answers).containsExactly("answer", "second");
        first.dispose();
        second.dispose();
    }

    @Test
    void cancelling_after_the_answer_cancels_the_source_and_gives_it_back() {
        List<String> signals = new ArrayList<>();
        Mono<String> call = limiter.calls().exchange(Demand.one(), exchange -> {
            exchange.head(200, NONE);
            permit = exchange.hold();
            return Mono.just("answer").doOnCancel(() -> signals.add("source cancelled"));
        });
        Disposable reading = call.flatMap(answer -> Mono.never()).subscribe();
        assertThat(free()).isZero();

        reading.dispose();

        assertThat(free()).isEqualTo(1);
        assertThat(signals).containsExactly("source cancelled");
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void a_call_that_is_cancelled_while_its_request_is_written_is_charged(boolean begun) { // B22
        Disposable call = limiter.calls()
                .<String>exchange(Demand.one(), exchange -> {
                    if (begun) {
                        exchange.sending();
                    }
                    return Mono.never();
                })
                .subscribe();
        call.dispose();
        assertThat(limiter.snapshot().root().limits().get(1).available()).isEqualTo(begun ? 9 : 10);
        assertThat(free()).isEqualTo(1);
    }

    @Test
    void cancelling_after_the_answer_of_a_second_attempt_does_so_too() {
        List<String> signals = new ArrayList<>();
        Mono<String> call = limiter.calls().exchange(Demand.one(), exchange -> {
            Verdict verdict = exchange.head(exchange.attempt() == 1 ? 429 : 200, Headers.of("Retry-After", "1"));
            if (!verdict.passes()) {
                return Mono.error(verdict.failure());
            }
            permit = exchange.hold();
            return Mono.just("answer").doOnCancel(() -> signals.add("source cancelled"));
        });
        Disposable reading =
                call.doOnNext(answers::add).flatMap(answer -> Mono.never()).subscribe();
        time.advance(ofSeconds(5));
        assertThat(answers).containsExactly("answer");
        assertThat(free()).isZero();

        reading.dispose();

        assertThat(free()).isEqualTo(1);
        assertThat(signals).containsExactly("source cancelled");
    }

    @Test
    void an_attempt_that_holds_and_then_fails_ends_as_ever() {
        Mono<String> call = limiter.calls().exchange(Demand.one(), exchange -> {
            exchange.head(200, NONE);
            permit = exchange.hold();
            return Mono.error(new IllegalStateException("broken"));
        });
        Disposable failed = call.subscribe(answers::add, error -> answers.add(error.getMessage()));

        assertThat(answers).containsExactly("broken");
        assertThat(free()).isEqualTo(1);
        permit.run();
        assertThat(free()).isEqualTo(1);
        failed.dispose();
    }

    @Test // B28
    void an_unrepeatable_attempt_hands_its_refusal_on() {
        Mono<String> call = limiter.calls().exchange(Demand.of("method", "GET"), exchange -> {
            exchange.unrepeatable();
            answers.add("attempt " + exchange.attempt());
            return exchange.head(429, Headers.of("Retry-After", "1")).passes() ? Mono.just("429") : Mono.empty();
        });
        Disposable refused = call.subscribe(answers::add);
        time.advance(ofSeconds(10));

        assertThat(answers).containsExactly("attempt 1", "429");
        refused.dispose();
    }

    @Test // B28
    void an_attempt_that_never_came_to_use_its_body_up_is_tried_again() {
        Mono<String> call = limiter.calls().exchange(Demand.of("method", "POST"), exchange -> {
            if (exchange.attempt() == 1) {
                exchange.failing(Failure.notSent());
                return Mono.error(new IllegalStateException("no connection"));
            }
            exchange.unrepeatable();
            exchange.head(200, NONE);
            return Mono.just("sent");
        });
        Disposable sent = call.subscribe(answers::add);
        time.advance(ofSeconds(10));

        assertThat(answers).containsExactly("sent");
        sent.dispose();
    }
}
