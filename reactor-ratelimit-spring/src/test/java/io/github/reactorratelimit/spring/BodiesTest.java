package io.github.reactorratelimit.spring;

import static io.github.reactorratelimit.spring.Wire.REFUSAL;
import static io.github.reactorratelimit.spring.Wire.outcome;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetriesExhaustedException;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.FileSystemResource;
import org.springframework.core.io.InputStreamResource;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import org.springframework.http.HttpEntity;
import org.springframework.http.HttpHeaders;
import org.springframework.http.ZeroCopyHttpOutputMessage;
import org.springframework.http.client.MultipartBodyBuilder;
import org.springframework.http.client.reactive.ClientHttpRequest;
import org.springframework.http.client.reactive.ClientHttpRequestDecorator;
import org.springframework.http.codec.multipart.Part;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.web.reactive.function.BodyInserter;
import org.springframework.web.reactive.function.BodyInserters;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Which request bodies are sent again. B28 */
@ExtendWith(NoLeaks.class)
class BodiesTest {

    private static Mono<DataBuffer> buffer() {
        return Mono.fromSupplier(() -> DefaultDataBufferFactory.sharedInstance.wrap("once".getBytes(UTF_8)));
    }

    private static MultipartBodyBuilder form(Object part) {
        MultipartBodyBuilder form = new MultipartBodyBuilder();
        form.part("field", "value");
        form.part("file", part).filename("f.txt");
        return form;
    }

    private static MultipartBodyBuilder asyncForm() {
        MultipartBodyBuilder form = new MultipartBodyBuilder();
        form.asyncPart("file", Flux.just("a", "b"), String.class);
        return form;
    }

    /** A part of a request to a server of ours, whose content is there once. */
    private static Part uploaded() {
        Flux<DataBuffer> content = Flux.defer(BodiesTest::buffer);
        return new Part() {
            @Override
            public String name() {
                return "file";
            }

            @Override
            public HttpHeaders headers() {
                return new HttpHeaders();
            }

            @Override
            public Flux<DataBuffer> content() {
                return content;
            }
        };
    }

    static List<Object> streams() {
        return List.of(
                new ByteArrayInputStream(new byte[1]),
                new StringReader("once"),
                Stream.of("once"),
                List.of("once").iterator());
    }

    @ParameterizedTest
    @MethodSource("streams")
    void a_value_that_is_read_to_its_end_is_used_up(Object value) {
        assertThat(OneShot.is(Mono.just(value))).isTrue();
        assertThat(OneShot.is(Mono.just(List.of("each", "time")))).isFalse();
    }

    private static InputStreamResource stream() {
        return new InputStreamResource(new ByteArrayInputStream("once".getBytes(UTF_8)));
    }

    static List<BodyInserter<?, ? super ClientHttpRequest>> oneShot() {
        return List.of(
                BodyInserters.fromPublisher(Flux.just("a", "b"), String.class),
                BodyInserters.fromPublisher(Mono.just("a").map(text -> text + "b"), String.class),
                BodyInserters.fromDataBuffers(buffer()),
                BodyInserters.fromValue(DefaultDataBufferFactory.sharedInstance.wrap("once".getBytes(UTF_8))),
                BodyInserters.fromValue(Unpooled.copiedBuffer("once", UTF_8)),
                BodyInserters.fromResource(stream()),
                BodyInserters.fromMultipartData(form(stream()).build()),
                BodyInserters.fromMultipartData(asyncForm().build()),
                BodyInserters.fromMultipartData(
                        new LinkedMultiValueMap<>(Map.of("file", List.of(new HttpEntity<>(uploaded()))))),
                BodyInserters.fromMultipartData(form(uploaded()).build()),
                (request, context) -> request.writeWith(buffer()));
    }

    static List<BodyInserter<?, ? super ClientHttpRequest>> repeatable() {
        return List.of(
                BodyInserters.empty(),
                BodyInserters.fromValue("order"),
                BodyInserters.fromValue("order".getBytes(UTF_8)),
                BodyInserters.fromPublisher(Mono.just("order"), String.class),
                BodyInserters.fromPublisher(Mono.fromSupplier(() -> "order"), String.class),
                BodyInserters.fromFormData("a", "b"),
                BodyInserters.fromMultipartData(form("text").build()),
                BodyInserters.fromMultipartData(
                        form(new ByteArrayResource("file".getBytes(UTF_8))).build()),
                BodyInserters.fromResource(new ByteArrayResource("file".getBytes(UTF_8))));
    }

