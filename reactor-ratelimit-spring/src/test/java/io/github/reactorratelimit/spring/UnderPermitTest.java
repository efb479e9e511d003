package io.github.reactorratelimit.spring;

import static io.github.reactorratelimit.spring.Wire.REFUSAL;
import static io.github.reactorratelimit.spring.Wire.answer;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.github.reactorratelimit.test.PermitAsk;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import io.github.reactorratelimit.test.TestPermitSource;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.web.bind.annotation.RequestAttribute;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.support.WebClientAdapter;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.invoker.HttpServiceProxyFactory;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A WebClient within {@link PermitSource#use}: one permit, that of the attempt, by which everything is heard. */
@ExtendWith(NoLeaks.class)
class UnderPermitTest {

    private static final Demand GET = Demand.of("method", "GET");

    private static RateLimitOperator calls(Wire wire) {
        return wire.api.calls().retry(Wire.QUICK);
    }

    private static Mono<String> under(Exchange attempt, WebClient client) {
        return answer(client.get().uri("/x").attributes(RateLimitFilter.under(attempt)));
    }

    @Test
    void a_request_takes_no_second_permit_and_each_attempt_of_its_call_is_one_request() {
        try (Wire wire = Wire.script(
                REFUSAL.bodyOfSize(1_048_576), Reply.reset(), Reply.ok().body("done"))) {
            Mono<String> call = calls(wire).use(source -> GET, attempt -> under(attempt, wire.client));
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("200 done");
            assertThat(wire.wire()).isEqualTo(3);
            assertThat(wire.taken()).isEqualTo(3);
            wire.assertIdle();
        }
    }

    @Test
    void a_filter_of_the_attempt_does_the_same_for_a_client_without_one() {
        try (Wire wire = Wire.script(REFUSAL, Reply.ok().body("done"))) {
            Mono<String> call = calls(wire)
                    .use(
                            source -> GET,
                            attempt -> answer(wire.plain()
                                    .filter(RateLimitFilter.of(attempt).attemptHeader("X-Attempt"))
                                    .build()
                                    .get()
                                    .uri("/x")));
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("200 done");
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.header("X-Attempt"))
                    .containsExactly("1", "2");
            assertThat(wire.taken()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void the_permit_is_held_to_the_end_of_the_call_and_not_only_of_its_response() {
        try (Wire wire = Wire.always(Reply.ok().body("done"))) {
            List<Long> inFlight = new CopyOnWriteArrayList<>();
            Mono<String> call = calls(wire)
                    .use(
                            source -> GET,
                            attempt -> under(attempt, wire.client).doOnNext(text -> inFlight.add(wire.inFlight())));
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("200 done");
            assertThat(inFlight).containsExactly(1L);
            wire.assertIdle();
        }
    }

    @Test
    void the_first_model_with_room_is_the_one_that_the_request_names() {
        RateLimiter large = RateLimiter.named("large").limit(Limit.total(2)).build();
        RateLimiter small = RateLimiter.named("small").limit(Limit.total(10)).build();
        Map<PermitSource, String> models = Map.of(large, "large", small, "small");
        PermitSource llm = PermitSource.firstWithin(Duration.ZERO, large, small);
        ServiceRules rules = ServiceRules.create().reply("/x", Reply.ok());
        try (Wire wire = Wire.to(rules)) {
            Flux<String> asked = Flux.range(0, 3)
                    .concatMap(n -> llm.use(
                            source -> Demand.one(),
                            attempt -> answer(wire.client
                                            .post()
                                            .uri("/x")
                                            .attributes(RateLimitFilter.under(attempt))
                                            .bodyValue(String.valueOf(models.get(attempt.source()))))
                                    .doOnNext(text -> attempt.settle("requests", 1))));
            assertThat(asked.collectList().block(Wire.PATIENCE)).hasSize(3);
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().body())
                    .containsExactly("large", "large", "small");
            assertThat(wire.taken()).as("of the filter's own limiter").isZero();
            assertThat(small.snapshot().root().limits().get(0).available()).isEqualTo(9);
        }
    }

    @Test
    void a_model_that_refuses_to_the_end_is_left_for_the_next_one() {
        RateLimiter large = RateLimiter.named("large").limit(Limit.total(10)).build();
        RateLimiter small = RateLimiter.named("small").limit(Limit.total(10)).build();
        RateLimitOperator once = large.calls().retry(RetryPolicy.standard().refusals(0));
        ServiceRules rules = ServiceRules.create()
                .reply("/large", Reply.status(429).header("Retry-After", "100"))
                .reply("/small", Reply.ok().body("done"));
        try (Wire wire = Wire.to(rules)) {
            Mono<String> call = PermitSource.firstWithin(Duration.ofSeconds(1), once, small)
                    .use(
                            source -> Demand.one(),
                            attempt -> answer(wire.client
                                    .get()
                                    .uri(attempt.source() == once ? "/large" : "/small")
                                    .attributes(RateLimitFilter.under(attempt))));
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("200 done");
            assertThat(large.snapshot().root().closedFor()).isPositive();
            assertThat(small.snapshot().root().closedFor()).isZero();
        }
    }

    @Test // B39
    void a_dialect_sees_bodies_under_a_permit_too() {
        RateLimiter gitHub = RateLimiter.named("github")
                .limit(Limit.inFlight(Wire.IN_FLIGHT), Limit.total(1_000))
                .dialect(Dialects.gitHub())
                .build();
        Reply refused = Reply.status(403).body("{\"message\":\"You have exceeded a secondary rate limit.\"}");
        Reply forbidden = Reply.status(403).body("{\"message\":\"Must have admin rights.\"}");
        ServiceRules rules = ServiceRules.create().script("/x", forbidden, refused);
        try (Wire wire = Wire.to(rules, gitHub, calls -> calls)) {
            RateLimitOperator once = gitHub.calls().retry(RetryPolicy.none());
            Mono<String> call = once.use(source -> GET, attempt -> under(attempt, wire.client));
            assertThat(call.block(Wire.PATIENCE)).contains("403", "Must have admin rights.");
            assertThat(gitHub.snapshot().root().closedFor()).isZero();
            assertThat(call.block(Wire.PATIENCE)).contains("403", "secondary rate limit");
            assertThat(gitHub.snapshot().root().closedFor()).isGreaterThan(Duration.ofSeconds(50));
        }
    }

    @Test // B28
    void a_body_that_may_be_gone_is_sent_once() {
        try (Wire wire = Wire.script(REFUSAL.body("later"), Reply.ok())) {
            Mono<String> call = calls(wire)
                    .use(
                            source -> GET,
                            attempt -> answer(wire.client
                                    .put()
                                    .uri("/x")
                                    .attributes(RateLimitFilter.under(attempt))
                                    .body(Flux.just("a", "b"), String.class)));
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("429 later");
            wire.assertIdle();
        }
    }

    @Test
    void a_source_of_somebody_elses_has_its_permit_used_settled_and_given_back() {
        TestPermitSource source = TestPermitSource.granting();
        try (Wire wire = Wire.always(Reply.ok().body("done"))) {
            Mono<String> call = source.use(
                    asked -> GET,
                    attempt -> under(attempt, wire.client)
                            .flatMap(text -> Mono.deferContextual(context -> {
                                RateLimitContext.exchange(context).settle("tokens", 5);
                                return Mono.just(text + " in attempt " + RateLimitContext.attempt(context));
                            })));
            assertThat(call.block(Wire.PATIENCE)).isEqualTo("200 done in attempt 1");
            PermitAsk ask = source.asks().get(0);
            assertThat(ask.isSent()).isTrue();
            assertThat(ask.heard()).extracting(RateLimitSignal::status).containsExactly(200);
            assertThat(ask.settled()).containsEntry("tokens", 5L);
            assertThat(ask.isReleased()).isTrue();
            assertThat(wire.taken()).isZero();
        }
    }

    @Test
    void a_caller_who_leaves_leaves_nothing_behind_wherever_the_request_is() {
        Reply stalling = Reply.ok().body("0123456789").slowly(2, Duration.ofHours(1));
        for (Reply reply :
                List.of(Reply.hang(), stalling, REFUSAL.body("0123456789").slowly(2, Duration.ofHours(1)))) {
            try (Wire wire = Wire.always(reply)) {
                Disposable call = calls(wire)
                        .use(source -> GET, attempt -> under(attempt, wire.client))
                        .subscribe();
                Wire.await(() -> wire.wire() == 1);
                assertThat(wire.inFlight()).isEqualTo(1);
                call.dispose();
                wire.assertIdle();
                Wire.await(() -> wire.server.openConnections() == 0);
            }
        }
    }

    @Test
    void of_a_stream_of_values_the_permit_is_held_to_the_last() {
        try (Wire wire = Wire.script(REFUSAL, Reply.ok().body("a\nb"))) {
            Flux<String> call = calls(wire)
                    .useMany(
                            source -> GET,
                            attempt -> wire.client
                                    .get()
                                    .uri("/x")
                                    .attributes(RateLimitFilter.under(attempt))
                                    .retrieve()
                                    .bodyToFlux(String.class)
                                    .doOnNext(
                                            line -> assertThat(wire.inFlight()).isEqualTo(1)));
            assertThat(call.collectList().block(Wire.PATIENCE)).containsExactly("a", "b");
            assertThat(wire.taken()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    interface Pages {
        @GetExchange("/x")
        Mono<String> page(@RequestAttribute(RateLimitFilter.ATTEMPT) Exchange attempt);
    }

    @Test
    void an_http_interface_is_sent_under_a_permit_by_a_parameter() {
        try (Wire wire = Wire.script(REFUSAL, Reply.ok().body("done"))) {
            Pages pages = HttpServiceProxyFactory.builderFor(WebClientAdapter.create(wire.client))
                    .build()
                    .createClient(Pages.class);
            assertThat(calls(wire).use(source -> GET, pages::page).block(Wire.PATIENCE))
                    .isEqualTo("done");
            assertThat(wire.taken()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void what_is_no_attempt_fails_the_call_and_says_what_it_has_to_be() {
        try (Wire wire = Wire.always(Reply.ok())) {
            assertThat(Wire.failure(answer(wire.client.get().uri("/x").attribute(RateLimitFilter.ATTEMPT, 5))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("must be an Exchange, was a java.lang.Integer");
            assertThat(wire.wire()).isZero();
        }
    }
}
