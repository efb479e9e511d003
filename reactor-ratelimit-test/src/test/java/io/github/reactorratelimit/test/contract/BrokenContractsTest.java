package io.github.reactorratelimit.test.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.github.reactorratelimit.test.ServerLimit;
import io.github.reactorratelimit.test.VirtualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;

/** Each rule of a contract has somebody who breaks it, and is told. The classes within are run by the platform's test kit. */
class BrokenContractsTest {

    /** The rules that failed, with what was said. */
    static Map<String, String> messages(Class<?> type) {
        Map<String, String> failed = new TreeMap<>();
        EngineTestKit.engine("junit-jupiter").selectors(selectClass(type)).execute().testEvents().failed().stream()
                .forEach(event -> failed.putIfAbsent(rule(event.getTestDescriptor()), message(event)));
        return failed;
    }

    /** The method, of which there may be a test for each limit. */
    private static String rule(TestDescriptor test) {
        return test.getUniqueId().getSegments().stream()
                .filter(segment ->
                        segment.getType().equals("method") || segment.getType().equals("test-factory"))
                .map(segment -> segment.getValue().replace("()", ""))
                .findFirst()
                .orElseThrow();
    }

    private static String message(Event failed) {
        return failed.getRequiredPayload(TestExecutionResult.class)
                .getThrowable()
                .map(error -> error instanceof AssertionError ? String.valueOf(error.getMessage()) : error.toString())
                .orElse("")
                .strip();
    }

    private static Set<String> broken(Class<?> type) {
        return messages(type).keySet();
    }

    /** Counts what it is asked, refuses a second too long, says one more is left than is, and all count together. */
    static class BrokenLimit extends ServerLimitContract {
        @Override
        protected ServerLimit limit() {
            long[] looks = new long[1];
            return () -> new ServerLimit.Counter() {
                @Override
                public ServerLimit.Standing look(long nowMillis) {
                    long left = 100_000 - ++looks[0];
                    return new ServerLimit.Standing(5, Math.max(0, left), nowMillis - 1, nowMillis - 1);
                }

                @Override
                public void take(long nowMillis) {
                    looks[0] -= 2;
                    if (looks[0] < -200_000) {
                        looks[0] = 100_000;
                    }
                }
            };
        }
    }

    static class EmptyLimit extends ServerLimitContract {
        @Override
        protected ServerLimit limit() {
            return () -> new ServerLimit.Counter() {
                @Override
                public ServerLimit.Standing look(long nowMillis) {
                    return new ServerLimit.Standing(5, 0, nowMillis, nowMillis + 5);
                }

                @Override
                public void take(long nowMillis) {}
            };
        }
    }

    @Test
    void a_limit_that_breaks_a_rule_is_told_which() {
        Set<String> failed = new TreeSet<>(broken(BrokenLimit.class));
        failed.addAll(broken(EmptyLimit.class));

        assertThat(failed).isEqualTo(BrokenStoresTest.rulesOf(ServerLimitContract.class));
    }

    /** Grants when it is asked for a publisher, the same permit to all. */
    static class EagerSource extends PermitSourceContract {
        @Override
        protected PermitSource oneAtATime() {
            RateLimiter one = RateLimiter.of(Limit.inFlight(1));
            return demand -> {
                Permit permit = one.tryAcquire().allowed() ? new Forgetful() : null;
                return permit == null ? Mono.error(new IllegalStateException("none")) : Mono.just(permit);
            };
        }
    }

    private static final class Forgetful implements Permit {
        @Override
        public void sent() {}

        @Override
        public void settle(String unit, long actual) {}

        @Override
        public void hear(RateLimitSignal signal) {}

        @Override
        public void complete(RateLimitSignal signal) {}

        @Override
        public void release() {}
    }

    /** Is subscribed when there is a permit, and never before. */
    static class LateSource extends PermitSourceContract {
        @Override
        protected Duration patience() {
            return Duration.ofMillis(200);
        }

        @Override
        protected PermitSource oneAtATime() {
            RateLimiter one = RateLimiter.of(Limit.inFlight(1));
            return demand -> new Mono<>() {
                @Override
                public void subscribe(CoreSubscriber<? super Permit> actual) {
                    one.acquire(demand).subscribe(permit -> Mono.just(permit).subscribe(actual), error -> {});
                }
            };
        }
    }

    @Test
    void a_source_that_breaks_a_rule_is_told_which() {
        Set<String> failed = new TreeSet<>(broken(EagerSource.class));
        assertThat(broken(LateSource.class)).contains("those_who_wait_are_subscribed_at_once");
        failed.addAll(broken(LateSource.class));

        assertThat(failed).isEqualTo(BrokenStoresTest.rulesOf(PermitSourceContract.class));
    }

    /** Forgets all it was told. */
    static class ForgetfulLimiter extends RateLimiterContract {
        private final VirtualTime time = VirtualTime.startingAt(Instant.EPOCH);

        @Override
        protected RateLimiter limiter(RateLimiterSpec spec) {
            return time.limiter(RateLimiter.named("forgetful").limit(Limit.total(1_000_000)));
        }

        @Override
        protected void advance(Duration span) {
            time.advance(span);
        }
    }

    @Test
    void a_limiter_that_breaks_a_rule_is_told_which() {
        assertThat(broken(ForgetfulLimiter.class)).isEqualTo(BrokenStoresTest.rulesOf(RateLimiterContract.class));
    }

    /** Forgets all it was told, whatever its limit. */
    static class ForgetfulLimit extends LimitContract {
        private final VirtualTime time = VirtualTime.startingAt(Instant.EPOCH);

        @Override
        protected Stream<Limit> limits() {
            return Stream.of(Limit.total(10));
        }

        @Override
        protected RateLimiter limiter(RateLimiterSpec spec) {
            return time.limiter(RateLimiter.named("forgetful").limit(Limit.total(1_000_000)));
        }

        @Override
        protected void advance(Duration span) {
            time.advance(span);
        }
    }

    @Test
    void a_limit_of_a_limiter_that_breaks_a_rule_is_told() {
        assertThat(broken(ForgetfulLimit.class)).isNotEmpty();
    }
}
