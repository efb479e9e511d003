package io.github.reactorratelimit.spring;

import static io.github.reactorratelimit.spring.Wire.REFUSAL;
import static io.github.reactorratelimit.spring.Wire.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.Reply;
import java.net.URI;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The permit stays with the response that is handed on until its body is at an end, whichever. */
@ExtendWith(NoLeaks.class)
class PermitUntilBodyEndsTest {

    @Test
    void it_is_held_while_the_body_is_unread_and_free_when_it_is_consumed() {
        try (Wire wire = Wire.script(REFUSAL, Reply.ok().bodyOfSize(200_000))) {
            ClientResponse response = wire.head();
            assertThat(wire.inFlight()).isEqualTo(1);

            assertThat(response.bodyToMono(String.class).block(Wire.PATIENCE)).isNotNull();
            assertThat(wire.inFlight()).isZero();
            wire.assertIdle();
        }
    }

    @Test
    void it_is_free_when_the_body_is_released() {
        try (Wire wire = Wire.always(Reply.ok().bodyOfSize(300_000))) {
            ClientResponse response = wire.head();
            assertThat(wire.inFlight()).isEqualTo(1);

            response.releaseBody().block(Wire.PATIENCE);
            assertThat(wire.inFlight()).isZero();
            wire.assertIdle();
        }
    }

    @Test
    void it_is_free_when_the_body_is_cancelled() {
        try (Wire wire = Wire.always(Reply.ok().endless())) {
            ClientResponse response = wire.head();
            assertThat(response.bodyToFlux(DataBuffer.class)
                            .doOnNext(DataBufferUtils::release)
                            .take(1)
                            .blockLast(Wire.PATIENCE))
                    .isNotNull();
            await(() -> wire.inFlight() == 0);
            wire.assertIdle();
        }
    }

    @Test
    void it_is_free_at_once_when_the_body_is_cancelled_whatever_the_client_says_then() {
        RateLimiter api = Wire.limiter();
        ClientResponse response = Objects.requireNonNull(RateLimitFilter.of(api)
                .filter(
                        ClientRequest.create(HttpMethod.GET, URI.create("http://api/x"))
                                .build(),
                        request -> Mono.just(ClientResponse.create(HttpStatus.OK)
                                .body(Flux.never())
                                .build()))
                .block(Wire.PATIENCE));
        Disposable reading = response.bodyToMono(String.class).subscribe();
        assertThat(api.snapshot().root().limits().get(0).available()).isEqualTo(Wire.IN_FLIGHT - 1);

        reading.dispose();

        assertThat(api.snapshot().root().limits().get(0).available()).isEqualTo(Wire.IN_FLIGHT);
    }

    @Test
    void it_is_free_when_the_body_breaks_off() {
        try (Wire wire = Wire.always(Reply.ok().bodyOfSize(1_000).resetAfterHead())) {
            assertThat(Wire.failure(Wire.answer(wire.get()))).isNotNull();
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @Test
    void it_is_free_when_the_caller_wants_the_status_only() {
        try (Wire wire = Wire.always(Reply.ok().bodyOfSize(300_000))) {
            assertThat(wire.get().retrieve().toBodilessEntity().block(Wire.PATIENCE))
                    .isNotNull();
            assertThat(wire.get()
                            .exchangeToMono(
                                    response -> Mono.just(response.statusCode().value()))
                            .block(Wire.PATIENCE))
                    .isEqualTo(200);
            wire.assertIdle();
            assertThat(wire.server.connections()).isEqualTo(1);
        }
    }

    @Test
    void a_caller_who_leaves_between_head_and_body_leaves_neither_permit_nor_connection_behind() {
        try (Wire wire = Wire.script(REFUSAL, Reply.ok().bodyOfSize(300_000))) {
            AtomicReference<ClientResponse> seen = new AtomicReference<>();
            Disposable call = wire.get()
                    .exchangeToMono(response -> {
                        seen.set(response);
                        return Mono.never();
                    })
                    .subscribe();
            await(() -> seen.get() != null);
            assertThat(wire.inFlight()).isEqualTo(1);

            call.dispose();

            assertThat(wire.inFlight()).isZero();
            wire.assertIdle();
        }
    }

    @Test
    void the_response_that_is_handed_on_is_as_it_came() {
        Reply reply = Reply.status(404)
                .header("X-Two", "a")
                .header("X-Two", "b")
                .header("Set-Cookie", "c=d; Path=/")
                .body("why");
        try (Wire wire = Wire.always(reply)) {
            ClientResponse response = wire.head();
            assertThat(response.statusCode().value()).isEqualTo(404);
            assertThat(response.headers().header("x-two")).containsExactly("a", "b");
            assertThat(Objects.requireNonNull(response.cookies().getFirst("c")).getValue())
                    .isEqualTo("d");
            var failure = Objects.requireNonNull(response.createException().block(Wire.PATIENCE));
            assertThat(failure.getResponseBodyAsString()).isEqualTo("why");
            assertThat(Objects.requireNonNull(failure.getRequest()).getURI().getPath())
                    .isEqualTo("/x");
            wire.assertIdle();
        }
    }
}
