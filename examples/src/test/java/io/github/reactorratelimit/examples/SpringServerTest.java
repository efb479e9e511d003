package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.netty.DisposableServer;
import reactor.test.scheduler.VirtualTimeScheduler;

class SpringServerTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    @Test
    void the_third_caller_is_told_to_come_again_in_whole_seconds() {
        RateLimiter api = RateLimiter.named("reports")
                .limit(Limit.of(2, ofSeconds(10)))
                .scheduler(() -> time)
                .build();
        DisposableServer server = SpringServer.serve(api);
        List<String> answers = Flux.range(1, 3)
                .concatMap(n -> SpringServer.report(server.port()))
                .doOnNext(answer -> time.advanceTimeBy(ofMillis(100)))
                .collectList()
                .blockOptional(ofSeconds(30))
                .orElseThrow();
        server.disposeNow();

        // 9.8 s, and the window's margin of 10 ms.
        assertThat(answers).containsExactly("200 null", "200 null", "429 10");
    }
}
