package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.Response;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** Several operators around one call: the innermost retries and hears, the others only limit. */
class LayersTest { // B29

    private static final Demand GET = Demand.of("method", "GET");

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RetryScript server = new RetryScript(time);

    private RateLimiter limiter(String name) {
        return RateLimiter.named(name)
                .limit(Limit.bucket(1000, 1, ofMinutes(60)), Limit.inFlight(2))
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5)
                .build();
    }

    private static long taken(RateLimiter limiter) {
        return 1000 - limiter.snapshot().root().limits().get(0).available();
    }

    private Mono<Response> layered(List<RateLimiter> innerToOuter) {
        Mono<Response> call = server.call();
        for (RateLimiter limiter : innerToOuter) {
            call = call.transform(server.on(limiter.calls()).<Response>limit(GET));
        }
        return call;
    }

    private TestSubscriber<Response> run(Mono<Response> call) {
        TestSubscriber<Response> result = call.subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(10));
        assertThat(result.isTerminated()).isTrue();
        return result;
    }

    private List<RateLimiter> five() {
        List<RateLimiter> limiters = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            limiters.add(limiter("layer-" + i));
        }
        return limiters;
    }

    @Test
    void five_layers_make_four_requests() {
        server.then("reset", Failure.interrupted());
        List<RateLimiter> limiters = five();
        TestSubscriber<Response> result = run(layered(limiters));
        assertThat(result.expectTerminalError()).isInstanceOfSatisfying(RetriesExhaustedException.class, e -> {
            assertThat(e.limiter()).isEqualTo("layer-0");
            assertThat(e.attempts()).isEqualTo(4);
        });
        assertThat(server.wire()).isEqualTo(4);
        assertThat(limiters.stream().map(LayersTest::taken)).containsExactly(4L, 1L, 1L, 1L, 1L);
    }

    @Test
    void five_layers_make_four_requests_of_failing_responses_too() {
        server.then(500);
        List<RateLimiter> limiters = five();
        TestSubscriber<Response> result = run(layered(limiters));
        assertThat(result.expectTerminalError()).isInstanceOf(RetriesExhaustedException.class);
        assertThat(server.wire()).isEqualTo(4);
        assertThat(limiters.stream().map(LayersTest::taken)).containsExactly(4L, 1L, 1L, 1L, 1L);
    }

    @Test
    void five_layers_hand_the_last_response_on_once() {
        server.then(500);
        Mono<Response> call = server.call();
        for (RateLimiter limiter : five()) {
            call = call.transform(server.on(limiter.calls())
                    .retry(RetryPolicy.standard().returnLastResponse())
                    .<Response>limit(GET));
        }
        assertThat(run(call).getReceivedOnNext()).containsExactly(Response.of(500));
        assertThat(server.wire()).isEqualTo(4);
        assertThat(server.discarded()).hasSize(3);
    }

    @Test
    void the_same_limiter_twice_on_one_call_retries_once() {
        server.then("reset", Failure.interrupted());
        RateLimiter limiter = limiter("twice");
        RetryPolicy three = RetryPolicy.attempts(3);
        Mono<Response> call = server.call()
                .transform(server.on(limiter.calls()).retry(three).<Response>limit(GET))
                .transform(server.on(limiter.calls()).retry(three).<Response>limit(GET));
        run(call);
        assertThat(server.wire()).isEqualTo(3);
        assertThat(taken(limiter)).isEqualTo(4);
    }

    @Test
    void a_refusal_closes_only_the_scope_of_the_innermost() {
        server.then(429, "Retry-After", "30").then(200);
        RateLimiter inner = limiter("inner");
        RateLimiter outer = limiter("outer");
        TestSubscriber<Response> result = layered(List.of(inner, outer)).subscribeWith(TestSubscriber.create());
        assertThat(inner.snapshot().root().closedFor()).isEqualTo(ofSeconds(30));
        assertThat(outer.snapshot().root().closedFor()).isZero();
        time.advanceTimeBy(ofSeconds(30));
        assertThat(result.getReceivedOnNext()).containsExactly(Response.of(200));
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(30));
    }

    @Test
    void an_inner_layer_that_does_not_retry_leaves_that_to_the_next() {
        server.then(500).then(429, "Retry-After", "5").then(200);
        RateLimiter inner = limiter("inner");
        RateLimiter outer = limiter("outer");
        Mono<Response> call = server.call()
                .transform(server.on(inner.calls()).retry(RetryPolicy.none()).<Response>limit(GET))
                .transform(server.on(outer.calls()).<Response>limit(GET));
        TestSubscriber<Response> result = run(call);
        assertThat(server.wire()).isLessThanOrEqualTo(3);
        assertThat(outer.snapshot().root().closedFor()).isZero();
        assertThat(result.getReceivedOnNext()).hasSize(1);
    }

    @Test
    void the_outer_timeout_does_not_cut_the_waits_of_the_inner() {
        server.then(429, "Retry-After", "60").then(429, "Retry-After", "60").then(200);
        TestSubscriber<Response> result = run(layered(List.of(limiter("inner"), limiter("outer"))));
        assertThat(result.getReceivedOnNext()).containsExactly(Response.of(200));
        assertThat(server.times()).containsExactly(ofSeconds(0), ofSeconds(60), ofSeconds(120));
    }

    @Test
    void an_inner_call_made_on_the_way_still_leaves_the_outer_call_limited() {
        RateLimiter outer = limiter("outer");
        RateLimiter tokens = limiter("tokens");
        server.then(200);
        Mono<Response> call = Mono.just("token")
                .transform(tokens.<String>limit())
                .flatMap(token -> server.call())
                .transform(server.on(outer.calls()).<Response>limit(GET));
        assertThat(run(call).getReceivedOnNext()).containsExactly(Response.of(200));
        assertThat(taken(outer)).isEqualTo(1);
        assertThat(taken(tokens)).isEqualTo(1);
    }

    @Test
    void calls_beside_each_other_retry_each_for_itself() {
        RateLimiter limiter = limiter("one");
        server.then("reset", Failure.interrupted())
                .then(200)
                .then("reset", Failure.interrupted())
                .then(200);
        Mono<Response> call = server.call().transform(server.on(limiter.calls()).<Response>limit(GET));
        TestSubscriber<Response> result = run(call.then(call));
        assertThat(result.getReceivedOnNext()).containsExactly(Response.of(200));
        assertThat(server.wire()).isEqualTo(4);
    }

    @Test
    void a_second_subscription_of_a_layered_call_retries_anew() {
        RateLimiter inner = limiter("inner");
        RateLimiter outer = limiter("outer");
        server.then("reset", Failure.interrupted())
                .then(200)
                .then("reset", Failure.interrupted())
                .then(200);
        Mono<Response> call = layered(List.of(inner, outer));
        assertThat(run(call).getReceivedOnNext()).containsExactly(Response.of(200));
        assertThat(run(call).getReceivedOnNext()).containsExactly(Response.of(200));
        assertThat(server.wire()).isEqualTo(4);
        assertThat(taken(outer)).isEqualTo(2);
    }
}
