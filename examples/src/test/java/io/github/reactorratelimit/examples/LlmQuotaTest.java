package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.test.RateLimitAssertions.assertThat;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.ChatModel;
import io.github.reactorratelimit.test.ChatOutcome;
import io.github.reactorratelimit.test.ChatRules;
import io.github.reactorratelimit.test.ChatService;
import io.github.reactorratelimit.test.InVirtualTime;
import io.github.reactorratelimit.test.VirtualTime;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.retry.Retry;

/**
 * 500 calls of 2,500 tokens in the mean with a heavy tail, all at once, against requests and 100,000 tokens a minute: with
 * both limits, with one on requests alone, and with retries alone.
 */
@InVirtualTime
class LlmQuotaTest {

    private static final int CALLS = 500;
    private static final long TOKENS = 100_000;
    private static final Duration WAY = ofMillis(50);
    /**
     * The one of README's code: a little less than the server's, which begins to refill when the first call arrives, a way
     * later than ours.
     */
    private static final Limit BUCKET =
            LlmBudget.limiter().snapshot().root().limits().get(1).limit();

    private static final Limit WINDOW = Limit.of(TOKENS, ofMinutes(1)).unit("tokens");

    /** What limits requests besides the tokens. */
    enum Requests {
        SIXTY_A_MINUTE,
        TEN_A_SECOND_WITH_A_BURST_OF_FIFTY;

        ChatModel model() {
            ChatModel large = ChatModel.named("large");
            return this == SIXTY_A_MINUTE ? large.requestsPerMinute(60) : large.requestsPerSecond(10, 50);
        }

        Limit limit() {
            return this == SIXTY_A_MINUTE ? Limit.of(60, ofMinutes(1)) : Limit.bucket(48, 10, ofSeconds(1));
        }
    }

    /** What one call asks for, and what it will have used. */
    private record Ask(long prompt, long most) {}

    private record Result(int refused, double share, Duration took, long mean) {

