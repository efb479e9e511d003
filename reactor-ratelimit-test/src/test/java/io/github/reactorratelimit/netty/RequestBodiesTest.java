package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.outcome;
import static io.github.reactorratelimit.netty.Wire.script;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.test.Reply;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Mono;

/** What is sent as a body when a call is sent again. B28 */
@ExtendWith(NoLeaks.class)
class RequestBodiesTest {

    private static final Reply REFUSAL = Reply.status(429).header("Retry-After", "0");

    @Test // B28
    void a_one_shot_body_is_subscribed_once_and_the_caller_gets_the_refusal() {
        AtomicInteger subscribed = new AtomicInteger();
        try (Wire wire = Wire.to(script(REFUSAL.body("later"), Reply.ok()))) {
            Mono<ByteBuf> body = Mono.fromSupplier(() -> Unpooled.copiedBuffer("once", UTF_8))
                    .doOnSubscribe(subscription -> subscribed.incrementAndGet());

            assertThat(outcome(wire.client.put().uri("/x").bodyOnce(body))).isEqualTo("429 later");
            assertThat(subscribed).hasValue(1);
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @Test // B28
    void a_body_of_bytes_is_the_same_each_time() {
        byte[] bytes = new byte[100_000];
        bytes[99_999] = 7;
        try (Wire wire = Wire.to(script(REFUSAL, REFUSAL, Reply.ok()))) {
            assertThat(outcome(wire.client.post().uri("/x").body(bytes))).startsWith("200");

            assertThat(wire.log().entries())
                    .hasSize(3)
                    .allSatisfy(entry -> assertThat(entry.request().bytes()).isEqualTo(bytes))
                    .allSatisfy(
                            entry -> assertThat(entry.header("Content-Length")).isEqualTo("100000"));
        }
    }

    @Test // B28
    void a_supplied_body_is_a_fresh_buffer_per_attempt_and_each_is_released() {
        List<ByteBuf> buffers = new ArrayList<>();
        try (Wire wire = Wire.to(script(REFUSAL, REFUSAL, Reply.ok()))) {
            assertThat(outcome(wire.client.post().uri("/x").body(() -> {
                        ByteBuf fresh = Unpooled.directBuffer().writeBytes("fresh".getBytes(UTF_8));
                        buffers.add(fresh);
                        return fresh;
                    })))
                    .startsWith("200");

            assertThat(buffers).hasSize(3).allMatch(buffer -> buffer.refCnt() == 0);
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().body())
                    .containsExactly("fresh", "fresh", "fresh");
        }
    }
}
