package io.github.reactorratelimit.spring;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.ResponseEntity;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.server.WebHandler;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What the callers of a WebFlux server see of our refusals. */
class RateLimitExceptionHandlerTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private DisposableServer server = serve(exchange -> Mono.empty());

    private static DisposableServer serve(WebHandler handler) {
        return HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle(new ReactorHttpHandlerAdapter(WebHttpHandlerBuilder.webHandler(handler)
                        .exceptionHandler(new RateLimitExceptionHandler())
                        .build()))
                .bindNow();
    }

    @AfterEach
    void stop() {
        server.disposeNow();
    }

    private ResponseEntity<String> answerOf(WebHandler handler) {
        server.disposeNow();
        server = serve(handler);
        return Objects.requireNonNull(WebClient.create("http://127.0.0.1:" + server.port())
                .get()
                .uri("/")
                .exchangeToMono(response -> response.toEntity(String.class))
                .block(Wire.PATIENCE));
    }

    private RateLimiter closedFor(Duration left) {
        RateLimiter limiter = RateLimiter.named("api")
                .limit(Limit.inFlight(100))
                .scheduler(() -> time)
                .build();
        limiter.pause(Demand.one(), left);
        return limiter;
    }

    private static Mono<Void> within(RateLimiter limiter, Duration longest) {
        return Mono.just("answer")
                .transform(limiter.limit(Demand.one().maxWait(longest)))
                .as(Mono::from)
                .then();
    }

    @Test
    void a_wait_that_is_too_long_becomes_429_with_the_seconds_rounded_up() {
        RateLimiter api = closedFor(Duration.ofMillis(41_001));
        ResponseEntity<String> answer = answerOf(exchange -> within(api, ofSeconds(1)));
        assertThat(answer.getStatusCode().value()).isEqualTo(429);
        assertThat(answer.getHeaders().getFirst("Retry-After")).isEqualTo("42");
        assertThat(answer.getBody()).isNull();
    }

    @Test
    void whole_seconds_stay_what_they_are() {
        RateLimiter api = closedFor(ofMinutes(2));
        ResponseEntity<String> answer = answerOf(exchange -> within(api, ofSeconds(1)));
        assertThat(answer.getHeaders().getFirst("Retry-After")).isEqualTo("120");
    }

    @Test
    void a_wait_of_unknown_length_becomes_429_without_a_hint() {
        RateLimiter api = RateLimiter.of(Limit.inFlight(1));
        Disposable busy = Mono.never().transform(api.limit()).subscribe();
        ResponseEntity<String> answer = answerOf(exchange -> within(api, Duration.ZERO));
        assertThat(answer.getStatusCode().value()).isEqualTo(429);
        assertThat(answer.getHeaders().getFirst("Retry-After")).isNull();
        busy.dispose();
    }

    @Test
    void a_full_queue_becomes_429_as_well() {
        RateLimiter api = RateLimiter.named("api")
                .limit(Limit.inFlight(1))
                .maxPending(1, 1)
                .build();
        Disposable busy = Flux.range(0, 2)
                .flatMap(n -> Mono.never().transform(api.limit()))
                .subscribe();
        assertThat(answerOf(exchange -> within(api, ofSeconds(1)))
                        .getStatusCode()
                        .value())
                .isEqualTo(429);
        busy.dispose();
    }

    @Test
    void other_failures_are_left_to_others() {
        assertThat(answerOf(exchange -> Mono.error(new IllegalStateException("other")))
                        .getStatusCode()
                        .value())
                .isEqualTo(500);
    }

    @Test
    void a_response_that_is_on_its_way_is_left_alone() {
        RateLimiter api = closedFor(ofMinutes(1));
        DisposableServer late = serve(exchange -> exchange.getResponse()
                .writeAndFlushWith(Flux.just(Flux.just(DefaultDataBufferFactory.sharedInstance.wrap(new byte[10]))))
                .then(within(api, ofSeconds(1))));
        Integer status = WebClient.create("http://127.0.0.1:" + late.port())
                .get()
                .uri("/")
                .exchangeToMono(response -> Mono.just(response.statusCode().value()))
                .block(Wire.PATIENCE);
        assertThat(status).isEqualTo(200);
        late.disposeNow();
    }

    @Test
    void it_stands_before_the_handler_of_spring_boot() {
        assertThat(new RateLimitExceptionHandler().getOrder()).isLessThan(-1);
    }
}
