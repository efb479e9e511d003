package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

class SmokeTest {

    @Test
    void window_grants_five_then_five_a_period_later() {
        StepVerifier.withVirtualTime(() -> {
                    RateLimiter limiter = RateLimiter.of(Limit.of(5, ofSeconds(10)));
                    return Flux.range(1, 12).flatMap(n -> Mono.just(n).transform(limiter.limit()));
                })
                .expectNext(1, 2, 3, 4, 5)
                .expectNoEvent(Duration.ofSeconds(10).plusMillis(10))
                .expectNext(6, 7, 8, 9, 10)
                .thenAwait(Duration.ofSeconds(10).plusMillis(10))
                .expectNext(11, 12)
                .verifyComplete();
    }

    @Test
    void bucket_ledger() {
        VirtualTimeScheduler vts = VirtualTimeScheduler.create();
        RateLimiter limiter = RateLimiter.named("x")
                .limit(Limit.bucket(100, 10, ofSeconds(1)))
                .scheduler(() -> vts)
                .build();
        int granted = 0;
        int refused = 0;
        for (int i = 0; i < 51; i++) {
            if (limiter.tryAcquire().allowed()) granted++;
            else refused++;
        }
        vts.advanceTimeBy(ofSeconds(2));
        for (int i = 0; i < 99; i++) {
            if (limiter.tryAcquire().allowed()) granted++;
            else refused++;
        }
        assertThat(granted).isEqualTo(120);
        assertThat(refused).isEqualTo(30);
    }

    @Test
    void in_flight_hands_over_without_recursion() {
        RateLimiter limiter = RateLimiter.named("x")
                .limit(Limit.inFlight(1))
                .maxPending(200_000, 200_000)
                .build();
        Permit held = limiter.tryAcquire().permit();
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < 100_000; i++) {
            int n = i;
            limiter.acquire(Demand.one()).subscribe(p -> {
                order.add(n);
                p.release();
            });
        }
        held.release();
        assertThat(order).hasSize(100_000).isSorted();
        assertThat(limiter.tryAcquire().allowed()).isTrue();
    }

    @Test
    void paced_flux() {
        StepVerifier.withVirtualTime(() -> Flux.range(1, 5)
                        .transform(RateLimiter.of(Limit.of(1, ofSeconds(1)).smooth())
                                .limitEach()))
                .expectNext(1)
                .expectNoEvent(ofMillis(1001))
                .expectNext(2)
                .thenAwait(ofSeconds(5))
                .expectNext(3, 4, 5)
                .verifyComplete();
    }
}
