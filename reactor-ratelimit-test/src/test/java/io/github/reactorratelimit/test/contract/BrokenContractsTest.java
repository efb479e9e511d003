package io.github.reactorratelimit.test.contract;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.github.reactorratelimit.test.ServerLimit;
import io.github.reactorratelimit.test.VirtualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
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
                .filter(segment -> segment.getType().equals("method") || segment.getType().equals("test-factory"))
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

        assertThat(failed)
                .containsExactly(
                        "a_fresh_counter_lets_a_request_through",
                        "a_refused_request_passes_at_the_time_that_it_is_told_and_not_before",
                        "after_a_long_time_all_is_there_again",
                        "counters_know_nothing_of_each_other",
                        "each_request_takes_at_least_one_of_what_remains",
                        "its_figures_fit_together",
                        "looking_changes_nothing");
    }

    /** Knows one header by one spelling, believes what stands in it, and goes by its own clock and count. */
    static class BrokenDialect extends DialectContract {
        private int reads;

        @Override
        protected Dialect dialect() {
            return new Dialect() {
                @Override
                public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
                    String[] last = {"", ""};
                    headers.forEach((name, value) -> {
                        last[0] = name;
                        last[1] = value;
                    });
                    RateLimitSignal.Builder signal = RateLimitSignal.of(200).reason(last[0] + reads++ + wallNowMillis);
                    if (last[0].equals("Retry-After")) {
                        signal.delay(ofSeconds(Long.parseLong(last[1])));
                    }
                    return signal.build();
                }

                @Override
                public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
                    throw new IllegalStateException(Byte.toString(body[0]));
                }
            };
        }

        @Override
        protected List<Headers> samples() {
            return List.of(Headers.of("Retry-After", "7"));
        }
    }

    @Test
    void a_dialect_that_breaks_a_rule_is_told_which() {
        assertThat(broken(BrokenDialect.class))
                .containsExactly(
                        "a_clock_that_is_wrong_changes_nothing_where_the_response_has_a_date",
                        "an_answer_without_headers_says_nothing",
                        "headers_that_it_does_not_know_change_nothing",
                        "names_are_read_in_any_case",
                        "the_same_response_is_read_the_same_way_each_time",
                        "the_status_is_that_of_the_response_and_no_time_is_negative",
                        "whatever_stands_in_a_header_it_does_not_throw_and_no_time_is_negative",
                        "whatever_the_body_is_it_does_not_throw");
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

    @Test
    void a_source_that_breaks_a_rule_is_told_which() {
        assertThat(broken(EagerSource.class))
                .containsExactly(
                        "a_completed_permit_is_free_again",
                        "a_negative_correction_is_refused_and_what_is_told_late_or_twice_is_borne",
                        "a_released_permit_goes_to_one_who_waits_and_releasing_it_twice_frees_it_once",
                        "each_subscription_is_one_act",
                        "leaving_while_the_permit_is_on_its_way_loses_none",
                        "nothing_is_asked_before_it_is_requested",
                        "nothing_is_asked_before_it_is_subscribed",
                        "one_who_leaves_while_waiting_leaves_no_trace",
                        "one_who_will_not_wait_is_told_so_and_leaves_no_trace");
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
        assertThat(broken(ForgetfulLimiter.class)).hasSize(11);
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
