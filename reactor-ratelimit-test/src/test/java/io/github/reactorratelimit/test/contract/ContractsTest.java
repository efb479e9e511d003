package io.github.reactorratelimit.test.contract;

import static java.time.Duration.ofMillis;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.test.ServerLimit;
import io.github.reactorratelimit.test.VirtualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Nested;

/** What this project itself has of each kind keeps the contract of its kind. */
class ContractsTest {

    static final List<Headers> STANDARD = List.of(
            Headers.of("Retry-After", "7"),
            Headers.of("Retry-After", "Thu, 01 Jan 2026 00:00:07 GMT"),
            Headers.of("Retry-After-Ms", "1500"),
            Headers.of("X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1767225610"),
            Headers.of("RateLimit", "\"default\";r=0;t=30", "RateLimit-Policy", "\"default\";q=100;w=60"));

    @Nested
    class AFixedWindow extends ServerLimitContract {
        @Override
        protected ServerLimit limit() {
            return ServerLimit.fixedWindow(5, ofMillis(1_700));
        }
    }

    @Nested
    class ASlidingWindow extends ServerLimitContract {
        @Override
        protected ServerLimit limit() {
            return ServerLimit.slidingWindow(5, ofMillis(1_700));
        }
    }

    @Nested
    class AnAlignedWindow extends ServerLimitContract {
        @Override
        protected ServerLimit limit() {
            return ServerLimit.alignedWindow(5, ofMillis(1_700));
        }
    }

    @Nested
    class ABucket extends ServerLimitContract {
        @Override
        protected ServerLimit limit() {
            return ServerLimit.bucket(5, 3, ofMillis(1_700));
        }
    }

    @Nested
    class WhatIsInFlight extends ServerLimitContract {
        @Override
        protected ServerLimit limit() {
            return ServerLimit.inFlight(5, ofMillis(300));
        }
    }

    @Nested
    class TheStandardDialect extends DialectContract {
        @Override
        protected Dialect dialect() {
            return Dialects.standard();
        }

        @Override
        protected List<Headers> samples() {
            return STANDARD;
        }
    }

    @Nested
    class GitHub extends TheStandardDialect {
        @Override
        protected Dialect dialect() {
            return Dialects.gitHub();
        }

        @Override
        protected List<Headers> samples() {
            return List.of(
                    Headers.of("Retry-After", "60"),
                    Headers.of(
                            "x-ratelimit-limit", "5000",
                            "x-ratelimit-remaining", "0",
                            "x-ratelimit-used", "5000",
                            "x-ratelimit-reset", "1767225610",
                            "x-ratelimit-resource", "core"));
        }
    }

    @Nested
    class MicrosoftGraph extends TheStandardDialect {
        @Override
        protected Dialect dialect() {
            return Dialects.microsoftGraph();
        }

        @Override
        protected List<Headers> samples() {
            return List.of(
                    Headers.of("Retry-After", "10", "x-ms-throttle-scope", "Tenant_Application/ReadWrite/a/b"),
                    Headers.of("x-ms-throttle-limit-percentage", "1.2"));
        }
    }

    @Nested
    class Discord extends TheStandardDialect {
        @Override
        protected Dialect dialect() {
            return Dialects.discord();
        }

        @Override
        protected List<Headers> samples() {
            return List.of(Headers.of(
                    "X-RateLimit-Limit", "5",
                    "X-RateLimit-Remaining", "0",
                    "X-RateLimit-Reset", "1767225610.123",
                    "X-RateLimit-Reset-After", "2.5",
                    "X-RateLimit-Bucket", "abcd",
                    "X-RateLimit-Global", "true",
                    "X-RateLimit-Scope", "user"));
        }
    }

    @Nested
    class OpenAi extends TheStandardDialect {
        @Override
        protected Dialect dialect() {
            return Dialects.openAi();
        }

        @Override
        protected List<Headers> samples() {
            return List.of(Headers.of(
                    "x-ratelimit-limit-requests", "60",
                    "x-ratelimit-remaining-requests", "0",
                    "x-ratelimit-reset-requests", "6m0s",
                    "x-ratelimit-limit-tokens", "150000",
                    "x-ratelimit-remaining-tokens", "149984",
                    "x-ratelimit-reset-tokens", "120ms",
                    "retry-after-ms", "20"));
        }
    }

    @Nested
    class Anthropic extends TheStandardDialect {
        @Override
        protected Dialect dialect() {
            return Dialects.anthropic();
        }

        @Override
        protected List<Headers> samples() {
            return List.of(Headers.of(
                    "anthropic-ratelimit-requests-limit", "50",
                    "anthropic-ratelimit-requests-remaining", "0",
                    "anthropic-ratelimit-requests-reset", "2026-01-01T00:00:07Z",
                    "retry-after", "7"));
        }
    }

    @Nested
    class ALimiterAsASource extends PermitSourceContract {
        @Override
        protected PermitSource oneAtATime() {
            return RateLimiter.of(Limit.inFlight(1));
        }
    }

    @Nested
    class ALimiterInMemory extends RateLimiterContract {

        private final VirtualTime time = VirtualTime.startingAt(Instant.EPOCH);

        @Override
        protected RateLimiter limiter(RateLimiterSpec spec) {
            return time.limiter(spec);
        }

        @Override
        protected void advance(Duration span) {
            time.advance(span);
        }
    }

    @Nested
    class EveryLimitInMemory extends LimitContract {

        private final VirtualTime time = VirtualTime.startingAt(Instant.EPOCH);

        @Override
        protected RateLimiter limiter(RateLimiterSpec spec) {
            return time.limiter(spec);
        }

        @Override
        protected void advance(Duration span) {
            time.advance(span);
        }
    }
}
