package io.github.reactorratelimit.spring;

import static io.github.reactorratelimit.spring.Wire.QUICK;
import static io.github.reactorratelimit.spring.Wire.outcome;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Bodies that a dialect has to look into before anybody knows what the response is. B39 */
@ExtendWith(NoLeaks.class)
class BodyAheadTest {

    private static final String SECONDARY = "{\"message\":\"You have exceeded a secondary rate limit. Please wait.\"}";

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter gitHub() {
        return RateLimiter.named("github")
                .limit(Limit.inFlight(Wire.IN_FLIGHT), Limit.total(1_000))
                .dialect(Dialects.gitHub())
                .jitter(0)
                .scheduler(() -> time)
                .build();
    }

    private Wire wire(Reply... replies) {
        return Wire.to(ServiceRules.create().script("/x", replies), gitHub(), calls -> calls.retry(QUICK));
    }

    @Test
    void a_403_that_is_a_limit_by_its_body_waits_for_a_minute_and_is_tried_again() {
        try (Wire wire = wire(Reply.status(403).body(SECONDARY), Reply.ok().body("done"))) {
            AtomicReference<String> answered = new AtomicReference<>();
            Disposable call = Wire.answer(wire.get()).subscribe(answered::set);
            Wire.await(() -> wire.api.snapshot().waiting() == 1 && wire.acquired() == 0);
            assertThat(wire.api.snapshot().root().closedFor()).isGreaterThan(Duration.ofSeconds(59));

            time.advanceTimeBy(Duration.ofSeconds(62));
            Wire.await(() -> answered.get() != null);
            assertThat(answered).hasValue("200 done");
            assertThat(wire.server.connections()).isEqualTo(1);
            wire.assertIdle();
            call.dispose();
        }
    }

    private static String abuse() {
        return "{\"message\":\"You have triggered an abuse detection mechanism. Please retry your request again later.\"}";
    }

    @Test
    void the_old_wording_is_understood_too_and_the_wait_doubles() {
        Reply refused = Reply.status(403).body(abuse());
        try (Wire wire = wire(refused, refused, Reply.ok().body("done"))) {
            AtomicReference<String> answered = new AtomicReference<>();
            Disposable call = Wire.answer(wire.get()).subscribe(answered::set);
            Wire.await(() -> wire.api.snapshot().waiting() == 1 && wire.acquired() == 0);
            time.advanceTimeBy(Duration.ofSeconds(62));
            Wire.await(() -> wire.wire() == 2
                    && wire.acquired() == 0
                    && wire.api.snapshot().waiting() == 1);
            assertThat(wire.api.snapshot().root().closedFor()).isGreaterThan(Duration.ofSeconds(119));
            time.advanceTimeBy(Duration.ofSeconds(122));
            Wire.await(() -> answered.get() != null);
            assertThat(answered).hasValue("200 done");
            call.dispose();
        }
    }

    @Test
    void a_403_that_is_a_limit_by_its_headers_waits_for_what_they_say() {
        Reply hinted = Reply.status(403).header("Retry-After", "60");
        Reply exhausted = Reply.status(403)
                .header("X-RateLimit-Limit", "5000")
                .header("X-RateLimit-Remaining", "0")
                .header("Date", "Thu, 01 Jan 2026 00:00:00 GMT")
                .header("X-RateLimit-Reset", "1767225630"); // 30 s after that
        try (Wire wire = wire(hinted, exhausted, Reply.ok().body("done"))) {
            AtomicReference<String> answered = new AtomicReference<>();
            Disposable call = Wire.answer(wire.get()).subscribe(answered::set);
            Wire.await(() -> wire.api.snapshot().waiting() == 1 && wire.acquired() == 0);
            assertThat(wire.api.snapshot().root().closedFor())
                    .isBetween(Duration.ofSeconds(59), Duration.ofSeconds(60));
            time.advanceTimeBy(Duration.ofSeconds(60));
            Wire.await(() -> wire.wire() == 2
                    && wire.acquired() == 0
                    && wire.api.snapshot().waiting() == 1);
            assertThat(wire.api.snapshot().root().closedFor())
                    .isBetween(Duration.ofSeconds(29), Duration.ofSeconds(32));
            time.advanceTimeBy(Duration.ofSeconds(32));
            Wire.await(() -> answered.get() != null);
            assertThat(answered).hasValue("200 done");
            call.dispose();
        }
    }

    @Test
    void a_caller_who_leaves_before_the_body_leaves_no_connection_behind() {
        try (Wire wire = wire(Reply.status(403).bodyOfSize(300_000), Reply.ok())) {
            AtomicReference<ClientResponse> seen = new AtomicReference<>();
            Disposable call = wire.get()
                    .exchangeToMono(response -> {
                        seen.set(response);
                        return Mono.never();
                    })
                    .subscribe();
            Wire.await(() -> seen.get() != null);
            assertThat(wire.inFlight()).isEqualTo(1);

            call.dispose();

            assertThat(wire.inFlight()).isZero();
            wire.assertIdle();
            assertThat(outcome(wire.get())).startsWith("200");
        }
    }

