package io.github.reactorratelimit.spring;

import static io.github.reactorratelimit.spring.Wire.IN_FLIGHT;
import static io.github.reactorratelimit.spring.Wire.REFUSAL;
import static io.github.reactorratelimit.spring.Wire.answer;
import static io.github.reactorratelimit.spring.Wire.await;
import static io.github.reactorratelimit.spring.Wire.outcome;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What becomes of responses that are not handed on, with a pool of one connection. B10 */
@ExtendWith(NoLeaks.class)
class DiscardedResponsesTest {

    private static final int MEBIBYTE = 1_048_576;

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter timed() {
        return RateLimiter.named("api")
                .limit(Limit.inFlight(IN_FLIGHT), Limit.total(1_000))
                .scheduler(() -> time)
                .build();
    }

    private static ServiceRules script(Reply... replies) {
        return ServiceRules.create().script("/x", replies);
    }

    @Test
    void a_mebibyte_is_read_away_and_its_connection_used_again() {
        try (Wire wire = Wire.script(REFUSAL.bodyOfSize(MEBIBYTE), Reply.ok())) {
            assertThat(outcome(wire.get())).startsWith("200");
            assertThat(wire.server.connections()).isEqualTo(1);
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void a_body_without_an_end_costs_its_connection_and_the_call_goes_on() {
        try (Wire wire = Wire.script(REFUSAL.endless(), Reply.ok())) {
            assertThat(outcome(wire.get())).startsWith("200");
            assertThat(wire.server.connections()).isEqualTo(2);
            await(() -> wire.server.openConnections() == 1);
            wire.assertIdle();
        }
    }

    @Test
    void a_body_that_stalls_costs_its_connection_after_a_second() {
        Reply stalling = REFUSAL.body("0123456789").slowly(2, Duration.ofHours(1));
        try (Wire wire = Wire.to(script(stalling, Reply.ok()), timed(), calls -> calls)) {
            AtomicReference<String> answered = new AtomicReference<>();
            Disposable call = answer(wire.get()).subscribe(answered::set);
            // The head is heard, so the scope is closed, and the drain is the only timer left.
            await(() -> !wire.api.snapshot().root().closedFor().isZero());
            time.advanceTimeBy(Duration.ofMillis(990));
            assertThat(wire.inFlight()).isEqualTo(1);
            await(() -> {
                time.advanceTimeBy(Duration.ofMillis(10));
                return answered.get() != null;
            });

            assertThat(answered.get()).startsWith("200");
            assertThat(wire.server.connections()).isEqualTo(2);
            wire.assertIdle();
            call.dispose();
        }
    }

    @Test
    void no_connection_and_no_permit_are_held_while_a_call_waits() {
        Reply later = Reply.status(429).header("Retry-After", "2").bodyOfSize(MEBIBYTE);
        try (Wire wire = Wire.to(script(later, Reply.ok()), timed(), calls -> calls)) {
            AtomicReference<String> answered = new AtomicReference<>();
            Disposable call = answer(wire.get()).subscribe(answered::set);
            await(() -> wire.api.snapshot().waiting() == 1 && wire.acquired() == 0);

            assertThat(wire.inFlight()).isZero();
            assertThat(wire.server.openConnections()).isEqualTo(1);
            time.advanceTimeBy(Duration.ofMillis(1_990));
            assertThat(wire.wire()).isEqualTo(1);
            time.advanceTimeBy(Duration.ofSeconds(1));
            await(() -> answered.get() != null);
            assertThat(answered.get()).startsWith("200");
            wire.assertIdle();
            call.dispose();
        }
    }

    @Test
    void cancelling_during_the_drain_closes_the_connection_and_frees_the_permit() {
        Reply stalling = Reply.status(429)
                .header("Retry-After", "100")
                .body("0123456789")
                .slowly(2, Duration.ofHours(1));
        try (Wire wire = Wire.to(script(stalling, Reply.ok()), timed(), calls -> calls)) {
            Disposable call = answer(wire.get()).subscribe();
            await(() -> !wire.api.snapshot().root().closedFor().isZero());
            assertThat(wire.inFlight()).isEqualTo(1);

            call.dispose();

            assertThat(wire.inFlight()).isZero();
            await(() -> wire.server.openConnections() == 0);
            assertThat(wire.wire()).isEqualTo(1);
        }
    }

    @Test
    void a_caller_who_leaves_between_head_and_body_holds_no_connection() {
        Reply stalling = Reply.ok().body("0123456789").slowly(2, Duration.ofHours(1));
        try (Wire wire = Wire.always(stalling)) {
            Disposable.Swap call = Disposables.swap();
            WebClient leaving = wire.plain()
                    .filter(wire.filter)
                    .filter((request, next) -> next.exchange(request).doOnNext(head -> call.dispose()))
                    .build();
            call.update(answer(leaving.get().uri("/x")).subscribe());

            await(() -> wire.wire() == 1 && wire.server.openConnections() == 0);
            wire.assertIdle();
        }
    }

    @Test
    void a_refusal_cut_off_in_its_body_is_still_a_refusal() {
        Reply cut = REFUSAL.bodyOfSize(1_000);
        try (Wire wire = Wire.script(cut.resetAfterHead(), cut.closeAfterHead(), Reply.ok())) {
            assertThat(outcome(wire.post())).startsWith("200");
            assertThat(wire.wire()).isEqualTo(3);
            wire.assertIdle();
        }
    }

    @Test
    void the_last_response_is_readable_where_the_caller_wants_it() { // B51
        RetryPolicy policy = RetryPolicy.standard().refusals(2).returnLastResponse();
        ServiceRules rules = ServiceRules.create().reply("/x", REFUSAL.bodyOfSize(200_000));
        try (Wire wire = Wire.to(rules, Wire.limiter(), calls -> calls.retry(policy))) {
            assertThat(outcome(wire.get())).startsWith("429 ").hasSize(200_004);
            assertThat(wire.wire()).isEqualTo(3);
            wire.assertIdle();
        }
    }

    /** Pieces of a body as Netty counts them, each held once more, so that a release too many shows. */
    private static DataBuffer counted(String text, List<ByteBuf> counts) {
        ByteBuf piece = UnpooledByteBufAllocator.DEFAULT.buffer();
        piece.writeCharSequence(text, StandardCharsets.UTF_8);
        counts.add(piece.retain());
        return new NettyDataBufferFactory(UnpooledByteBufAllocator.DEFAULT).wrap(piece);
    }

    @Test
    void each_discarded_body_is_subscribed_once_and_each_of_its_buffers_released_once() {
        List<String> bodies = new ArrayList<>();
        List<ByteBuf> pieces = new ArrayList<>();
        WebClient client = WebClient.builder()
                .filter(RateLimitFilter.of(timed()))
                .exchangeFunction(request -> {
                    int n = bodies.size() + 1;
                    Flux<DataBuffer> body = Flux.defer(() -> {
                        bodies.add("body " + n);
                        return Flux.just(counted("answer ", pieces), counted(Integer.toString(n), pieces));
                    });
                    HttpStatus status = n < 3 ? HttpStatus.TOO_MANY_REQUESTS : HttpStatus.OK;
                    return Mono.just(ClientResponse.create(status)
                            .header("Retry-After", "1")
                            .body(body)
                            .build());
                })
                .build();
        AtomicReference<String> answered = new AtomicReference<>();
        Disposable call = client.get()
                .uri("http://api/x")
                .retrieve()
                .bodyToMono(String.class)
                .subscribe(answered::set);
        time.advanceTimeBy(Duration.ofMinutes(1));

        assertThat(answered).hasValue("answer 3");
        assertThat(bodies).containsExactly("body 1", "body 2", "body 3");
        assertThat(pieces).hasSize(6).allSatisfy(piece -> {
            assertThat(piece.refCnt()).isEqualTo(1);
            piece.release();
        });
        call.dispose();
    }
}
