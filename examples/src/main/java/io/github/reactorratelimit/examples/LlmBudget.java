package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.PriceTable;
import io.github.reactorratelimit.RateLimiter;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.function.Function;
import reactor.core.publisher.Mono;

/** Requests, tokens and money of one call, corrected by what it really used; and a cheaper model to fall back to. */
final class LlmBudget {

    /** What a model answered, and what it used. */
    record Answer(String text, long tokens, long microDollars) {}

    private LlmBudget() {}

    static RateLimiter limiter() {
        RateLimiter llm = RateLimiter.named("llm")
                .limit(
                        Limit.of(60, ofMinutes(1)),
                        Limit.bucket(99_000, 100_000, ofMinutes(1)).unit("tokens"), // 100,000 a minute, see below
                        Limit.calendar(50_000_000, ChronoUnit.MONTHS, ZoneOffset.UTC)
                                .unit(PriceTable.UNIT)) // 50 dollars a month
                .build();
        return llm;
    }

    static Mono<Answer> ask(RateLimiter llm, long tokens, long price, Function<Exchange, Mono<Answer>> call) {
        Mono<Answer> answer = llm.use(
                source -> Demand.one().cost("tokens", tokens).cost(PriceTable.UNIT, price),
                attempt -> call.apply(attempt).doOnNext(done -> {
                    attempt.settle("tokens", done.tokens());
                    attempt.settle(PriceTable.UNIT, done.microDollars());
                }));
        return answer;
    }

    static Mono<Answer> ask(
            PermitSource gpt,
            PermitSource deepseek,
            Function<PermitSource, Demand> demand,
            Function<Exchange, Mono<Answer>> call) {
        PermitSource models = PermitSource.firstWithin(ofSeconds(2), gpt, deepseek);
        Mono<Answer> answer = models.use(demand, call);
        return answer;
    }
}
