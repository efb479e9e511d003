package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One line per throttle, from which a person sees why the wait is what it is. */
class ThrottleLogTest {

    private final VirtualTime time = new VirtualTime();

    @RegisterExtension
    final LogLines log = new LogLines(Level.INFO);

    private void hear(RateLimitSignal signal) {
        RateLimiter limiter = RateLimiter.named("partner")
                .scheduler(time::scheduler)
                .jitter(0)
                .scope(Scope.by("endpoint", "token"))
                .build();
        limiter.tryAcquire(Demand.of("endpoint", "/search").and("token", "s3cr3t"))
                .permit()
                .complete(signal);
    }

    private String line() {
        assertThat(log.events()).hasSize(1);
        return log.events().get(0).getFormattedMessage();
    }

    private static Quota quota(String name, long limit, long remaining, long used, @Nullable Duration reset) {
        return new Quota(name, "requests", limit, remaining, used, reset, null, "partition-of-a-token");
    }

    @Test
    void a_refusal_is_a_warning_with_limiter_key_status_figures_wait_and_rule() {
        hear(Dialects.gitHub()
                .read(
                        403,
                        Headers.of(
                                "X-RateLimit-Limit", "5000",
                                "X-RateLimit-Remaining", "0",
                                "X-RateLimit-Used", "5001",
                                "X-RateLimit-Reset", "20"),
                        0));

        assertThat(line())
                .matches("limiter=partner key=\\[endpoint=/search,token=#?[0-9a-f]+] status=403"
                        + " used=5001 remaining=0 limit=5000 wait=PT20S: the reset of an empty quota");
        assertThat(log.events().get(0).getLevel()).isEqualTo(Level.WARN);
        assertThat(log.events().get(0).getTimeStamp()).isPositive();
    }

    @Test
    void a_quota_that_is_used_up_before_anybody_was_refused_is_told_as_news() {
        hear(Dialects.standard().read(200, Headers.of("RateLimit", "\"burst\";r=0;t=5"), 0));

        assertThat(line()).contains("status=200 used=? remaining=0 limit=? wait=PT5S: the reset of an empty quota");
        assertThat(log.events().get(0).getLevel()).isEqualTo(Level.INFO);
    }

    @Test
    void a_wider_key_that_is_closed_for_a_second_refusal_says_why() {
        RateLimiter limiter = twoAreRefused(RateLimitSignal.of(429).throttled(true));

        assertThat(log.events().get(0).getFormattedMessage())
                .contains("endpoint=/a")
                .endsWith("no rule was given");
        assertThat(log.events().get(1).getFormattedMessage())
                .contains("key=[] ")
                .endsWith("a second key in it is refused, and neither response named a scope");
        assertThat(limiter.estimate(Demand.of("endpoint", "/c")).allowed()).isFalse();
    }

    @Test
    void refusals_that_name_their_scope_close_no_wider_one() {
        RateLimiter limiter =
                twoAreRefused(RateLimitSignal.of(429).throttled(true).scope("endpoint"));

        assertThat(log.events().get(1).getFormattedMessage())
                .contains("endpoint=/b")
                .endsWith("no rule was given");
        assertThat(limiter.estimate(Demand.of("endpoint", "/c")).allowed()).isTrue();
    }

    private RateLimiter twoAreRefused(RateLimitSignal.Builder refusal) {
        RateLimiter limiter = RateLimiter.named("partner")
                .scheduler(time::scheduler)
                .limit(Limit.inFlight(9))
                .scope(Scope.by("endpoint").otherwise(Limit.inFlight(9)))
                .build();
        for (String endpoint : List.of("/a", "/b")) {
            limiter.tryAcquire(Demand.of("endpoint", endpoint)).permit().complete(refusal.build());
        }
        assertThat(log.events()).hasSize(2);
        return limiter;
    }

    @Test
    void a_response_without_figures_says_so() {
        hear(Dialects.standard().read(429, Headers.of("Retry-After", "7"), 0));

        assertThat(line()).contains("status=429 used=? remaining=? limit=? wait=PT7S: the server's hint");
    }

    @Test
    void a_refusal_of_a_dialect_that_gives_no_rule_is_told_too() {
        hear(RateLimitSignal.of(429).throttled(true).build());

        assertThat(line()).endsWith("wait=PT1S: no rule was given");
    }

    @Test
    void a_refusal_that_no_wait_cures_is_told_with_its_reason() {
        hear(RateLimitSignal.of(429)
                .throttled(true)
                .terminal("insufficient_quota")
                .build());

        assertThat(line()).contains("status=429").endsWith("wait=PT0S: no wait helps, insufficient_quota");
        assertThat(log.events().get(0).getLevel()).isEqualTo(Level.WARN);
    }

    @Test
    void of_several_quotas_the_one_that_lasts_longest_of_those_used_up_gives_the_figures() {
        hear(RateLimitSignal.of(429)
                .throttled(true)
                .delay(ofSeconds(30))
                .quotas(List.of(
                        quota("a", 7, 7, -1, ofSeconds(900)),
                        quota("b", 10, 0, -1, null),
                        quota("c", 20, 0, -1, ofSeconds(30)),
                        quota("d", 40, 0, -1, ofSeconds(5))))
                .build());

        assertThat(line()).contains("used=20 remaining=0 limit=20 wait=PT30S");
    }

    @Test
    void without_a_quota_that_is_used_up_the_first_one_gives_the_figures() {
        hear(RateLimitSignal.of(429)
                .throttled(true)
                .delay(ofSeconds(3))
                .quotas(List.of(quota("a", 10, 9, -1, ofSeconds(1)), quota("b", 20, 8, -1, ofSeconds(60))))
                .build());

        assertThat(line()).contains("used=1 remaining=9 limit=10 ");
    }

    @Test
    void neither_the_token_nor_the_servers_own_key_for_it_is_printed() {
        hear(RateLimitSignal.of(429)
                .throttled(true)
                .delay(ofSeconds(1))
                .quotas(List.of(quota("a", 10, 0, -1, ofSeconds(1))))
                .build());

        assertThat(line()).doesNotContain("s3cr3t").doesNotContain("partition-of-a-token");
    }
}
