package io.github.reactorratelimit.test.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.test.VirtualTime;
import io.github.reactorratelimit.test.contract.MapStore.Fault;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Mono;

/** Every way in which a store errs is told by its contract, and every rule for stores is broken by one of them. */
class BrokenStoresTest {

    private static final Map<Fault, Map<String, String>> BROKEN = new EnumMap<>(Fault.class);

    @BeforeAll
    static void err() {
        for (Fault how : Fault.values()) {
            BROKEN.put(how, broken(how, MapStoreTest.ForManyProcesses.class));
        }
    }

    private static Map<String, String> broken(Fault how, Class<?> contract) {
        MapStoreTest.fault = how;
        try {
            return BrokenContractsTest.messages(contract);
        } finally {
            MapStoreTest.fault = Fault.NONE;
        }
    }

    private static Map<String, String> broken(Fault how) {
        return BROKEN.getOrDefault(how, Map.of());
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void a_store_that_errs_is_told(Fault how) {
        assertThat(broken(how)).isNotEmpty();
    }

    @Test
    void one_that_does_not_is_not() {
        assertThat(broken(Fault.NONE)).isEmpty();
    }

    static Set<String> rulesOf(Class<?> contract) {
        return Arrays.stream(contract.getDeclaredMethods())
                .filter(method ->
                        method.isAnnotationPresent(Test.class) || method.isAnnotationPresent(TestFactory.class))
                .map(Method::getName)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    @Test
    void each_rule_for_stores_is_broken_by_one() {
        Set<String> broken = new TreeSet<>();
        BROKEN.values().forEach(told -> broken.addAll(told.keySet()));
        assertThat(broken).isEqualTo(rulesOf(LimitStoreContract.class));
    }

    @Test
    void a_store_that_errs_is_told_what_is_wrong_and_by_how_much() {
        assertThat(broken(Fault.FORGETS_EARLY))
                .containsOnlyKeys("both_together_get_no_more_than_a_window_gives_and_no_less");
        assertThat(broken(Fault.FORGETS_EARLY).values())
                .first()
                .asString()
                .contains("of six, of 5 per PT10S: [PT0S, PT0S, PT0S, PT0S, PT0S, PT9.25S]", "9.25S");
        assertThat(broken(Fault.CORRECTS_NOTHING).get("what_one_did_not_use_the_other_can_have"))
                .startsWith("Expecting a grant of six tokens, where four of ten were used, but it was refused");
        assertThat(broken(Fault.SAYS_TO_WAIT_TOO_SHORT).get("a_wait_is_over_when_it_was_said_and_not_before"))
                .startsWith(
                        "Expecting a grant of one of 5 requests per PT10S, after the PT5.005S that were said, but it"
                                + " was refused");
        assertThat(broken(Fault.SAYS_TO_WAIT_TOO_LONG).get("a_wait_is_over_when_it_was_said_and_not_before"))
                .startsWith("Expecting a refusal of one of bucket of 5 requests, 1 per PT2S, 1 ms before the PT4S that"
                        + " were said, but it was allowed");
        assertThat(broken(Fault.KEEPS_CLOSED_KEYS_OPEN).get("what_was_refused_to_one_is_closed_for_all_until_then"))
                .startsWith("Expecting a refusal of one, while the server's 30 s last, but it was allowed");
    }

    // ---------------------------------------------------------------------------------- limits of one limiter over it

    /** Takes one from whoever is refused. */
    static class Vengeful extends LimitContract {

        private final VirtualTime time = VirtualTime.startingAt(Instant.EPOCH);

        @Override
        protected void advance(Duration span) {
            time.advance(span);
        }

        @Override
        protected RateLimiter limiter(RateLimiterSpec spec) {
            RateLimiter limiter = time.limiter(spec);
            return (RateLimiter) Proxy.newProxyInstance(
                    RateLimiter.class.getClassLoader(), new Class<?>[] {RateLimiter.class}, (proxy, method, args) -> {
                        Object answer = called(limiter, method, args);
                        return method.getName().equals("ask")
                                ? ((Mono<?>) answer).doOnNext(told -> avenge(limiter, told))
                                : answer;
                    });
        }

        private static Object called(RateLimiter limiter, Method method, Object[] args) throws Throwable {
            try {
                return method.invoke(limiter, args);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }

        private static void avenge(RateLimiter limiter, Object told) {
            if (!((Decision) told).allowed()) {
                limiter.tryAcquire(Demand.one());
            }
        }
    }

    @Test
    void each_rule_for_limits_is_broken_by_one_too() {
        Set<String> broken =
                new TreeSet<>(BrokenContractsTest.messages(Vengeful.class).keySet());
        assertThat(broken).contains("a_refused_attempt_changes_nothing");
        for (Fault how : List.of(
                Fault.SAYS_THAT_MORE_IS_LEFT,
                Fault.TAKES_ONE_WHATEVER_IT_COSTS,
                Fault.CORRECTS_NOTHING,
                Fault.REFILLS_HALF_AS_FAST,
                Fault.STARTS_HALF_FULL)) {
            broken.addAll(broken(how, MapStoreTest.EveryLimit.class).keySet());
        }
        assertThat(broken).isEqualTo(rulesOf(LimitContract.class));
    }
}
