package io.github.reactorratelimit.netty;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.publisher.TestPublisher;

/** Bodies that a dialect looks into before the caller does. */
@ExtendWith(NoLeaks.class)
class BodyAheadTest {

    private final IOException cut = new IOException("cut");

    private static ByteBuf piece(String text) {
        return Unpooled.copiedBuffer(text, UTF_8);
    }

    private static Flux<ByteBuf> pieces(String... texts) {
        return Flux.fromArray(texts).map(BodyAheadTest::piece);
    }

    private static Flux<String> texts(Flux<ByteBuf> body) {
        return body.map(each -> each.toString(UTF_8));
    }

    private static String first(BodyAhead body) {
        byte[] first = body.first().block(Wire.PATIENCE);
        assertThat(first).isNotNull();
        return new String(first, UTF_8);
    }

    @Test
    void the_first_bytes_come_first_and_then_the_whole_body() {
        BodyAhead body = new BodyAhead(pieces("ab", "cd", "ef", "gh"), 3);
        assertThat(first(body)).isEqualTo("abc");
        StepVerifier.create(texts(body)).expectNext("abcd", "ef", "gh").verifyComplete();
    }

    @Test
    void a_body_shorter_than_wanted_is_all_there_is() {
        BodyAhead body = new BodyAhead(pieces("ab"), 3);
        assertThat(first(body)).isEqualTo("ab");
        StepVerifier.create(texts(body)).expectNext("ab").verifyComplete();

        BodyAhead nothing = new BodyAhead(pieces(), 3);
        assertThat(first(nothing)).isEmpty();
        StepVerifier.create(texts(nothing)).verifyComplete();
    }

    @Test
    void a_body_that_breaks_off_gives_what_it_had_and_then_its_failure() {
        BodyAhead body = new BodyAhead(pieces("ab").concatWith(Flux.error(cut)), 3);
        assertThat(first(body)).isEqualTo("ab");
        StepVerifier.create(texts(body)).expectNext("ab").verifyErrorMessage("cut");
    }

    @Test
    void no_more_is_read_than_is_asked_for() {
        TestPublisher<ByteBuf> content = TestPublisher.create();
        BodyAhead body = new BodyAhead(content.flux(), 3);
        List<String> read = new ArrayList<>();
        body.first().subscribe(first -> read.add("first " + new String(first, UTF_8)));
        content.assertMinRequested(1).next(piece("ab")).next(piece("cd"));
        assertThat(read).containsExactly("first abc");

        StepVerifier.create(texts(body), 0)
                .expectSubscription()
                .thenRequest(1)
                .expectNext("abcd")
                .thenRequest(1)
                .then(() -> content.next(piece("ef")))
                .expectNext("ef")
                .then(content::complete)
                .verifyComplete();
        content.assertMaxRequested(1);
    }

    @Test
    void asking_while_the_first_bytes_are_handed_on_gives_them_once() {
        BodyAhead body = new BodyAhead(pieces("ab", "cd", "ef"), 2);
        assertThat(first(body)).isEqualTo("ab");
        List<String> read = new ArrayList<>();
        texts(body).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                subscription.request(1);
            }

            @Override
            protected void hookOnNext(String text) {
                read.add(text);
                request(1);
            }

