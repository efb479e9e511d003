package io.github.reactorratelimit.examples;

import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.RateLimitSignal;

/** A server that has words of its own: its dialect is another one, changed where it differs. */
final class OwnDialect {

    private OwnDialect() {}

    /** Says its hints in {@code X-Wait-Ms}, refuses with a 418 at times, and means 30 s if it gives no time. */
    static Dialect partner() {
        Dialect partner = Dialects.standard()
                .alias("X-Wait-Ms", "Retry-After-Ms")
                .adjust((signal, headers) -> {
                    boolean refused = signal.throttled() || signal.status() == 418;
                    if (!refused || signal.delay() != null) {
                        return signal;
                    }
                    RateLimitSignal.Builder advised = signal.toBuilder().reason("30 s, as the manual says");
                    return advised.throttled(true)
                            .delay(ofSeconds(30))
                            .guessed(true)
                            .build();
                });

        return partner;
    }

    static RateLimiter limiter() {
        RateLimiter api = RateLimiter.named("partner").dialect(partner()).build();

        return api;
    }
}
