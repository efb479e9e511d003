package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.testkit.engine.EventConditions.finishedWithFailure;
import static org.junit.platform.testkit.engine.EventConditions.test;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.cause;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.instanceOf;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.message;
import static org.junit.platform.testkit.engine.TestExecutionResultConditions.suppressed;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;
import reactor.core.publisher.Mono;

/** The classes within are run by the platform's test kit, not by the build. */
class InVirtualTimeTest {

    private static Events run(Class<?> type) {
        return EngineTestKit.engine("junit-jupiter")
                .selectors(selectClass(type))
                .execute()
                .allEvents();
    }

    private static Events tests(Class<?> type) {
        return EngineTestKit.engine("junit-jupiter")
                .selectors(selectClass(type))
                .execute()
                .testEvents();
    }

    private static Permit take(VirtualTime time) {
        return time.limiter(RateLimiter.named("held").limit(Limit.inFlight(2)))
                .tryAcquire()
                .permit();
    }

    @InVirtualTime
    static class OnePerTest {
        static final Set<VirtualTime> SEEN = ConcurrentHashMap.newKeySet();
        private final VirtualTime own;
        private VirtualTime before;

        OnePerTest(VirtualTime own) {
            this.own = own;
            this.before = own;
        }

        @BeforeEach
        void before(VirtualTime time) {
            before = time;
        }

        @Test
        void first(VirtualTime time) {
            assertThat(time).isSameAs(own).isSameAs(before);
            assertThat(time.wallNow()).isEqualTo(Instant.parse("2026-01-01T00:00:00Z"));
            time.advance(Duration.ofHours(1));
        }

        @ParameterizedTest
        @ValueSource(ints = {1, 2})
        void others(int number, VirtualTime time) {
            assertThat(time).isSameAs(own);
            assertThat(time.wallNow()).isEqualTo(Instant.parse("2026-01-01T00:00:00Z"));
            time.advance(Duration.ofHours(number));
        }

        @AfterEach
        void after(VirtualTime time) {
            assertThat(time).isSameAs(own);
            SEEN.add(time);
        }

        @Nested
        class Inner {
            @Test
            void inner(VirtualTime time) {
                assertThat(time).isSameAs(own).isSameAs(before);
            }
        }
    }

    @Test
    void constructor_lifecycle_methods_and_test_share_one_time_and_every_test_has_its_own() {
        OnePerTest.SEEN.clear();

        tests(OnePerTest.class).assertStatistics(stats -> stats.succeeded(4).failed(0));

        assertThat(OnePerTest.SEEN).hasSize(4);
    }

    @InVirtualTime(wallClock = "2030-06-01T12:00:00Z")
    static class WallClocks {
        @Test
        void of_the_class(VirtualTime time) {
            assertThat(time.wallNow()).isEqualTo(Instant.parse("2030-06-01T12:00:00Z"));
        }

        @Test
        @InVirtualTime(wallClock = "2031-01-01T00:00:00Z")
        void of_the_method(VirtualTime time) {
            assertThat(time.wallNow()).isEqualTo(Instant.parse("2031-01-01T00:00:00Z"));
        }

        @Nested
        class Inner {
            @Test
            void of_the_class_around(VirtualTime time) {
                assertThat(time.wallNow()).isEqualTo(Instant.parse("2030-06-01T12:00:00Z"));
            }
        }

        @Nested
        @InVirtualTime
        class OtherInner {
            @Test
            void of_the_nested_class(VirtualTime time) {
                assertThat(time.wallNow()).isEqualTo(Instant.parse("2026-01-01T00:00:00Z"));
            }
        }
    }

    static class Inheriting extends WallClocks {}

    @Test
    void the_wall_clock_is_that_of_the_nearest_annotation() {
        tests(WallClocks.class).assertStatistics(stats -> stats.succeeded(4).failed(0));
        tests(Inheriting.class).assertStatistics(stats -> stats.succeeded(4).failed(0));
    }

    static class Leaking {
        @Test
        @InVirtualTime
        void permit(VirtualTime time) {
            take(time);
        }
    }