        /** As in README's table. */
        String row(String client) {
            return String.format(
                    Locale.ROOT,
                    "| %s | %,d | %.1f %% | %d min %d s |",
                    client,
                    refused,
                    share * 100,
                    took.toMinutes(),
                    took.toSecondsPart());
        }

        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "%,6d refused, %5.1f %% of the tokens used, %s, %,d tokens a call",
                    refused,
                    share * 100,
                    took,
                    mean);
        }
    }

    private static final class TooMany extends RuntimeException {

        private static final long serialVersionUID = 1L;

        TooMany() {
            super("refused", null, false, false);
        }
    }

    private final VirtualTime time;
    private final SplittableRandom jitter = new SplittableRandom(7);

    LlmQuotaTest(VirtualTime time) {
        this.time = time;
    }

    /** Prompts of 860 and more with a heavy tail, and answers of up to 2,000. */
    private static Ask ask(SplittableRandom random) {
        double tail = Math.min(12, Math.pow(1 - random.nextDouble(), -1 / 1.6));
        return new Ask((long) (860 * tail), 2_000);
    }

    private Mono<ChatOutcome> call(ChatService service, Ask ask) {
        return Mono.delay(WAY, time.scheduler())
                .map(tick -> service.request("large", "key", ask.prompt, ask.most, time.wallNow()))
                .delayUntil(outcome -> Mono.delay(outcome.latency().plus(WAY), time.scheduler()));
    }

    private Mono<ChatOutcome> retried(ChatService service, Ask ask) {
        return call(service, ask)
                .flatMap(outcome -> outcome.served() ? Mono.just(outcome) : Mono.error(new TooMany()))
                .retryWhen(Retry.from(failures -> failures.concatMap(this::backoff)));
    }

    /** Twice as long each time, from a second to a minute, and by up to half of that more or less. */
    private Mono<Long> backoff(Retry.RetrySignal failure) {
        long millis = Math.min(60_000, 1_000L << Math.min(6, failure.totalRetries()));
        return Mono.delay(ofMillis((long) (millis * jitter.nextDouble(0.5, 1.5))), time.scheduler());
    }

    private Result run(ChatModel model, Function<ChatService, Function<Ask, Mono<ChatOutcome>>> client) {
        ChatService service = ChatRules.create()
                .model(model.tokensPerMinute(TOKENS).speed(ofMillis(300), ofMillis(2)))
                .service();
        SplittableRandom random = new SplittableRandom(42);
        AtomicInteger done = new AtomicInteger();
        Instant start = time.wallNow();
        Function<Ask, Mono<ChatOutcome>> calls = client.apply(service);
        Flux.range(0, CALLS)
                .map(n -> ask(random))
                .flatMap(calls, CALLS)
                .doOnNext(outcome -> done.incrementAndGet())
                .subscribe();
        while (done.get() < CALLS && Duration.between(start, time.wallNow()).compareTo(Duration.ofHours(4)) < 0) {
            time.advance(ofSeconds(1));
        }
        assertThat(done).hasValue(CALLS);
        Instant last =
                service.ledger().calls().get(service.ledger().count() - 1).at();
        Duration took = Duration.between(start, last);
        double share =
                (double) service.ledger().tokensUsed("large") / service.ledger().tokensAllowed("large", took);
        return new Result(
                service.ledger().count(429), share, took, service.ledger().tokensUsed("large") / CALLS);
    }

    private Function<ChatService, Function<Ask, Mono<ChatOutcome>>> limited(Limit... limits) {
        RateLimiter llm = time.limiter(RateLimiter.named("llm").limit(limits));
        return service -> ask -> llm.use(
                source -> Demand.one().cost("tokens", ask.prompt + ask.most),
                permit -> call(service, ask)
                        .doOnNext(outcome ->
                                permit.settle("tokens", outcome.usage().totalTokens())));
    }

    /** What README says of figures like these. */
    private static String readme() throws IOException {
        return Files.readAllLines(Path.of("../README.md")).stream()
                .filter(line -> line.contains(" %"))
                .collect(Collectors.joining("\n"));
    }

    @ParameterizedTest
    @EnumSource(Requests.class)
    void both_limits_are_never_refused_and_leave_next_to_nothing_unused(Requests requests) throws IOException {
        RateLimiter one = time.limiter(RateLimiter.named("requests").limit(requests.limit()));
        Result bucket = run(requests.model(), limited(requests.limit(), BUCKET));
        Result window = run(requests.model(), limited(requests.limit(), WINDOW));
        Result requestsOnly = run(
                requests.model(),
                service -> ask -> one.use(source -> Demand.one(), permit -> call(service, ask))
                        .flatMap(outcome -> outcome.served() ? Mono.just(outcome) : retried(service, ask)));
        Result retries = run(requests.model(), service -> ask -> retried(service, ask));

        for (Result result : List.of(bucket, window, requestsOnly, retries)) {
            assertThat(result.mean).as("%s", result).isBetween(2_400L, 2_600L);
        }
        assertThat(bucket.refused + window.refused).isZero();
        assertThat(bucket.share).as("both limits: %s", bucket).isGreaterThanOrEqualTo(0.95);
        assertThat(requestsOnly.refused).as("requests only: %s", requestsOnly).isGreaterThan(100);
        assertThat(retries.refused).as("retries only: %s", retries).isGreaterThan(CALLS);
        assertThat(readme())
                .contains(
                        bucket.row("both limits, as above"),
                        window.row("both, the tokens as a window"),
                        requestsOnly.row("requests alone"),
                        retries.row("retries alone"));
    }

    @Test
    void a_window_is_never_refused_by_a_server_that_counts_windows() throws IOException {
        Result window = run(
                ChatModel.named("large").requestsPerMinute(60).slidingWindow(),
                limited(Limit.of(60, ofMinutes(1)), WINDOW));
        assertThat(window.refused).isZero();
        assertThat(readme()).contains(String.format(Locale.ROOT, "0 refused and %.1f %% used", window.share * 100));
    }
}