    @Test
    void a_403_that_is_none_is_the_callers_with_its_whole_body() {
        String why = "{\"message\":\"Must have admin rights. " + "x".repeat(100_000) + "\"}";
        try (Wire wire =
                wire(Reply.status(403).body(why), Reply.status(403).body(why).slowly(20, Duration.ofMillis(1)))) {
            assertThat(outcome(wire.get())).isEqualTo("403 " + why);
            assertThat(outcome(wire.get())).isEqualTo("403 " + why);
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(wire.api.snapshot().root().closedFor()).isZero();
            wire.assertIdle();
        }
    }

    @Test
    void a_body_read_ahead_and_released_gives_permit_and_connection_back() {
        try (Wire wire =
                wire(Reply.status(403).bodyOfSize(100_000), Reply.status(403).bodyOfSize(100_000))) {
            var response = wire.head();
            assertThat(wire.inFlight()).isEqualTo(1);
            response.releaseBody().block(Wire.PATIENCE);
            wire.assertIdle();

            wire.head()
                    .bodyToFlux(DataBuffer.class)
                    .doOnNext(DataBufferUtils::release)
                    .take(1)
                    .blockLast(Wire.PATIENCE);
            wire.assertIdle();
        }
    }

    private static DataBuffer piece(String text) {
        return DefaultDataBufferFactory.sharedInstance.wrap(text.getBytes(UTF_8));
    }

    private static String text(byte[] bytes) {
        return new String(bytes, UTF_8);
    }

    private static String text(Flux<DataBuffer> body) {
        return Objects.requireNonNull(DataBufferUtils.join(body).block(Wire.PATIENCE))
                .toString(UTF_8);
    }

    @Test
    void the_whole_body_is_what_came_whatever_was_read_ahead() {
        for (int wanted = 1; wanted < 12; wanted++) {
            BodyAhead body = new BodyAhead(Flux.just(piece("abc"), piece("def"), piece("ghi")), wanted);
            assertThat(text(Objects.requireNonNull(body.first().block(Wire.PATIENCE))))
                    .isEqualTo("abcdefghi".substring(0, Math.min(wanted, 9)));
            assertThat(text(body.whole())).isEqualTo("abcdefghi");
        }
    }

    @Test
    void only_what_is_asked_for_is_taken_from_the_client() {
        TestPublisher<DataBuffer> client = TestPublisher.create();
        List<Long> requests = new ArrayList<>();
        BodyAhead body = new BodyAhead(client.flux().doOnRequest(requests::add), 2);
        StepVerifier.create(body.first().map(BodyAheadTest::text))
                .then(() -> client.next(piece("ab")))
                .expectNext("ab")
                .verifyComplete();
        StepVerifier.create(body.whole().map(each -> each.toString(UTF_8)), 1)
                .expectNext("ab")
                .then(() -> assertThat(requests).containsExactly(1L))
                .thenRequest(1)
                .then(() -> assertThat(requests).containsExactly(1L, 1L))
                .then(() -> client.next(piece("cd")))
                .expectNext("cd")
                .then(client::complete)
                .verifyComplete();
    }

    @Test
    void a_body_that_breaks_off_breaks_off_where_it_did() {
        BodyAhead body =
                new BodyAhead(Flux.concat(Flux.just(piece("ab")), Flux.error(new IllegalStateException("cut"))), 100);
        assertThat(text(Objects.requireNonNull(body.first().block(Wire.PATIENCE))))
                .isEqualTo("ab");
        StepVerifier.create(body.whole().map(each -> each.toString(UTF_8)))
                .expectNext("ab")
                .verifyErrorMessage("cut");
    }

    @Test
    void cancelling_at_any_point_cancels_the_body() {
        TestPublisher<DataBuffer> early = TestPublisher.create();
        StepVerifier.create(new BodyAhead(early.flux(), 2).first()).thenCancel().verify();
        early.assertCancelled();

        TestPublisher<DataBuffer> late = TestPublisher.create();
        BodyAhead body = new BodyAhead(late.flux(), 2);
        StepVerifier.create(body.first())
                .then(() -> late.next(piece("ab")))
                .expectNextCount(1)
                .verifyComplete();
        StepVerifier.create(body.whole(), 0).thenCancel().verify();
        late.assertCancelled();
    }

