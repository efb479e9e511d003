package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.always;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.failure;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What a caller makes of an answer: reads it, fails over it, or leaves it. */
@ExtendWith(NoLeaks.class)
class AnswersOverTheWireTest {

    @Test
    void a_flux_of_a_response_gives_what_it_had_and_is_not_started_anew() {
        Reply cut = Reply.ok().bodyOfSize(10_000).resetAfterHead();
        AtomicInteger bytes = new AtomicInteger();
        try (Wire wire = Wire.to(ServiceRules.create().script("/x", cut, Reply.ok()))) {
            Flux<byte[]> pieces = wire.get().response((response, content) -> content.asByteArray());
            Throwable failure = failure(pieces.doOnNext(piece -> bytes.addAndGet(piece.length)));

            assertThat(failure).isInstanceOf(IOException.class);
            assertThat(bytes).hasValue(5_000);
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @Test
    void a_single_value_whose_body_breaks_off_is_asked_for_again_if_it_may_be() {
        Reply cut = Reply.ok().bodyOfSize(10_000).resetAfterHead();
        try (Wire wire =
                Wire.to(ServiceRules.create().script("/x", cut, Reply.ok().body("whole"), cut))) {
            assertThat(outcome(wire.get())).isEqualTo("200 whole");
            assertThat(failure(answer(wire.post()))).isInstanceOf(IOException.class);
            assertThat(wire.wire()).isEqualTo(3);
            wire.assertIdle();
        }
    }

    @Test
    void a_failure_of_the_callers_own_is_not_taken_for_one_of_the_call() {
        SocketException own = new SocketException("somebody else's connection was reset");
        try (Wire wire = Wire.to(always(Reply.ok()))) {
            assertThat(failure(wire.get()
                            .responseSingle(
                                    (response, content) -> content.asString().then(Mono.error(own)))))
                    .isSameAs(own);
            assertThat(failure(wire.post().responseSingle((response, content) -> {
                        throw new IllegalStateException("mine");
                    })))
                    .hasMessage("mine");
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void a_failure_of_the_callers_own_is_none_even_for_a_reader_that_knows_its_kind() {
        try (Wire wire = Wire.to(
                always(Reply.ok()),
                Wire.limiter(),
                calls -> calls.retry(Wire.QUICK).failures(RateLimitedHttpClient.failures()))) {
            assertThat(failure(wire.post()
                            .responseSingle((response, content) ->
                                    content.asString().then(Mono.error(new ConnectException("somebody else's"))))))
                    .isInstanceOf(ConnectException.class);
            assertThat(wire.wire()).isEqualTo(1);
        }
    }

    @Test
    void a_body_nobody_reads_costs_its_connection_and_nothing_else() {
        try (Wire wire = Wire.to(always(Reply.ok().endless()))) {
            assertThat(wire.get()
                            .response()
                            .map(response -> response.status().code())
                            .block(Wire.PATIENCE))
                    .isEqualTo(200);
            wire.assertIdle();
            assertThat(wire.get()
                            .responseSingle((response, content) ->
                                    Mono.just(response.status().code()))
                            .block(Wire.PATIENCE))
                    .isEqualTo(200);
            wire.assertIdle();
        }
    }

    @Test
    void cancelling_while_the_server_thinks_closes_the_connection_and_frees_the_permit() {
        try (Wire wire = Wire.to(always(Reply.hang()))) {
            Disposable call = answer(wire.get()).subscribe();
            Wire.await(() -> wire.wire() == 1);
            assertThat(wire.permits()).isEqualTo(Wire.IN_FLIGHT - 1);

            call.dispose();

            assertThat(wire.permits()).isEqualTo(Wire.IN_FLIGHT);
            Wire.await(() -> wire.server.openConnections() == 0);
            wire.assertIdle();
        }
    }

    @Test
    void a_reader_that_is_slow_holds_the_server_back() {
        AtomicInteger pieces = new AtomicInteger();
        try (Wire wire = Wire.to(always(Reply.ok().bodyOfSize(4_000_000)))) {
            BaseSubscriber<byte[]> slow = new BaseSubscriber<>() {
                @Override
                protected void hookOnSubscribe(Subscription subscription) {
                    subscription.request(1);
                }

                @Override
                protected void hookOnNext(byte[] piece) {
                    pieces.incrementAndGet();
                }
            };
            wire.get()
                    .<byte[]>response((response, content) -> content.asByteArray())
                    .subscribe(slow);
            Wire.await(() -> pieces.get() == 1);
            slow.cancel();
            assertThat(pieces).hasValue(1);
            wire.assertIdle();
        }
    }
}
