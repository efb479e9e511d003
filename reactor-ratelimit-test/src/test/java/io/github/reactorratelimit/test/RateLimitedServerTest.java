package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.Unpooled;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.http.client.PrematureCloseException;
import reactor.netty.resources.ConnectionProvider;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What goes over the wire, on the system's clock; how much time passes is never asserted. */
class RateLimitedServerTest {

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final ConnectionProvider pool = ConnectionProvider.create("twelve", 12);
    private final HttpClient client = HttpClient.create(pool).disableRetry(true);
    private final ConnectionProvider poolOfOne = ConnectionProvider.create("one", 1);
    private final HttpClient alone = HttpClient.create(poolOfOne).disableRetry(true);
    private RateLimitedServer server = RateLimitedServer.create().start();

    @BeforeEach
    void start() {
        server.dispose();
        server = RateLimitedServer.create()
                .limit("/search", 5, Duration.ofHours(1))
                .reply("/close", Reply.close())
                .reply("/reset", Reply.reset())
                .reply("/hang", Reply.hang())
                .reply("/slow", Reply.ok().body("0123456789").slowly(5, Duration.ofMillis(5)))
                .reply("/stuck", Reply.ok().body("0123456789").slowly(5, Duration.ofHours(1)))
                .reply("/late", Reply.ok().after(Duration.ofMillis(20)))
                .reply("/large", Reply.status(429).bodyOfSize(1_048_576))
                .reply("/endless", Reply.status(429).endless())
                .reply("/reset-late", Reply.ok().bodyOfSize(1_000).resetAfterHead())
                .reply("/close-late", Reply.ok().bodyOfSize(1_000).closeAfterHead())
                .reply("/no-content", Reply.status(204).body(""))
                .fault("/proxy", Fault.always(Reply.status(407)))
                .fault("/forbidden", Fault.always(Reply.status(403)))
                .start();
    }

    @AfterEach
    void stop() {
        server.dispose();
        pool.dispose();
        poolOfOne.dispose();
    }

    private Mono<Integer> status(String path) {
        return status(client, path);
    }

    @Test
    void a_limit_of_the_tests_own_that_fails_is_answered_with_500_and_its_mistake() {
        ServerLimit broken = () -> {
            throw new IllegalStateException("a mistake");
        };
        server.dispose();
        server = RateLimitedServer.create().limit("/search", broken).start();

        assertThat(client.get()
                        .uri(server.baseUrl() + "/search")
                        .responseSingle((response, body) ->
                                body.asString().map(text -> response.status().code() + " " + text))
                        .block(Duration.ofSeconds(5)))
                .isEqualTo("500 java.lang.IllegalStateException: a mistake");
        assertThat(server).hasToString("RateLimitedServer[" + server.baseUrl() + "]");
    }

    private Mono<Integer> status(HttpClient client, String path) {
        return client.get()
                .uri(server.baseUrl() + path)
                .responseSingle((response, body) ->
                        body.asString().then(Mono.just(response.status().code())));
    }

    /** Completes a little after something is the case. */
    static Mono<Long> soonAfter(BooleanSupplier condition) {
        return Flux.interval(Duration.ofMillis(5))
                .onBackpressureDrop()
                .filter(tick -> condition.getAsBoolean())
                .next()
                .delayElement(Duration.ofMillis(50));
    }

    private Mono<String> text(String path) {
        return client.get()
                .uri(server.baseUrl() + path)
                .responseContent()
                .aggregate()
                .asString();
    }

    @Test
    void five_of_twelve_calls_at_once_pass_and_the_others_are_refused_with_a_retry_after() {
        StepVerifier.create(
                        Flux.range(0, 12).flatMap(i -> status("/search"), 12).collectSortedList())
                .expectNext(List.of(200, 200, 200, 200, 200, 429, 429, 429, 429, 429, 429, 429))
                .expectComplete()
                .verify(PATIENCE);

        assertThat(server.log().entries("/search").stream()
                        .filter(entry -> entry.status() == 429)
                        .map(entry -> entry.reply().header("Retry-After")))
                .hasSize(7)
                .allMatch(seconds -> seconds != null && Integer.parseInt(seconds) > 3_500);
        assertThat(server.connections()).isBetween(1, 12);
    }

    @Test
    void a_reset_or_close_before_the_head_is_an_error_of_the_connection_and_costs_one_request() {
        StepVerifier.create(status("/reset"))
                .expectErrorSatisfies(error -> assertThat(error)
                        .isInstanceOf(IOException.class)
                        .isNotInstanceOf(PrematureCloseException.class)
                        .hasMessageContaining("reset"))
                .verify(PATIENCE);
        StepVerifier.create(status("/close"))
                .expectError(PrematureCloseException.class)
                .verify(PATIENCE);

        assertThat(server.log().countsByStatus()).hasToString("{0=2}");
    }

    @Test
    void a_cut_after_the_head_shows_the_head_and_half_of_the_body_and_then_fails() {
        for (String path : List.of("/reset-late", "/close-late")) {
            AtomicInteger size = new AtomicInteger();
            StepVerifier.create(client.get()
                            .uri(server.baseUrl() + path)
                            .response((response, body) -> Flux.concat(
                                    Mono.just(response.status().code()),
                                    body.asByteArray()
                                            .doOnNext(bytes -> size.addAndGet(bytes.length))
                                            .then(Mono.<Integer>empty()))))
                    .expectNext(200)
                    .expectError(IOException.class)
                    .verify(PATIENCE);
            assertThat(size).hasValue(500);
        }
    }

