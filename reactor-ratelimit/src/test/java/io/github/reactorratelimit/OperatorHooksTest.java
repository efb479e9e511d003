package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.Response;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.Fuseable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** The operators among Reactor's own: assembly hooks, checkpoints, threads, fusion. */
class OperatorHooksTest {

    private static final Demand GET = Demand.of("method", "GET");

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RateLimiter limiter = RateLimiter.named("api")
            .limit(Limit.inFlight(3))
            .scheduler(() -> time)
            .jitter(0)
            .random(() -> 0.5)
            .build();

    @AfterEach
    void take_the_hooks_away() {
        Hooks.resetOnOperatorDebug();
        Hooks.resetOnEachOperator();
    }

    private void assertRetriesAndFails() {
        RetryScript server = new RetryScript(time)
                .then(429, "Retry-After", "5")
                .then("reset", Failure.interrupted())
                .then(200);
        RateLimitOperator calls = server.on(limiter.calls());
        TestSubscriber<Response> served = server.call()
                .checkpoint("inside")
                .transform(calls.<Response>limit(GET))
                .checkpoint("outside")
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(1));
        assertThat(served.getReceivedOnNext()).containsExactly(Response.of(200));
        assertThat(server.wire()).isEqualTo(3);
        RetryScript broken = new RetryScript(time).then("reset", Failure.interrupted());
        TestSubscriber<Response> failed = broken.call()
                .checkpoint("inside")
                .transform(broken.on(limiter.calls()).<Response>limit(GET))
                .checkpoint("outside")
                .subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMinutes(1));
        assertThat(failed.expectTerminalError()).isInstanceOf(RetriesExhaustedException.class);
        assertThat(broken.wire()).isEqualTo(4);
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(3);
    }

    @Test
    void checkpoints_change_nothing() {
        assertRetriesAndFails();
    }

    @Test
    void debugging_of_all_operators_changes_nothing() {
        Hooks.onOperatorDebug();
        assertRetriesAndFails();
        assertThat(Again.INSTANCE.getSuppressed()).isEmpty();
        List<Integer> paced = new ArrayList<>();
        Flux.range(1, 3).transform(limiter.<Integer>limitEach()).subscribe(paced::add);
        Flux.range(4, 2).transform(limiter.<Integer>limit()).subscribe(paced::add);
        limiter.acquire(Demand.one()).doOnNext(Permit::release).subscribe();
        assertThat(paced).containsExactly(1, 2, 3, 4, 5);
    }

    @Test
    void assembly_hooks_see_the_operators() {
        List<String> assembled = new ArrayList<>();
        Hooks.onEachOperator(publisher -> {
            assembled.add(publisher.getClass().getSimpleName());
            return publisher;
        });
        Mono.just(1).transform(limiter.<Integer>limit());
        Flux.just(1).transform(limiter.<Integer>limit());
        Flux.just(1).transform(limiter.<Integer>limitEach());
        assertThat(assembled).contains("MonoLimit", "FluxLimit", "FluxLimitEach");
    }

    @Test
    void sources_and_consumers_on_other_threads_are_served_in_order() {
        List<Integer> expected = IntStream.range(0, 1_000).boxed().toList();
        Flux<Integer> source = Flux.range(0, 1_000).publishOn(Schedulers.parallel());
        for (Flux<Integer> call : List.of(
                source.transform(limiter.<Integer>limit()),
                source.transform(limiter.<Integer>limit()).publishOn(Schedulers.single(), 7),
                source.subscribeOn(Schedulers.boundedElastic()).transform(limiter.<Integer>limit()),
                source.transform(limiter.<Integer>limitEach()),
                source.transform(limiter.<Integer>limitEach()).publishOn(Schedulers.single(), 7),
                source.subscribeOn(Schedulers.boundedElastic())
                        .transform(limiter.<Integer>limitEach())
                        .publishOn(Schedulers.parallel()),
                Flux.range(0, 1_000)
                        .flatMapSequential(n -> Mono.fromSupplier(() -> n)
                                .subscribeOn(Schedulers.parallel())
                                .transform(limiter.<Integer>limit())
                                .publishOn(Schedulers.single())))) {
            StepVerifier.create(call.collectList())
                    .expectNext(expected)
                    .expectComplete()
                    .verify(ofSeconds(30));
        }
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(3);
        assertThat(limiter.snapshot().waiting()).isZero();
    }

    @Test
    void a_source_or_a_consumer_that_could_be_fused_is_not() {
        StepVerifier.create(Flux.range(1, 3).transform(limiter.<Integer>limit()))
                .expectNoFusionSupport()
                .expectNext(1, 2, 3)
                .verifyComplete();
        StepVerifier.create(Flux.range(1, 3).transform(limiter.<Integer>limitEach()))
                .expectNoFusionSupport()
                .expectNext(1, 2, 3)
                .verifyComplete();
        assertThat(Mono.just(1).transform(limiter.<Integer>limit())).isNotInstanceOf(Fuseable.class);
        assertThat(Flux.just(1).transform(limiter.<Integer>limit())).isNotInstanceOf(Fuseable.class);
    }
}