    @Test
    void what_came_so_far_is_enough_and_the_rest_is_kept_until_it_is_asked_for() {
        TestPublisher<DataBuffer> client = TestPublisher.create();
        List<Long> requests = new ArrayList<>();
        BodyAhead body = new BodyAhead(client.flux().doOnRequest(requests::add), 100);
        StepVerifier.create(body.first().map(BodyAheadTest::text))
                .then(() -> client.next(piece("ab")))
                .then(body::enough)
                .then(body::enough)
                .expectNext("ab")
                .verifyComplete();
        client.next(piece("cd"));
        StepVerifier.create(body.whole().map(each -> each.toString(UTF_8)), 0)
                .expectSubscription()
                .thenRequest(1)
                .expectNext("abcd")
                .then(() -> assertThat(requests).containsExactly(1L, 1L))
                .thenRequest(2)
                .then(() -> assertThat(requests).containsExactly(1L, 1L, 2L))
                .then(() -> client.next(piece("ef"), piece("gh")))
                .expectNext("ef", "gh")
                .then(client::complete)
                .verifyComplete();
    }

    @Test
    void a_piece_that_is_on_its_way_already_is_not_asked_for_twice() {
        TestPublisher<DataBuffer> client = TestPublisher.create();
        List<Long> requests = new ArrayList<>();
        BodyAhead body = new BodyAhead(client.flux().doOnRequest(requests::add), 100);
        StepVerifier.create(body.first().map(BodyAheadTest::text))
                .then(body::enough)
                .expectNext("")
                .verifyComplete();
        StepVerifier.create(body.whole().map(each -> each.toString(UTF_8)), 1)
                .then(() -> client.next(piece("ab")))
                .expectNext("ab")
                .then(() -> assertThat(requests).containsExactly(1L))
                .thenRequest(1)
                .then(() -> assertThat(requests).containsExactly(1L, 1L))
                .then(client::complete)
                .verifyComplete();
    }

    @Test
    void a_body_that_was_read_or_left_can_be_released_but_not_read_twice_at_once() {
        BodyAhead read = new BodyAhead(Flux.just(piece("ab"), piece("cd")), 1);
        read.first().block(Wire.PATIENCE);
        Flux<DataBuffer> whole = read.whole();
        assertThat(text(whole)).isEqualTo("abcd");
        StepVerifier.create(whole).verifyComplete();

        BodyAhead left = new BodyAhead(Flux.never(), 1);
        StepVerifier.create(left.first()).then(left::enough).expectNextCount(1).verifyComplete();
        Flux<DataBuffer> rest = left.whole();
        Disposable reader = rest.subscribe();
        StepVerifier.create(rest).verifyErrorMessage("a response body can be read once only");
        reader.dispose();
        StepVerifier.create(rest).verifyComplete();
    }

    /** The head, and nothing after it for as long as anybody would wait. */
    private static Reply stalling(Reply reply) {
        return reply.body("{}").slowly(2, Duration.ofMinutes(10));
    }

    private Wire patient(Reply... replies) {
        RetryPolicy policy = QUICK.noTimeout();
        return Wire.to(ServiceRules.create().script("/x", replies), gitHub(), calls -> calls.retry(policy));
    }

    private void passUntil(BooleanSupplier seen) {
        Wire.await(() -> {
            time.advanceTimeBy(Duration.ofMillis(50));
            return seen.getAsBoolean();
        });
    }

    @Test
    void an_answer_whose_body_stalls_is_the_callers_after_a_second() {
        for (Reply head : List.of(Reply.status(403), Reply.ok().header("X-RateLimit-Resource", "graphql"))) {
            try (Wire wire = patient(stalling(head))) {
                AtomicReference<ClientResponse> seen = new AtomicReference<>();
                Disposable call = wire.get()
                        .exchangeToMono(response -> {
                            seen.set(response);
                            return Mono.never();
                        })
                        .subscribe();

                passUntil(() -> seen.get() != null);

                assertThat(seen.get())
                        .isNotNull()
                        .extracting(response -> response.statusCode().value())
                        .isEqualTo(head.status());
                call.dispose();
                wire.assertIdle();
            }
        }
    }

    @Test
    void a_refusal_whose_body_stalls_is_heard_by_its_head() {
        RateLimiter discord = RateLimiter.named("discord")
                .limit(Limit.inFlight(Wire.IN_FLIGHT), Limit.total(1_000))
                .dialect(Dialects.discord())
                .jitter(0)
                .scheduler(() -> time)
                .build();
        Reply refused = stalling(Reply.status(429).header("Retry-After", "60"));
        try (Wire wire = Wire.to(
                ServiceRules.create().script("/x", refused, Reply.ok().body("done")),
                discord,
                calls -> calls.retry(QUICK.noTimeout()))) {
            AtomicReference<String> answered = new AtomicReference<>();
            Disposable call = Wire.answer(wire.get()).subscribe(answered::set);

            passUntil(() -> !wire.api.snapshot().root().closedFor().isZero());
            passUntil(() -> answered.get() != null);

            assertThat(answered).hasValue("200 done");
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
            call.dispose();
        }
    }
}
