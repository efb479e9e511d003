package io.github.reactorratelimit.test;

import io.github.reactorratelimit.RateLimiter;
import org.assertj.core.annotation.CheckReturnValue;

/**
 * AssertJ assertions on what a service saw and on what a limiter holds. They can be imported statically beside AssertJ's
 * own, and need AssertJ on the test's class path.
 *
 * <pre>{@code
 * assertThat(server.log()).forEndpoint("/search").neverMoreThan(5).inAny(ofSeconds(10)).noRefusals();
 * assertThat(limiter).holdsNothing();
 * assertThat(permits).demands(3).isBalanced();
 * }</pre>
 */
@CheckReturnValue
public final class RateLimitAssertions {

    private RateLimitAssertions() {}

    /**
     * Asserts on what a service has seen so far; what it sees later doesn't count.
     *
     * @param log the log of a server or a simulated service
     * @return assertions on all its requests
     */
    public static RequestLogAssert assertThat(RequestLog log) {
        return new RequestLogAssert(log.entries());
    }

    /**
     * Asserts on what a chat service has understood so far; what it sees later doesn't count.
     *
     * @param ledger the ledger of the service
     * @return assertions on all its calls
     */
    public static ChatLedgerAssert assertThat(ChatLedger ledger) {
        return new ChatLedgerAssert(ledger.calls());
    }

    /**
     * Asserts on a limiter.
     *
     * @param limiter the limiter
     * @return assertions on how it stands when each is made
     */
    public static RateLimiterAssert assertThat(RateLimiter limiter) {
        return new RateLimiterAssert(limiter);
    }

    /**
     * Asserts on the permits of a test.
     *
     * @param source who gave them
     * @return assertions on how they stand when each is made
     */
    public static TestPermitSourceAssert assertThat(TestPermitSource source) {
        return new TestPermitSourceAssert(source);
    }
}
