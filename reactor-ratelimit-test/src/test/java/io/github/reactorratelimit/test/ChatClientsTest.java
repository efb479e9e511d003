package io.github.reactorratelimit.test;

import static io.github.reactorratelimit.test.RateLimitAssertions.assertThat;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.time.Instant;
import java.util.Random;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.retry.Retry;

/**
 * 500 calls of 2,500 tokens in the mean against 60 requests and 100,000 tokens a minute: by retrying, with a limit on
 * requests alone, and with both limits. Everything random is seeded.
 */
@InVirtualTime
class ChatClientsTest {

    private static final int CALLS = 500;
    private static final long TOKENS = 100_000;
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final Duration WAY = Duration.ofMillis(50);

    /** What one call asks for. */
    private record Ask(long prompt, long most) {}

    private static final class TooMany extends RuntimeException {

        private static final long serialVersionUID = 1L;

        TooMany() {
            super("429", null, false, false);
        }
    }

    private final VirtualTime time;
    private final Random random = new Random(42);
    private int done;

    ChatClientsTest(VirtualTime time) {
        this.time = time;
    }

    private static ChatModel model() {
        return ChatModel.named("large")
                .requestsPerMinute(60)
                .tokensPerMinute(TOKENS)
                .speed(Duration.ofMillis(500), Duration.ofMillis(5));
    }

    private Ask ask() {
        return new Ask(1_000 + random.nextInt(1_100), 4_000);
    }

    private Mono<ChatOutcome> call(ChatService service, Ask ask) {
        return Mono.delay(WAY, time.scheduler())
                .map(tick -> service.request("large", "key", ask.prompt, ask.most, time.wallNow()))
                .delayUntil(outcome -> Mono.delay(outcome.latency().plus(WAY), time.scheduler()));
    }

    private Mono<ChatOutcome> refusing(ChatService service, Ask ask) {
        return call(service, ask).flatMap(outcome -> outcome.served() ? Mono.just(outcome) : Mono.error(new TooMany()));
    }

    private void retrying(ChatService service) {
        Flux.range(0, CALLS)
                .map(n -> ask())
                .flatMap(
                        ask -> refusing(service, ask)
                                .retryWhen(Retry.backoff(Long.MAX_VALUE, Duration.ofSeconds(1))
                                        .maxBackoff(MINUTE)
                                        .jitter(0.5)
                                        .scheduler(time.scheduler())),
                        CALLS)
                .subscribe(outcome -> done++);
    }

    private void limited(ChatService service, PermitSource limiter) {
        Flux.range(0, CALLS)
                .map(n -> ask())
                .flatMap(
                        ask -> limiter.acquire(Demand.one().cost("tokens", ask.prompt + ask.most))
                                .flatMap(permit -> call(service, ask)
                                        .doOnSubscribe(sent -> permit.sent())
                                        .doOnNext(outcome -> permit.settle(
                                                "tokens", outcome.usage().totalTokens()))
                                        .doFinally(end -> permit.release())),
                        CALLS)
                .subscribe(outcome -> done++);
    }

    /** The tokens used as a share of what the limit gives from the first call to the last, without the full start. */
    private static double share(ChatService service) {
        Instant first = service.ledger().calls().get(0).at();
        Instant last =
                service.ledger().calls().get(service.ledger().count() - 1).at();
        double minutes = Duration.between(first, last).plus(MINUTE).toMillis() / 60_000.0;
        return service.ledger().tokensUsed("large") / (minutes * TOKENS);
    }

    @Test
    void a_client_that_retries_is_refused_again_and_again() {
        ChatService service = ChatRules.create().model(model()).service();
        retrying(service);
        time.advance(Duration.ofHours(2));
        assertThat(done).isEqualTo(CALLS);
        assertThat(service.ledger().refusals().getOrDefault(ChatLimit.TOKENS_PER_MINUTE, 0))
                .isGreaterThan(CALLS);
    }

    @Test
    void a_limit_on_requests_alone_is_refused_for_tokens() {
        ChatService service = ChatRules.create().model(model()).service();
        RateLimiter requests = time.limiter(RateLimiter.named("chat").limit(Limit.of(60, MINUTE)));
        limited(service, demand -> requests.acquire(Demand.one()));
        time.advance(Duration.ofHours(1));
        assertThat(service.ledger().refusals().getOrDefault(ChatLimit.TOKENS_PER_MINUTE, 0))
                .isGreaterThan(50);
    }

    @Test
    void both_limits_are_never_refused_and_use_what_there_is() {
        for (ChatModel model : new ChatModel[] {model(), model().slidingWindow()}) {
            done = 0;
            ChatService service = ChatRules.create().model(model).service();
            limited(
                    service,
                    time.limiter(RateLimiter.named("chat")
                            .limit(
                                    Limit.of(60, MINUTE),
                                    Limit.of(TOKENS, MINUTE).unit("tokens"))));
            time.advance(Duration.ofHours(1));
            assertThat(done).isEqualTo(CALLS);
            assertThat(service.ledger())
                    .forModel("large")
                    .noRefusals()
                    .served(CALLS)
                    .neverMoreTokensThan(TOKENS)
                    .inAny(MINUTE);
            assertThat(share(service)).isGreaterThan(0.85);
        }
    }

    @Test
    void requests_per_second_with_a_burst_and_tokens_per_minute_hold_too() {
        ChatService service = ChatRules.create()
                .model(ChatModel.named("large")
                        .requestsPerSecond(10, 50)
                        .tokensPerMinute(TOKENS)
                        .speed(Duration.ofMillis(500), Duration.ofMillis(5)))
                .service();
        limited(
                service,
                time.limiter(RateLimiter.named("chat")
                        .limit(
                                Limit.bucket(50, 10, Duration.ofSeconds(1)),
                                Limit.of(TOKENS, MINUTE).unit("tokens"))));
        time.advance(Duration.ofHours(1));
        assertThat(service.ledger()).noRefusals().served(CALLS);
    }
}
