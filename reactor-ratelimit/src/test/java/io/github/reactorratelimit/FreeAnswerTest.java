package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.Response;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Answers that the server does not count, such as an authorised 304 of GitHub. */
class FreeAnswerTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<String> settled = new ArrayList<>();
    private final RateLimiter limiter = RateLimiter.named("github")
            .limit(Limit.of(3, ofHours(1)), Limit.of(5, ofHours(1)).unit("points"))
            .dialect(Dialects.gitHub())
            .listener(new RateLimitListener() {
                @Override
                public void settled(Subject who, String unit, long asked, long actual) {
                    settled.add(unit + "=" + actual);
                }
            })
            .scheduler(() -> time)
            .build();

    private Response get(String limit) {
        Response unchanged = Response.of(
                304, "X-RateLimit-Limit", limit, "X-RateLimit-Remaining", "50", "X-RateLimit-Reset", "1767229200");
        RateLimitOperator calls = new RetryScript(time).on(limiter.calls());
        Demand demand = Demand.of("method", "GET").cost("points", 1);
        Response answer = Mono.just(unchanged).transform(calls.limit(demand)).block();
        assertThat(answer).isSameAs(unchanged);
        return unchanged;
    }

    private long available(int limit) {
        return limiter.snapshot().root().limits().get(limit).available();
    }

    @Test
    void an_authorised_304_gives_its_request_back_but_not_its_points() {
        for (int i = 0; i < 4; i++) {
            get("5000");
        }
        assertThat(available(0)).isEqualTo(3);
        assertThat(available(1)).isEqualTo(1);
        assertThat(settled).containsExactly("requests=0", "requests=0", "requests=0", "requests=0");
    }

    @Test
    void an_anonymous_304_is_counted() {
        get("60");
        assertThat(available(0)).isEqualTo(2);
        assertThat(settled).isEmpty();
    }

    @Test
    void what_the_caller_settled_stays() {
        Permit permit = limiter.tryAcquire(Demand.one().cost(2)).permit();
        permit.settle(Limit.REQUESTS, 1);
        permit.complete(RateLimitSignal.of(200).cost(0).build());
        assertThat(available(0)).isEqualTo(2);
    }
}