            @Override
            protected void hookOnComplete() {
                read.add("end");
            }
        });
        assertThat(read).containsExactly("ab", "cd", "ef", "end");
    }

    @Test
    void an_end_between_the_two_readings_is_not_lost() {
        TestPublisher<ByteBuf> content = TestPublisher.create();
        BodyAhead body = new BodyAhead(content.flux(), 1);
        body.first().subscribe();
        content.next(piece("ab")).error(cut);
        StepVerifier.create(texts(body)).expectNext("ab").verifyErrorMessage("cut");
    }

    @Test
    void cancelling_either_cancels_the_body_and_a_second_reader_is_refused() {
        TestPublisher<ByteBuf> content = TestPublisher.create();
        BodyAhead body = new BodyAhead(content.flux(), 10);
        body.first().subscribe().dispose();
        content.assertCancelled();

        TestPublisher<ByteBuf> other = TestPublisher.create();
        BodyAhead read = new BodyAhead(other.flux(), 1);
        read.first().subscribe();
        other.next(piece("ab"));
        StepVerifier.create(read).expectNextCount(1).thenCancel().verify();
        other.assertCancelled();
        StepVerifier.create(read).verifyErrorMessage("a response body can be read once only");
    }

    @Test
    void what_came_so_far_is_enough_and_the_rest_is_kept_until_it_is_asked_for() {
        TestPublisher<ByteBuf> content = TestPublisher.create();
        List<Long> requests = new ArrayList<>();
        BodyAhead body = new BodyAhead(content.flux().doOnRequest(requests::add), 100);
        List<String> read = new ArrayList<>();
        body.first().subscribe(first -> read.add("first " + new String(first, UTF_8)));
        content.next(piece("ab"));
        body.enough();
        body.enough();
        content.next(piece("cd"));
        assertThat(read).containsExactly("first ab");

        StepVerifier.create(texts(body), 0)
                .expectSubscription()
                .thenRequest(1)
                .expectNext("abcd")
                .then(() -> assertThat(requests).containsExactly(1L, 1L))
                .thenRequest(2)
                .then(() -> assertThat(requests).containsExactly(1L, 1L, 2L))
                .then(() -> content.next(piece("ef"), piece("gh")))
                .expectNext("ef", "gh")
                .then(content::complete)
                .verifyComplete();
    }

    @Test
    void a_piece_that_is_on_its_way_already_is_not_asked_for_twice() {
        TestPublisher<ByteBuf> content = TestPublisher.create();
        List<Long> requests = new ArrayList<>();
        BodyAhead body = new BodyAhead(content.flux().doOnRequest(requests::add), 100);
        body.first().subscribe();
        body.enough();

        StepVerifier.create(texts(body), 1)
                .then(() -> content.next(piece("ab")))
                .expectNext("ab")
                .then(() -> assertThat(requests).containsExactly(1L))
                .thenRequest(1)
                .then(() -> assertThat(requests).containsExactly(1L, 1L))
                .then(content::complete)
                .verifyComplete();
    }

    @Test
    void saying_enough_before_anybody_listens_is_no_harm() {
        BodyAhead body = new BodyAhead(Flux.never(), 3);
        body.enough();
        assertThat(first(body)).isEmpty();
        StepVerifier.create(body).thenCancel().verify();
    }

    @Test
    void nothing_is_lost_or_doubled_when_enough_comes_between_the_pieces() {
        for (int i = 0; i < 2_000; i++) {
            BodyAhead body = new BodyAhead(
                    Flux.range(0, 20).map(n -> piece("<" + n + ">")).publishOn(Schedulers.parallel(), 1), 30);
            Mono<String> whole =
                    body.first().flatMap(first -> texts(body).collectList()).map(all -> String.join("", all));
            Schedulers.parallel().schedule(body::enough);
            assertThat(whole.block(Wire.PATIENCE))
                    .isEqualTo(
                            IntStream.range(0, 20).mapToObj(n -> "<" + n + ">").collect(Collectors.joining()));
        }
    }

    /** Knows refusals by their bodies alone. */
    private static final class Talkative implements Dialect {

        private final List<String> read = new ArrayList<>();

        @Override
        public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
            return RateLimitSignal.none(status);
        }

        @Override
        public int bodyBytes(int status, Headers headers) {
            return 9;
        }

        @Override
        public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
            String text = new String(body, UTF_8);
            read.add(text);
            return text.equals("slow down")
                    ? RateLimitSignal.none(status).toBuilder()
                            .throttled(true)
                            .delay(Duration.ofMillis(1))
                            .build()
                    : RateLimitSignal.none(status);
        }
    }

    private static Wire wire(Talkative dialect, Reply... replies) {
        RateLimiter api = RateLimiter.named("talkative")
                .limit(Limit.inFlight(Wire.IN_FLIGHT))
                .dialect(dialect)
                .build();
        return Wire.to(ServiceRules.create().script("/x", replies), api, calls -> calls);
    }

    @Test
    void a_refusal_that_only_its_body_tells_is_heard_and_the_call_sent_again() {
        Talkative dialect = new Talkative();
        Reply small = Reply.status(403).body("slow down, please");
        Reply large = Reply.status(200).body("slow down" + "!".repeat(300_000));
        try (Wire wire = wire(
                dialect,
                small,
                large,
                small.endless().body("slow down " + "again ".repeat(1_000)),
                Reply.ok().body("there"))) {
            assertThat(Wire.outcome(wire.post())).isEqualTo("200 there");
            assertThat(dialect.read).containsExactly("slow down", "slow down", "slow down", "there");
            assertThat(wire.wire()).isEqualTo(4);
            wire.assertIdle();
        }
    }

    @Test
    void a_body_that_was_looked_into_is_still_whole_for_the_caller() {
        Talkative dialect = new Talkative();
        String large = "{\"message\":\"" + "x".repeat(300_000) + "\"}";
        try (Wire wire =
                wire(dialect, Reply.status(403).body(large), Reply.status(204).body(""))) {
            assertThat(Wire.outcome(wire.get())).isEqualTo("403 " + large);
            assertThat(Wire.outcome(wire.get())).isEqualTo("204 ");
            assertThat(dialect.read).containsExactly("{\"message", "");
            assertThat(wire.wire()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void a_body_that_was_looked_into_and_that_nobody_reads_is_let_go() {
        try (Wire wire = wire(new Talkative(), Reply.ok().endless())) {
            assertThat(wire.get().response().block(Wire.PATIENCE)).isNotNull();
            wire.assertIdle();
        }
    }
}