    /** The lines between the parts of a form are made up anew each time. */
    private static String withoutBoundaries(RequestLog.Entry entry) {
        return entry.request().body().replaceAll("--[-\\w]+", "--");
    }

    @ParameterizedTest
    @MethodSource("oneShot")
    void a_body_that_may_be_gone_is_sent_once_and_the_caller_gets_the_refusal(
            BodyInserter<?, ? super ClientHttpRequest> body) {
        try (Wire wire = Wire.script(REFUSAL.body("later"), Reply.ok())) {
            assertThat(outcome(wire.client.put().uri("/x").body(body))).isEqualTo("429 later");
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @ParameterizedTest
    @MethodSource("repeatable")
    void a_body_that_is_there_each_time_is_sent_again(BodyInserter<?, ? super ClientHttpRequest> body) {
        try (Wire wire = Wire.script(REFUSAL, REFUSAL, Reply.ok())) {
            assertThat(outcome(wire.client.post().uri("/x").body(body))).startsWith("200");
            assertThat(wire.wire()).isEqualTo(3);
            assertThat(wire.log().entries())
                    .extracting(BodiesTest::withoutBoundaries)
                    .containsOnly(withoutBoundaries(wire.log().entries().get(0)));
            wire.assertIdle();
        }
    }

    @Test
    void a_body_of_bytes_is_the_same_each_time() {
        byte[] bytes = new byte[100_000];
        bytes[99_999] = 7;
        try (Wire wire = Wire.script(REFUSAL, REFUSAL, Reply.ok())) {
            assertThat(outcome(wire.client.post().uri("/x").bodyValue(bytes))).startsWith("200");
            assertThat(wire.log().entries())
                    .hasSize(3)
                    .allSatisfy(entry -> assertThat(entry.request().bytes()).isEqualTo(bytes));
        }
    }

    @Test
    void a_supplier_of_buffers_gives_a_new_one_each_time_and_each_is_released_once() {
        List<ByteBuf> given = new CopyOnWriteArrayList<>();
        Mono<DataBuffer> fresh = Mono.fromSupplier(() -> {
            ByteBuf buffer = ByteBufAllocator.DEFAULT.directBuffer();
            buffer.writeCharSequence("order", UTF_8);
            given.add(buffer.retain()); // held once more, so that a release too many shows
            return new NettyDataBufferFactory(ByteBufAllocator.DEFAULT).wrap(buffer);
        });
        try (Wire wire = Wire.script(REFUSAL, REFUSAL, Reply.ok())) {
            assertThat(outcome(wire.client.post().uri("/x").body(fresh, DataBuffer.class)))
                    .startsWith("200");
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().body())
                    .containsExactly("order", "order", "order");
            wire.assertIdle();
        }
        assertThat(given).hasSize(3).allSatisfy(buffer -> {
            assertThat(buffer.refCnt()).isEqualTo(1);
            buffer.release();
        });
    }

    @Test
    void a_one_shot_publisher_is_subscribed_once() {
        AtomicInteger subscribed = new AtomicInteger();
        Flux<String> lines =
                Flux.fromStream(Stream.of("a", "b")).doOnSubscribe(subscription -> subscribed.incrementAndGet());
        try (Wire wire = Wire.script(REFUSAL.body("later"), Reply.ok())) {
            assertThat(outcome(wire.client.put().uri("/x").body(lines, String.class)))
                    .isEqualTo("429 later");
            assertThat(subscribed).hasValue(1);
        }
    }

    @Test
    void a_one_shot_publisher_that_no_connection_was_had_for_is_not_used_up() {
        AtomicInteger subscribed = new AtomicInteger();
        Flux<String> lines =
                Flux.fromStream(Stream.of("a", "b")).doOnSubscribe(subscription -> subscribed.incrementAndGet());
        try (Wire wire = Wire.always(Reply.ok())) {
            wire.server.dispose();
            assertThat(Wire.failure(Wire.answer(wire.client.put().uri("/x").body(lines, String.class))))
                    .isInstanceOfSatisfying(
                            RetriesExhaustedException.class,
                            exhausted -> assertThat(exhausted.attempts()).isEqualTo(3));
            assertThat(subscribed).hasValue(0);
        }
    }

    @Test
    void a_publisher_that_the_caller_vouches_for_is_subscribed_again() {
        try (Wire wire = Wire.script(REFUSAL, Reply.ok())) {
            assertThat(outcome(wire.client
                            .put()
                            .uri("/x")
                            .attributes(RateLimitFilter.replayable(true))
                            .body(Flux.just("a", "b"), String.class)))
                    .startsWith("200");
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().body())
                    .containsExactly("ab", "ab");
        }
    }

