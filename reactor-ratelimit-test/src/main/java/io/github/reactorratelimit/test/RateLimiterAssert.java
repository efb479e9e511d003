package io.github.reactorratelimit.test;

import io.github.reactorratelimit.RateLimiter;
import java.util.List;
import org.assertj.core.api.AbstractAssert;

/** Assertions on how a limiter stands; from {@link RateLimitAssertions#assertThat(RateLimiter)}. */
public final class RateLimiterAssert extends AbstractAssert<RateLimiterAssert, RateLimiter> {

    RateLimiterAssert(RateLimiter limiter) {
        super(limiter, RateLimiterAssert.class);
    }

    /**
     * All permits are balanced: nothing is held in flight, nobody waits, and no timer is set. A permit that was not
     * released costs a pure rate limit nothing and doesn't count.
     *
     * @return these assertions
     * @throws AssertionError if something is left over; it names limiter, key, limit and counts
     */
    public RateLimiterAssert holdsNothing() {
        isNotNull();
        List<String> leaks = Leaks.of(actual.snapshot());
        if (!leaks.isEmpty()) {
            failWithMessage(
                    "%s",
                    "Expecting " + actual + " to hold nothing, but:" + System.lineSeparator() + Lines.indented(leaks));
        }
        return this;
    }
}
