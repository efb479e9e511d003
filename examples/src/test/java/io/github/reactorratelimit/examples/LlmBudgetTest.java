package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.examples.LlmBudget.Answer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

class LlmBudgetTest {

    @Test
    void an_answer_that_used_less_leaves_the_rest_to_the_next_call() {
        StepVerifier.withVirtualTime(() -> {
                    RateLimiter llm = LlmBudget.limiter();
                    return LlmBudget.ask(llm, 90_000, 720_000, attempt -> Mono.just(new Answer("short", 500, 4_000)))
                            .then(Mono.fromSupplier(() -> left(llm)));
                })
                .expectNext(List.of(59L, 98_500L, 49_996_000L))
                .verifyComplete();
    }

    private static List<Long> left(RateLimiter llm) {
        return llm.snapshot().root().limits().stream()
                .map(limit -> limit.available())
                .toList();
    }

    @Test
    void the_cheaper_model_answers_where_the_preferred_one_would_have_to_be_waited_for() {
        RateLimiter gpt = RateLimiter.of(Limit.of(1, Duration.ofMinutes(1)));
        RateLimiter deepseek = RateLimiter.of(Limit.of(100, Duration.ofMinutes(1)));
        Mono<Answer> answer = LlmBudget.ask(
                gpt,
                deepseek,
                source -> Demand.one(),
                attempt -> Mono.just(new Answer(attempt.source() == gpt ? "gpt" : "deepseek", 1, 1)));
        StepVerifier.create(answer.concatWith(answer).map(Answer::text))
                .expectNext("gpt", "deepseek")
                .verifyComplete();
    }
}