    @Test
    void a_test_that_leaves_a_permit_held_fails_and_is_told_where() {
        tests(Leaking.class)
                .assertThatEvents()
                .haveExactly(
                        1,
                        finishedWithFailure(
                                instanceOf(AssertionError.class),
                                message(text -> text.contains(
                                        "limiter 'held', root, limit 2 requests in flight: 1 still held"))));
    }

    @InVirtualTime
    static class LeavingTasks {
        private final VirtualTime time;

        LeavingTasks(VirtualTime time) {
            this.time = time;
        }

        @Test
        void task_of_a_time_that_only_the_constructor_took() {
            Mono.delay(Duration.ofSeconds(1), time.scheduler()).subscribe();
        }
    }

    @Test
    void a_test_that_leaves_a_task_fails() {
        tests(LeavingTasks.class)
                .assertThatEvents()
                .haveExactly(1, finishedWithFailure(message(text -> text.contains("task on the private scheduler: "))));
    }

    @InVirtualTime(leakCheck = false)
    static class Unchecked {
        @Test
        void permit(VirtualTime time) {
            take(time);
        }

        @Test
        @InVirtualTime
        void checked_again(VirtualTime time) {
            take(time);
        }
    }

    @Test
    void the_leak_check_can_be_switched_off_for_a_class_and_on_for_a_test() {
        tests(Unchecked.class)
                .assertStatistics(stats -> stats.succeeded(1).failed(1))
                .failed()
                .assertThatEvents()
                .haveExactly(1, test("checked_again"));
    }

    @InVirtualTime
    static class CleaningUp {
        private final List<Permit> permits = new ArrayList<>();

        @Test
        void permit(VirtualTime time) {
            permits.add(take(time));
        }

        @AfterEach
        void release() {
            permits.forEach(Permit::release);
        }
    }

    @Test
    void what_an_after_each_method_releases_is_no_leak() {
        tests(CleaningUp.class).assertStatistics(stats -> stats.succeeded(1).failed(0));
    }

    @InVirtualTime
    static class Failing {
        @Test
        void for_a_reason_of_its_own(VirtualTime time) {
            take(time);
            throw new IllegalStateException("the reason");
        }
    }

    @Test
    void a_test_that_failed_anyway_is_not_told_of_leaks_besides() {
        tests(Failing.class)
                .assertThatEvents()
                .haveExactly(1, finishedWithFailure(message("the reason")))
                .doNotHave(finishedWithFailure(suppressed(0, instanceOf(AssertionError.class))));
    }

    @InVirtualTime(wallClock = "yesterday")
    static class WrongClock {
        @Test
        void never_runs(VirtualTime time) {}
    }

    @InVirtualTime(wallClock = "1850-01-01T00:00:00Z")
    static class OldClock {
        @Test
        void never_runs(VirtualTime time) {}
    }

    @Test
    void a_wall_clock_that_is_none_is_named() {
        tests(WrongClock.class)
                .assertThatEvents()
                .haveExactly(
                        1,
                        finishedWithFailure(message(text -> text.endsWith(
                                "wallClock must be an instant such as 2026-01-01T00:00:00Z, was 'yesterday'"))));
        tests(OldClock.class)
                .assertThatEvents()
                .haveExactly(
                        1,
                        finishedWithFailure(
                                message(text -> text.endsWith("was '1850-01-01T00:00:00Z'")),
                                cause(cause(message(text -> text.contains("must be between"))))));
    }

    @InVirtualTime
    static class BeforeAllOfThem {
        @BeforeAll
        static void start(VirtualTime time) {
            time.advance(Duration.ZERO);
        }

        @Test
        void never_runs() {}
    }

    @InVirtualTime
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    static class OneInstance {
        OneInstance(VirtualTime time) {
            time.advance(Duration.ZERO);
        }

        @Test
        void never_runs() {}
    }

    @Test
    void there_is_no_time_for_all_tests_together() {
        for (Class<?> type : List.of(BeforeAllOfThem.class, OneInstance.class)) {
            run(type)
                    .assertThatEvents()
                    .haveExactly(
                            1,
                            finishedWithFailure(message(text -> text.contains("A VirtualTime belongs to one test."))));
        }
    }
}
