package io.github.reactorratelimit.spring;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Failure;
import io.github.reactorratelimit.FailureReader;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.LimitStore;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RetryPolicy;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.reactive.function.client.WebClient;
import org.springframework.web.reactive.handler.WebFluxResponseStatusExceptionHandler;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.server.WebExceptionHandler;
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

    private static DisposableServer serve(WebHandler handler, WebExceptionHandler... behind) {
        return HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .handle(new ReactorHttpHandlerAdapter(WebHttpHandlerBuilder.webHandler(handler)
                        .exceptionHandler(new RateLimitExceptionHandler())
                        .exceptionHandlers(handlers -> handlers.addAll(List.of(behind)))
                        .build()))
                .bindNow();
    }

    @AfterEach
    void stop() {
        server.disposeNow();
    }

    private ResponseEntity<String> answerOf(WebHandler handler, WebExceptionHandler... behind) {
        server.disposeNow();
        server = serve(handler, behind);
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

    /** A call that the other server refuses until it gives up. */
    private static Mono<Void> refused(Duration hint) {
        return Mono.<String>error(new IllegalStateException("too many"))
                .transform(RateLimiter.named("thin")
                        .build()
                        .calls()
                        .retry(RetryPolicy.standard().refusals(0))
                        .failures(FailureReader.of(IllegalStateException.class, error -> Failure.throttled(hint)))
                        .limit())
                .as(Mono::from)
                .then();
    }

    @Test
    void what_another_server_refused_to_the_end_becomes_503_with_what_it_asked_for_last() {
        ResponseEntity<String> answer = answerOf(exchange -> refused(Duration.ofMillis(1_500)));
        assertThat(answer.getStatusCode().value()).isEqualTo(503);
        assertThat(answer.getHeaders().getFirst("Retry-After")).isEqualTo("2");
        assertThat(answer.getBody()).isNull();
    }

    /** A store that is out of order, of limits that then let nobody pass. */
    private static final class Broken implements LimitStore {

        @Override
        public Mono<Reply> decide(Batch batch) {
            return Mono.error(new IOException("no store"));
        }

        @Override
        public String key(Map<String, String> attributes) {
            return attributes.toString();
        }

        @Override
        public Terms terms() {
            return new Terms(ofSeconds(1), ofSeconds(30), ofSeconds(1), 0);
        }
    }

    @Test
    void a_limiter_whose_store_is_out_of_order_becomes_503() {
        RateLimiter shared = RateLimiter.named("shared").limit(Limit.total(5)).build(new Broken());
        ResponseEntity<String> answer = answerOf(exchange -> within(shared, ofSeconds(1)));
        assertThat(answer.getStatusCode().value()).isEqualTo(503);
        assertThat(answer.getHeaders().getFirst("Retry-After")).isNull();
        shared.dispose();
    }

    @Test
    void a_refusal_that_somebody_wrapped_is_one_all_the_same() {
        RateLimiter api = closedFor(ofMinutes(2));
        ResponseEntity<String> answer = answerOf(exchange -> within(api, ofSeconds(1))
                .onErrorMap(error -> new IllegalStateException("mine", new IOException(error))));
        assertThat(answer.getStatusCode().value()).isEqualTo(429);
        assertThat(answer.getHeaders().getFirst("Retry-After")).isEqualTo("120");
    }

    @ResponseStatus(HttpStatus.BAD_GATEWAY)
    private static final class Mine extends RuntimeException {

        private static final long serialVersionUID = 1L;

        Mine(Throwable cause) {
            super(cause);
        }
    }

    @Test
    void a_status_that_somebody_gave_it_stays() {
        RateLimiter api = closedFor(ofMinutes(2));
        List<Function<Throwable, Throwable>> given =
                List.of(error -> new ResponseStatusException(HttpStatus.BAD_GATEWAY, "mine", error), Mine::new);
        assertThat(given)
                .allSatisfy(giving -> assertThat(answerOf(
                                        exchange -> within(api, ofSeconds(1)).onErrorMap(giving),
                                        new WebFluxResponseStatusExceptionHandler())
                                .getStatusCode()
                                .value())
                        .isEqualTo(502));
    }

    @Test
    void causes_in_a_circle_end() {
        Exception one = new IllegalStateException();
        Exception two = new IllegalStateException(one);
        one.initCause(two);
        assertThat(answerOf(exchange -> Mono.error(one)).getStatusCode().value())
                .isEqualTo(500);
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
