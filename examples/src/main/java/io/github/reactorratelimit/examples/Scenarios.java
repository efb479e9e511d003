package io.github.reactorratelimit.examples;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.RateLimitedServer;
import io.github.reactorratelimit.test.ServiceRules;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** What the main job runs, and against what. */
final class Scenarios {

    /** An endpoint with plenty of room. */
    static final String WARM_UP = "/warm-up";

    private static final String SEARCH = "/search";
    private static final String ITEMS = "/items";
    /** The server lets 5 searches through at 0, 10 and 20 s: twelve take at least 20 s. */
    private static final Duration TWELVE_SEARCHES = ofMillis(20_500);

    private Scenarios() {}

    static ServiceRules service() {
        return RateLimitedServer.create()
                .limit(SEARCH, 5, ofSeconds(10))
                .limit(ITEMS, 20, ofSeconds(10))
                .fault(ITEMS, Fault.everyNth(8, 503))
                .limit(WARM_UP, 100_000, ofSeconds(10));
    }

    /** New scenarios with new limiters, each with tokens of its own. */
    static List<Scenario> all() {
        return all(UnaryOperator.identity());
    }

    /** As {@link #all()}; each limiter is called like its scenario, and changed before it is built. */
    static List<Scenario> all(UnaryOperator<RateLimiterSpec> change) {
        return List.of(
                one("unlimited", SEARCH, 12, null, new Target(12, 5, 7, 0, ofSeconds(10))),
                one("search", SEARCH, 12, configured("search", change), new Target(12, 12, 0, 0, TWELVE_SEARCHES)),
                one("items", ITEMS, 16, configured("items", change), new Target(18, 16, 0, 2, ofSeconds(2))),
                one(
                        "misconfigured",
                        SEARCH,
                        12,
                        twiceTooFast("misconfigured", change),
                        new Target(12, 12, 0, 0, ofSeconds(26))),
                new Scenario(
                        "two-tokens",
                        SEARCH,
                        List.of("two-tokens-a", "two-tokens-b"),
                        12,
                        configured("two-tokens", change),
                        new Target(24, 24, 0, 0, TWELVE_SEARCHES)),
                one(
                        "learned",
                        SEARCH,
                        12,
                        unconfigured("learned", change),
                        new Target(12, 12, 0, 0, ofMillis(24_500))));
    }

    private static Scenario one(String name, String path, int calls, @Nullable RateLimiter limiter, Target target) {
        return new Scenario(name, path, List.of(name), calls, limiter, target);
    }

    /** The server's own limits. */
    private static RateLimiter configured(String name, UnaryOperator<RateLimiterSpec> change) {
        RateLimiterSpec spec = RateLimiter.named(name)
                .scope(Scope.by("endpoint", "token")
                        .limit(SEARCH, Limit.of(5, ofSeconds(10)))
                        .limit(ITEMS, Limit.of(20, ofSeconds(10))));
        return change.apply(spec).build();
    }

    /** Nothing but that it learns. */
    private static RateLimiter unconfigured(String name, UnaryOperator<RateLimiterSpec> change) {
        return change.apply(RateLimiter.named(name).learn()).build();
    }

    /** One search per second, where the server bears one every two. */
    private static RateLimiter twiceTooFast(String name, UnaryOperator<RateLimiterSpec> change) {
        RateLimiterSpec spec = RateLimiter.named(name)
                .scope(Scope.by("endpoint", "token").limit(SEARCH, Limit.bucket(3, 1, ofSeconds(1))));
        return change.apply(spec).build();
    }
}
