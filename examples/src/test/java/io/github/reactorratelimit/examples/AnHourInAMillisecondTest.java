package io.github.reactorratelimit.examples;

import static java.time.Duration.ofHours;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

class AnHourInAMillisecondTest {

    private final RateLimiter limiter = RateLimiter.of(Limit.of(1, ofHours(1)));
    private final Mono<String> page = Mono.just("page");

    @Test
    void the_second_call_waits_for_its_hour() {
        StepVerifier.withVirtualTime(() -> page.transform(limiter.limit()).then(page.transform(limiter.limit())))
                .expectSubscription()
                .expectNoEvent(ofHours(1))
                .thenAwait(ofHours(1))
                .expectNext("page")
                .verifyComplete();
    }
}
