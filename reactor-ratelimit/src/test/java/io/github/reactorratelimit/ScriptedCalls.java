package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.Response;
import reactor.test.subscriber.TestSubscriber;

/** Calls to a server by script, in virtual time; they are tried again every ten seconds. */
abstract class ScriptedCalls extends LimitedCalls {

    static final Demand GET = Demand.of("method", "GET");

    static final Backoff EVERY_TEN =
            Backoff.exponential(ofSeconds(10), ofSeconds(10)).jitter(0);

    final RetryScript server = new RetryScript(time);

    RateLimiterSpec spec(Limit... limits) {
        return RateLimiter.named("api")
                .limit(limits)
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5);
    }

    static RetryPolicy policy() {
        return RetryPolicy.standard().backoff(EVERY_TEN);
    }

    TestSubscriber<Response> start(RateLimiter limiter, RetryPolicy policy) {
        return start(server, limiter, policy, GET);
    }

    static TestSubscriber<Response> start(RetryScript server, RateLimiter limiter, RetryPolicy policy, Demand demand) {
        return server.call()
                .transform(server.on(limiter.calls()).retry(policy).<Response>limit(demand))
                .subscribeWith(TestSubscriber.create());
    }

    static int status(TestSubscriber<Response> result) {
        assertThat(result.getReceivedOnNext()).hasSize(1);
        return result.getReceivedOnNext().get(0).status();
    }

    TestSubscriber<Response> finish(TestSubscriber<Response> result) {
        time.advanceTimeBy(ofMinutes(5));
        assertThat(result.isTerminated()).isTrue();
        return result;
    }
}
