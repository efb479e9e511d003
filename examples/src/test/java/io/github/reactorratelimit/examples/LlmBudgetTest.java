package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.examples.LlmBudget.Answer;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

class LlmBudgetTest {

    @Test
    void an_answer_that_used_less_leaves_the_rest_to_the_next_call() {
        RateLimiter llm = LlmBudget.limiter();
        StepVerifier.create(LlmBudget.ask(llm, 90_000, 720_000, attempt -> Mono.just(new Answer("short", 500, 4_000))))
                .expectNextCount(1)
                .verifyComplete();
        assertThat(llm.snapshot().root().limits())
                .extracting(limit -> limit.available())
                .containsExactly(59L, 99_500L, 49_996_000L);
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