    @Test
    void a_value_that_the_caller_does_not_vouch_for_is_sent_once() {
        try (Wire wire = Wire.script(REFUSAL.body("later"), Reply.ok())) {
            assertThat(outcome(wire.client
                            .put()
                            .uri("/x")
                            .attributes(RateLimitFilter.replayable(false))
                            .bodyValue("order")))
                    .isEqualTo("429 later");
        }
    }

    /** As filters that sign, log or count do: every request goes on with an inserter of their own around the body. */
    static List<ExchangeFilterFunction> wrapping() {
        return List.of(
                RateLimitFilter.of(Wire.limiter()),
                (request, next) -> next.exchange(ClientRequest.from(request)
                        .body((message, context) -> request.body().insert(message, context))
                        .build()),
                (request, next) -> next.exchange(ClientRequest.from(request)
                        .body((message, context) ->
                                Mono.defer(() -> request.body().insert(message, context)))
                        .build()),
                (request, next) -> next.exchange(ClientRequest.from(request)
                        .body((message, context) ->
                                request.body().insert(new ClientHttpRequestDecorator(message), context))
                        .build()));
    }

    private static WebClient behind(ExchangeFilterFunction wrapping, Wire wire) {
        return wire.plain().filter(wrapping).filter(wire.filter).build();
    }

    @ParameterizedTest
    @MethodSource("wrapping")
    void behind_a_filter_that_wraps_bodies_what_is_there_each_time_is_sent_again(ExchangeFilterFunction wrapping) {
        try (Wire wire = Wire.script(REFUSAL, REFUSAL, Reply.ok(), REFUSAL, Reply.ok(), REFUSAL, Reply.ok())) {
            WebClient client = behind(wrapping, wire);
            assertThat(outcome(client.get().uri("/x"))).startsWith("200");
            assertThat(wire.wire()).isEqualTo(3);
            assertThat(outcome(client.post().uri("/x").bodyValue("order"))).startsWith("200");
            assertThat(outcome(client.post().uri("/x"))).startsWith("200");
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().body())
                    .containsExactly("", "", "", "order", "order", "", "");
            wire.assertIdle();
        }
    }

    @ParameterizedTest
    @MethodSource("wrapping")
    void behind_a_filter_that_wraps_bodies_what_may_be_gone_is_sent_once(ExchangeFilterFunction wrapping) {
        for (BodyInserter<?, ? super ClientHttpRequest> body : oneShot()) {
            try (Wire wire = Wire.script(REFUSAL.body("later"), Reply.ok())) {
                assertThat(outcome(behind(wrapping, wire).put().uri("/x").body(body)))
                        .isEqualTo("429 later");
                assertThat(wire.wire()).isEqualTo(1);
                wire.assertIdle();
            }
        }
    }

    @Test
    void a_body_that_fails_before_anything_was_written_is_not_asked_for_again() {
        AtomicInteger asked = new AtomicInteger();
        BodyInserter<Object, ClientHttpRequest> failing = (message, context) -> Mono.defer(() -> {
            asked.incrementAndGet();
            return Mono.error(new IOException("cut off"));
        });
        try (Wire wire = Wire.always(Reply.ok())) {
            assertThat(Wire.failure(Wire.answer(wire.client.put().uri("/x").body(failing))))
                    .isInstanceOf(WebClientRequestException.class);
            assertThat(asked).hasValue(1);
            wire.assertIdle();
        }
    }

    @Test
    void a_file_still_goes_past_the_heap(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("f.txt"), "file");
        List<Boolean> direct = new CopyOnWriteArrayList<>();
        BodyInserter<?, ? super ClientHttpRequest> resource = BodyInserters.fromResource(new FileSystemResource(file));
        BodyInserter<Object, ClientHttpRequest> looking = (message, context) -> {
            direct.add(message instanceof ZeroCopyHttpOutputMessage);
            return resource.insert(message, context);
        };
        try (Wire wire = Wire.script(REFUSAL, Reply.ok())) {
            assertThat(outcome(wire.client.post().uri("/x").body(looking))).startsWith("200");
            assertThat(wire.log().entries())
                    .extracting(entry -> entry.request().body())
                    .containsExactly("file", "file");
            assertThat(direct).containsExactly(true, true);
        }
    }
}
