package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.test.RateLimitAssertions.assertThat;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.spring.RateLimitFilter;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ScriptedApi;
import io.github.reactorratelimit.test.spring.SimulatedExchange;
import org.junit.jupiter.api.Test;
import org.springframework.web.reactive.function.client.WebClient;
import reactor.core.publisher.Flux;
import reactor.test.StepVerifier;

class StormTest {

    private final RateLimiter limiter = RateLimiter.of(Limit.of(5, ofSeconds(10)));
    private final Reply busy = Reply.status(429).retryAfter(ofSeconds(30));
    private final ScriptedApi api = ScriptedApi.create()
            .script("/search", busy, busy, busy, busy, busy)
            .always("/search", Reply.ok().body("found"));
    private final WebClient client = WebClient.builder()
            .exchangeFunction(SimulatedExchange.to(api.simulate().latency(ofMillis(20), ofMillis(30))))
            .filter(RateLimitFilter.of(limiter))
            .build();

    @Test
    void ten_searches_sit_out_a_storm_together_and_all_are_answered() {
        StepVerifier.withVirtualTime(() -> Flux.range(1, 10)
                        .flatMap(n -> client.get().uri("/search").retrieve().bodyToMono(String.class)))
                .thenAwait(ofMinutes(2))
                .expectNextCount(10)
                .verifyComplete();

        api.checkPlayed();
        assertThat(limiter).holdsNothing();
        assertThat(api.log()).requests(15).refusals(5).waitedAtLeast(ofSeconds(30), 6);
        assertThat(api.log()).neverMoreThan(5).inAny(ofSeconds(10));
    }
}
