package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.ClientError;
import io.github.reactorratelimit.RetryScript.Response;
import io.github.reactorratelimit.signal.Headers;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** A call of which nothing reached the server is a request, so that connecting is paced; it used no tokens and no money. */
class UnsentCostTest { // B63

    private static final Demand DEAR = Demand.one().cost("money", 100);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RetryScript server = new RetryScript(time);
    private final List<String> told = new ArrayList<>();
    private final RateLimiter limiter = RateLimiter.named("dear")
            .limit(Limit.of(10, ofMinutes(10)), Limit.total(1_000).unit("money"))
            .listener(new RateLimitListener() {
                @Override
                public void settled(Subject who, String unit, long asked, long actual) {
                    told.add(unit + " " + asked + " was " + actual);
                }
            })
            .scheduler(() -> time)
            .random(() -> 0.5)
            .build();

    private void call(RetryPolicy policy) {
        server.call()
                .transform(server.on(limiter.calls()).retry(policy).<Response>limit(DEAR))
                .subscribe(response -> {}, error -> {});
        time.advanceTimeBy(ofMinutes(1));
    }

    private List<Long> left() {
        return limiter.snapshot().root().limits().stream()
                .map(limit -> limit.available())
                .toList();
    }

    @Test
    void each_attempt_that_reached_nobody_is_a_request_and_costs_nothing_else() {
        server.then("refused", Failure.notSent());
        call(RetryPolicy.attempts(4).backoff(Backoff.exponential(ofMillis(100), ofSeconds(1))));
        assertThat(left()).containsExactly(6L, 1_000L);
        assertThat(told).hasSize(4).containsOnly("money 100 was 0");
    }

    @Test
    void a_proxy_that_lets_nothing_through_is_not_paid_either() {
        server.then("proxy", Failure.refused());
        call(RetryPolicy.none());
        assertThat(left()).containsExactly(9L, 1_000L);
    }

    @Test
    void what_broke_off_after_it_was_sent_stays_charged() {
        server.then("cut", Failure.interrupted());
        call(RetryPolicy.none());
        assertThat(left()).containsExactly(9L, 900L);
        assertThat(told).isEmpty();
    }

    @Test
    void so_does_what_was_being_sent_whatever_its_failure_says() {
        limiter.calls()
                .retry(RetryPolicy.none())
                .failures(RetryScript.FAILURES)
                .use(source -> DEAR, exchange -> {
                    exchange.sending();
                    return Mono.error(new ClientError("refused", Failure.notSent()));
                })
                .subscribe(response -> {}, error -> {});
        assertThat(left()).containsExactly(9L, 900L);
    }

    @Test
    void who_waits_for_it_gets_it_at_once() {
        RateLimiter tokens = RateLimiter.named("tokens")
                .limit(Limit.of(100, ofMinutes(10)).unit("tokens"))
                .scheduler(() -> time)
                .build();
        Demand all = Demand.one().cost("tokens", 100);
        server.then(
                Mono.delay(ofSeconds(1), time).then(Mono.error(() -> new ClientError("refused", Failure.notSent()))));
        server.call()
                .transform(server.on(tokens.calls()).retry(RetryPolicy.none()).<Response>limit(all))
                .subscribe(response -> {}, error -> {});
        TestSubscriber<Permit> waiting = tokens.acquire(all).subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofMillis(999));
        assertThat(waiting.getReceivedOnNext()).isEmpty();
        time.advanceTimeBy(ofMillis(1));
        assertThat(waiting.getReceivedOnNext()).hasSize(1);
    }

    /** Writes, which are their own ids. */
    private static final BatchReader<String, String> WRITES = new BatchReader<>() {
        @Override
        public Object id(String part) {
            return part;
        }

        @Override
        public Object idOf(String answer) {
            return answer;
        }

        @Override
        public int status(String answer) {
            return 200;
        }

        @Override
        public Headers headers(String answer) {
            return Headers.of();
        }

        @Override
        public boolean isIdempotent(String part) {
            return false;
        }
    };

    @Test
    void a_batch_that_was_answered_was_sent_whatever_fails_after_its_head() {
        List<List<String>> sent = new ArrayList<>();
        RateLimitOperator calls = limiter.calls().retry(RetryPolicy.attempts(3)).failures(RetryScript.FAILURES);
        BatchRetry.of(calls, WRITES)
                .send(
                        List.of("a", "b"),
                        DEAR,
                        parts -> Mono.deferContextual(context -> {
                            sent.add(parts);
                            RateLimitContext.exchange(context).head(200, Headers.of());
                            return Mono.error(new ClientError("refused", Failure.notSent()));
                        }))
                .subscribe();
        time.advanceTimeBy(ofMinutes(1));
        assertThat(sent).containsExactly(List.of("a", "b"));
        assertThat(left()).containsExactly(8L, 800L);
    }
}
