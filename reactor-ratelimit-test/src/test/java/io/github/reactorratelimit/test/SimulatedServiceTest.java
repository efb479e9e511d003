package io.github.reactorratelimit.test;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.ResponseReader;
import java.io.EOFException;
import java.net.SocketException;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

class SimulatedServiceTest {

    private static final Instant START = Instant.parse(InVirtualTime.START);
    private static final Duration THERE = Duration.ofMillis(30);
    private static final Duration BACK = Duration.ofMillis(20);

    private final SimulatedService service = SimulatedService.create()
            .limit("/search", 5, Duration.ofSeconds(10))
            .reply("/late", Reply.ok().after(Duration.ofMillis(50)))
            .reply("/slow", Reply.ok().body("0123456789").slowly(5, Duration.ofSeconds(1)))
            .reply("/endless", Reply.ok().endless())
            .reply("/hang", Reply.hang())
            .reply("/reset", Reply.reset())
            .reply("/close", Reply.close())
            .reply("/reset-late", Reply.ok().body("0123").resetAfterHead())
            .reply("/close-late", Reply.ok().body("0123").closeAfterHead())
            .simulate()
            .latency(THERE, BACK);

    private Mono<Integer> status(String path) {
        return service.call(SimulatedRequest.get(path)).map(SimulatedResponse::status);
    }

    private Flux<String> body(String path) {
        return service.call(SimulatedRequest.get(path))
                .flatMapMany(SimulatedResponse::body)
                .map(bytes -> new String(bytes, UTF_8));
    }

    @Test
    void an_answer_takes_the_way_there_and_back_and_is_counted_when_it_arrives() {
        StepVerifier.withVirtualTime(() -> status("/search"))
                .expectSubscription()
                .expectNoEvent(THERE.plus(BACK))
                .expectNext(200)
                .verifyComplete();

        assertThat(service.log().entries().get(0).at()).isEqualTo(START.plusMillis(30));
    }

    @Test
    void a_limit_of_the_tests_own_that_fails_fails_the_call_and_does_not_let_it_hang() {
        ServerLimit broken = () -> {
            throw new IllegalStateException("a mistake");
        };
        SimulatedService mistaken =
                ServiceRules.create().limit("/search", broken).simulate().latency(THERE, BACK);

        StepVerifier.withVirtualTime(() -> mistaken.call(SimulatedRequest.get("/search")))
                .thenAwait(THERE.plus(BACK))
                .verifyErrorMessage("a mistake");
        assertThat(mistaken).hasToString("SimulatedService[RequestLog{}]");
    }

    @Test
    void times_that_it_tells_under_a_clock_of_1970_are_taken_for_times() {
        RateLimiter limiter = RateLimiter.named("told nothing").learn().build();
        ResponseReader<SimulatedResponse> reader =
                ResponseReader.of(SimulatedResponse::status, SimulatedResponse::headers);
        SimulatedService telling = ServiceRules.create()
                .limit("/search", 5, Duration.ofSeconds(10))
                .clockAhead(Duration.ofMinutes(5))
                .simulate()
                .latency(THERE, BACK);

        StepVerifier.withVirtualTime(() -> Flux.range(0, 20)
                        .flatMap(i -> telling.call(SimulatedRequest.get("/search"))
                                .transform(limiter.calls()
                                        .responses(SimulatedResponse.class, reader)
                                        .limit())))
                .thenAwait(Duration.ofSeconds(45))
                .expectNextCount(20)
                .verifyComplete();
        assertThat(telling.log().count(429)).isZero();
    }

    @Test
    void twelve_calls_wait_for_the_windows_of_the_service_in_virtual_time() {
        StepVerifier.withVirtualTime(() -> Flux.range(0, 12)
                        .delayElements(Duration.ofSeconds(1))
                        .concatMap(i -> status("/search"))
                        .collectList())
                .thenAwait(Duration.ofSeconds(13))
                .assertNext(statuses -> assertThat(statuses)
                        .containsExactly(200, 200, 200, 200, 200, 429, 429, 429, 429, 429, 200, 200))
                .verifyComplete();
    }