    @Test
    void a_hanging_request_is_logged_and_never_answered() {
        StepVerifier.create(status("/hang")
                        .takeUntilOther(soonAfter(() -> server.log().count("/hang") == 1)))
                .expectComplete()
                .verify(PATIENCE);
    }

    @Test
    void a_slow_body_comes_after_its_head_and_a_late_head_comes() {
        StepVerifier.create(text("/slow"))
                .expectNext("0123456789")
                .expectComplete()
                .verify(PATIENCE);
        StepVerifier.create(text("/late"))
                .expectNext("{\"status\":200}")
                .expectComplete()
                .verify(PATIENCE);
        StepVerifier.create(client.get()
                        .uri(server.baseUrl() + "/stuck")
                        .response((response, body) -> Mono.just(
                                        response.status().toString())
                                .concatWith(body.asString().takeUntilOther(Mono.delay(Duration.ofMillis(100))))))
                .expectNext("200 OK")
                .expectComplete()
                .verify(PATIENCE);
    }

    @Test
    void a_large_body_is_whole_and_an_endless_one_flows_until_the_client_leaves() {
        StepVerifier.create(text("/large").map(String::length))
                .expectNext(1_048_576)
                .expectComplete()
                .verify(PATIENCE);
        StepVerifier.create(client.get()
                        .uri(server.baseUrl() + "/endless")
                        .response((response, body) -> body.asByteArray()
                                .map(bytes -> bytes.length)
                                .scan(0, Integer::sum)
                                .takeUntil(sum -> sum > 100_000))
                        .last())
                .assertNext(sum -> assertThat(sum).isGreaterThan(100_000))
                .expectComplete()
                .verify(PATIENCE);
    }

    @Test
    void scripted_statuses_arrive_as_they_are() {
        assertThat(Stream.of("/proxy", "/forbidden", "/no-content", "/unknown", "/search")
                        .map(path -> status(alone, path).block(PATIENCE)))
                .containsExactly(407, 403, 204, 404, 200);
        assertThat(server.connections()).isEqualTo(1);
    }

    @Test
    void a_head_request_gets_the_head_alone_and_the_connection_stays_usable() {
        StepVerifier.create(alone.head()
                        .uri(server.baseUrl() + "/search")
                        .responseSingle((response, body) -> body.asString()
                                .defaultIfEmpty("")
                                .map(text -> response.responseHeaders().get("X-RateLimit-Remaining") + text)))
                .expectNext("4")
                .expectComplete()
                .verify(PATIENCE);
        StepVerifier.create(status(alone, "/search"))
                .expectNext(200)
                .expectComplete()
                .verify(PATIENCE);
        assertThat(server.connections()).isEqualTo(1);
    }

    @Test
    void https_works_for_a_client_that_trusts_the_certificate_and_for_no_other() throws SSLException {
        RateLimitedServer secure = ServiceRules.create()
                .reply("/x", Reply.ok())
                .reply("/reset", Reply.reset())
                .startTls();
        try (secure) {
            SslContextBuilder trust = SslContextBuilder.forClient().trustManager(secure.certificate());
            SslContext context = trust.build();
            HttpClient trusting = client.secure(spec -> spec.sslContext(context));

            StepVerifier.create(trusting.get()
                            .uri(secure.baseUrl() + "/x")
                            .responseContent()
                            .aggregate()
                            .asString())
                    .expectNext("{\"status\":200}")
                    .expectComplete()
                    .verify(PATIENCE);
            StepVerifier.create(trusting.get().uri(secure.baseUrl() + "/reset").response())
                    .expectErrorSatisfies(error -> assertThat(error).hasMessageContaining("reset"))
                    .verify(PATIENCE);
            StepVerifier.create(client.get().uri(secure.baseUrl() + "/x").response())
                    .expectError(SSLException.class)
                    .verify(PATIENCE);
        }
    }

    @Test
    void a_body_that_is_no_text_is_logged_as_it_came() {
        byte[] binary = {0, (byte) 0xff, (byte) 0xc3, 10};
        StepVerifier.create(client.post()
                        .uri(server.baseUrl() + "/search")
                        .send(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(binary)))
                        .response())
                .expectNextCount(1)
                .expectComplete()
                .verify(PATIENCE);

        RequestLog.Entry entry = server.log().entries().get(0);
        assertThat(entry.request().bytes()).isEqualTo(binary);
        assertThat(entry.bodySize()).isEqualTo(4);
    }

    @Test
    void delays_of_the_server_stay_real_while_virtual_time_is_installed() {
        VirtualTimeScheduler.getOrSet();
        try {
            assertThat(text("/late").block(PATIENCE)).isEqualTo("{\"status\":200}");
            assertThat(text("/slow").block(PATIENCE)).isEqualTo("0123456789");
            assertThatThrownBy(() -> status("/reset-late").block(PATIENCE)).hasCauseInstanceOf(IOException.class);
        } finally {
            VirtualTimeScheduler.reset();
        }
    }

    @Test
    void open_connections_can_be_reset_and_the_server_goes_on() {
        StepVerifier.create(status("/hang")
                        .mergeWith(soonAfter(() -> server.log().count("/hang") == 1)
                                .doOnSuccess(hanging -> server.resetConnections())
                                .then(Mono.empty())))
                .expectError(IOException.class)
                .verify(PATIENCE);
        StepVerifier.create(status("/search")).expectNext(200).expectComplete().verify(PATIENCE);
        assertThat(server.connections()).isEqualTo(2);
    }

    @Test
    void a_disposed_server_refuses_connections() {
        server.close();

        assertThat(server.isDisposed()).isTrue();
        assertThatThrownBy(() -> status("/search").block(PATIENCE)).hasCauseInstanceOf(ConnectException.class);
    }
}
