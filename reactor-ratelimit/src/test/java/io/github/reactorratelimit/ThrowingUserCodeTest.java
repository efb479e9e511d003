package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.RetryScript.Response;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.assertj.core.api.ThrowableAssert;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** Readers, dialects and sources of a user that throw where they must not: the call ends, and its permit comes back. */
class ThrowingUserCodeTest {

    private final IllegalStateException broken = new IllegalStateException("the user's own mistake");
    private final AssertionError worse = new AssertionError("one that is no exception");

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RateLimiter limiter = RateLimiter.named("api")
            .limit(Limit.inFlight(1))
            .dialect(Dialects.standard().adjust((signal, headers) -> {
                if (headers.first("X-Broken") != null) {
                    throw broken;
                }
                return signal;
            }))
            .scheduler(() -> time)
            .jitter(0)
            .random(() -> 0.5)
            .build();
    private final RetryScript server = new RetryScript(time);

    @AfterEach
    void every_permit_is_back() {
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(1);
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().timers()).isZero();
    }

    private <T> TestSubscriber<T> run(Mono<T> call) {
        TestSubscriber<T> result = call.subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(5));
        assertThat(result.isTerminated()).isTrue();
        return result;
    }

    @Test
    void a_dialect_that_throws_is_replaced_by_the_standard_one() {
        server.then(429, "X-Broken", "1", "Retry-After", "7").then(200);
        TestSubscriber<Response> result =
                run(server.call().transform(server.on(limiter.calls()).limit()));
        assertThat(result.getReceivedOnNext()).hasSize(1);
        assertThat(server.times().get(1)).isEqualTo(ofSeconds(7));
    }

    @Test
    void headers_that_throw_say_nothing() {
        Headers throwing = line -> {
            throw broken;
        };
        RateLimitOperator calls = limiter.calls().responses(Response.class, new ResponseReader<>() {
            @Override
            public int status(Response response) {
                return response.status();
            }

            @Override
            public Headers headers(Response response) {
                return throwing;
            }
        });
        assertThat(run(Mono.just(Response.of(200)).transform(calls.limit())).getReceivedOnNext())
                .hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void a_response_reader_that_throws_fails_the_call_and_the_response_is_discarded(boolean inStatus) {
        List<Object> discarded = new ArrayList<>();
        RateLimitOperator calls = limiter.calls().responses(Response.class, new ResponseReader<>() {
            @Override
            public int status(Response response) {
                if (inStatus) {
                    throw broken;
                }
                return response.status();
            }

            @Override
            public Headers headers(Response response) {
                throw broken;
            }
        });
        TestSubscriber<Response> result =
                run(Mono.just(Response.of(200)).transform(calls.limit()).doOnDiscard(Response.class, discarded::add));
        assertThat(result.expectTerminalError()).isSameAs(broken);
        assertThat(discarded).hasSize(1);
    }

    @Test
    void an_error_of_a_function_ends_its_call_as_an_exception_does() {
        RateLimiter byUser = RateLimiter.named("by user")
                .scope(Scope.by("user").limitsBy(path -> {
                    throw worse;
                }))
                .build();
        Demand demand = Demand.of("user", "a");
        List<Mono<?>> calls = List.of(
                byUser.acquire(demand),
                Mono.just(1).transform(byUser.limit(demand)).as(Mono::from),
                Flux.just(1).transform(byUser.limitEach(demand)).as(Mono::from),
                Mono.just(1)
                        .transform(limiter.calls().limitBy(context -> {
                            throw worse;
                        }))
                        .as(Mono::from));
        assertThat(calls)
                .allSatisfy(call -> assertThat(run(call).expectTerminalError()).isSameAs(worse));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void a_response_that_cannot_be_freed_is_tried_again_all_the_same(boolean onSubscribe) {
        cannotBeFreed(onSubscribe, () -> {
            throw broken;
        });
        cannotBeFreed(onSubscribe, () -> {
            throw worse;
        });
    }

    private void cannotBeFreed(boolean onSubscribe, Runnable mistake) {
        List<Integer> wire = new ArrayList<>();
        RateLimitOperator calls = limiter.calls().responses(Response.class, new ResponseReader<>() {
            @Override
            public int status(Response response) {
                return response.status();
            }

            @Override
            public Headers headers(Response response) {
                return Headers.of();
            }

            @Override
            public Publisher<Void> discard(Response response) {
                if (onSubscribe) {
                    return subscriber -> mistake.run();
                }
                mistake.run();
                return Mono.empty();
            }
        });
        Mono<Response> call = Mono.fromSupplier(() -> {
            wire.add(1);
            return Response.of(wire.size() == 1 ? 429 : 200);
        });
        assertThat(run(call.transform(calls.limit())).getReceivedOnNext()).hasSize(1);
        assertThat(wire).hasSize(2);
    }

    @Test
    void a_failure_reader_that_throws_is_passed_over() {
        server.then("reset", Failure.notSent()).then(200);
        RateLimitOperator calls = server.on(limiter.calls().failures(error -> {
            throw broken;
        }));
        assertThat(run(server.call().transform(calls.limit())).getReceivedOnNext())
                .hasSize(1);
        assertThat(server.wire()).isEqualTo(2);
    }

    @Test
    void a_failure_that_no_reader_knows_reaches_the_caller_although_a_reader_threw() {
        IllegalArgumentException unknown = new IllegalArgumentException("nobody knows it");
        server.then(Mono.error(unknown));
        RateLimitOperator calls = server.on(limiter.calls().failures(error -> {
            throw broken;
        }));
        assertThat(run(server.call().transform(calls.limit())).expectTerminalError())
                .isSameAs(unknown);
    }

    @Test
    void a_source_that_throws_when_it_is_subscribed_fails_its_call() {
        Mono<String> source = new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super String> actual) {
                throw broken;
            }
        };
        assertThat(run(source.transform(limiter.limit())).expectTerminalError()).isSameAs(broken);
        assertThat(run(limiter.calls().<String>exchange(Demand.one(), exchange -> {
                            throw broken;
                        }))
                        .expectTerminalError())
                .isSameAs(broken);
    }

    @Test
    void a_source_that_answers_and_then_throws_has_answered() {
        List<Throwable> dropped = new ArrayList<>();
        Mono<String> source = new Mono<>() {
            @Override
            public void subscribe(CoreSubscriber<? super String> actual) {
                actual.onSubscribe(Operators.scalarSubscription(actual, "answer"));
                throw broken;
            }
        };
        TestSubscriber<String> result = TestSubscriber.builder()
                .contextPut("reactor.onErrorDropped.local", (Consumer<Throwable>) dropped::add)
                .build();
        source.transform(limiter.limit()).subscribe(result);
        assertThat(result.getReceivedOnNext()).containsExactly("answer");
        assertThat(dropped).containsExactly(broken);
    }

    /** What somebody writes who has no null checks. */
    @NullUnmarked
    private static final class NoDemand {
        static Demand from(Object whatever) {
            return null;
        }

        static Demand none() {
            return null;
        }
    }

    @Test
    void a_demand_function_that_gives_none_fails_its_call_and_names_the_rule() {
        assertThat(run(Mono.just("x").transform(limiter.calls().limitBy(NoDemand::from)))
                        .expectTerminalError())
                .isInstanceOf(NullPointerException.class)
                .hasMessage("the function of limitBy must give a demand, gave null");
    }

    @Test
    void costs_that_give_no_demand_are_named_by_every_way_to_a_permit() {
        RateLimiter costly = RateLimiter.named("costly").costs(NoDemand::from).build();
        RateLimitOperator calls = costly.calls();
        List<ThrowableAssert.ThrowingCallable> ways = List.of(
                () -> costly.acquire(Demand.one()),
                () -> costly.tryAcquire(Demand.one()),
                () -> costly.estimate(Demand.one()),
                () -> calls.limit(Demand.one()),
                () -> calls.limitEach(Demand.one()),
                () -> calls.exchange(Demand.one(), exchange -> Mono.empty()),
                () -> calls.exchangeMany(Demand.one(), exchange -> Mono.empty()),
                () -> Mono.just("x")
                        .transform(calls.limitBy(context -> Demand.one()))
                        .as(Mono::from)
                        .block());
        assertThat(ways)
                .allSatisfy(way -> assertThatThrownBy(way)
                        .isInstanceOf(NullPointerException.class)
                        .hasMessage("the function of costs must give a demand, gave null"));
    }

    @Test
    void a_demand_that_is_none_is_turned_down_where_it_is_given() {
        RateLimitOperator calls = limiter.calls();
        List<ThrowableAssert.ThrowingCallable> ways = List.of(
                () -> limiter.acquire(NoDemand.none()),
                () -> limiter.tryAcquire(NoDemand.none()),
                () -> limiter.estimate(NoDemand.none()),
                () -> calls.limit(NoDemand.none()),
                () -> calls.limitEach(NoDemand.none()),
                () -> calls.exchange(NoDemand.none(), exchange -> Mono.empty()),
                () -> calls.exchangeMany(NoDemand.none(), exchange -> Mono.empty()));
        assertThat(ways)
                .allSatisfy(way -> assertThatThrownBy(way)
                        .isInstanceOf(NullPointerException.class)
                        .hasMessage("demand"));
    }
}