    @Test
    void a_service_built_outside_works_in_two_virtual_runs_and_keeps_its_counts() {
        for (int i = 1; i <= 2; i++) {
            StepVerifier.withVirtualTime(() -> status("/search"))
                    .thenAwait(Duration.ofSeconds(1))
                    .expectNext(200)
                    .verifyComplete();
            assertThat(service.log().count(200)).isEqualTo(i);
        }
    }

    @Test
    void a_call_assembled_outside_runs_in_the_time_in_which_it_is_subscribed() {
        Mono<Integer> call = status("/search");

        StepVerifier.withVirtualTime(() -> call)
                .thenAwait(Duration.ofSeconds(1))
                .expectNext(200)
                .verifyComplete();
        assertThat(service.log().entries().get(0).at()).isEqualTo(START.plusMillis(30));
    }

    @Test
    void a_request_that_was_sent_arrives_although_its_caller_left() {
        StepVerifier.withVirtualTime(() -> status("/search")
                        .takeUntilOther(Mono.delay(Duration.ofMillis(10)))
                        .then(Mono.delay(Duration.ofMillis(30))))
                .thenAwait(Duration.ofMillis(40))
                .expectNextCount(1)
                .verifyComplete();

        assertThat(service.log().count("/search")).isEqualTo(1);
    }

    @Test
    void each_subscription_is_a_request_and_none_is_sent_before() {
        SimulatedService near = service.latency(Duration.ZERO, Duration.ZERO);
        Mono<SimulatedResponse> call = near.call(SimulatedRequest.get("/search"));

        assertThat(service.log().count()).isZero();
        StepVerifier.create(call.repeat(1)).expectNextCount(2).verifyComplete();
        assertThat(service.log().count()).isEqualTo(2);
    }

    @Test
    void a_late_head_adds_its_delay() {
        StepVerifier.withVirtualTime(() -> status("/late"))
                .expectSubscription()
                .expectNoEvent(Duration.ofMillis(100))
                .expectNext(200)
                .verifyComplete();
    }

    @Test
    void a_slow_body_comes_in_pieces() {
        StepVerifier.withVirtualTime(() -> body("/slow"))
                .thenAwait(Duration.ofMillis(1_050))
                .expectNext("01")
                .expectNoEvent(Duration.ofSeconds(1))
                .expectNext("23")
                .thenAwait(Duration.ofSeconds(3))
                .expectNext("45", "67", "89")
                .verifyComplete();
    }

    @Test
    void an_endless_body_goes_on_and_a_hanging_request_is_never_answered() {
        StepVerifier.withVirtualTime(
                        () -> body("/endless").count().mergeWith(status("/hang").map(Long::valueOf)))
                .expectSubscription()
                .expectNoEvent(Duration.ofMinutes(1))
                .thenCancel()
                .verify();

        assertThat(service.log().countsByStatus()).hasToString("{0=1, 200=1}");
    }

    @Test
    void a_cut_connection_fails_before_or_after_the_head() {
        StepVerifier.withVirtualTime(() -> status("/reset"))
                .thenAwait(Duration.ofSeconds(1))
                .verifyError(SocketException.class);
        StepVerifier.withVirtualTime(() -> status("/close"))
                .thenAwait(Duration.ofSeconds(1))
                .verifyError(EOFException.class);
        StepVerifier.withVirtualTime(() -> body("/reset-late"))
                .thenAwait(Duration.ofSeconds(1))
                .expectNext("01")
                .verifyError(SocketException.class);
        StepVerifier.withVirtualTime(() -> body("/close-late"))
                .thenAwait(Duration.ofSeconds(1))
                .expectNext("01")
                .verifyError(EOFException.class);
    }
}
