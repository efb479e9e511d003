package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whose turn it is among keys that share a quota which responses told of, and beside them. */
class SharedQuotaTurnsTest {

    private static final long SECOND = 1_000_000_000L;

    private final VirtualTime time = new VirtualTime();

    private static Demand user(String name) {
        return Demand.of("endpoint", name);
    }

    private static Demand user(String tenant, String name) {
        return Demand.of("tenant", tenant).and("endpoint", name);
    }

    private static RateLimitSignal shared(long remaining) {
        return shared(remaining, ofSeconds(10));
    }

    private static RateLimitSignal shared(long remaining, Duration reset) {
        Quota quota = new Quota("", "requests", 5, remaining, -1, reset, reset, "shared");
        RateLimitSignal.Builder signal = RateLimitSignal.of(200).quotas(List.of(quota));
        return remaining > 0 ? signal.build() : signal.delay(reset).build();
    }

    /** A call of an adapter, answered by hand. */
    private static final class Call extends Ticket {

        private boolean granted;

        Call(Demand demand) {
            super(demand);
        }

        @Override
        Tells tells() {
            return Tells.HEAD;
        }

        @Override
        void emit() {
            granted = true;
        }
    }

    private static Call call(Admission admission, Demand demand) {
        Call call = new Call(demand);
        admission.acquire(call, null, 0, Exact.NEVER);
        return call;
    }

    private static void answered(Admission admission, Demand demand, RateLimitSignal signal) {
        admission.answers().hear(call(admission, demand), signal, 0, true);
    }

    @Test
    void a_key_whose_own_limit_is_freed_with_the_quota_goes_before_one_that_came_to_be_known_later() {
        Admission admission = admission(time.spec()
                .scope(Scope.by("endpoint").limits(Limit.inFlight(1)))
                .learn());
        answered(admission, user("a"), shared(4));
        answered(admission, user("b"), shared(0));
        time.runTo(ofSeconds(10)); // From now on one at a time asks what is left.
        Call asking = call(admission, user("a"));
        Call b = call(admission, user("b"));
        Call a = call(admission, user("a"));
        admission.release(asking);
        assertThat(a.granted).isTrue();
        assertThat(b.granted).isFalse();
    }

    @Test
    void a_key_whose_own_trial_is_over_with_the_answer_goes_before_one_that_came_to_be_known_later() {
        Admission admission = admission(time.spec().scope(Scope.by("endpoint")).learn());
        answered(admission, user("a"), shared(5));
        answered(admission, user("b"), shared(5));
        admission
                .answers()
                .hear(
                        call(admission, user("a")),
                        RateLimitSignal.of(429)
                                .throttled(true)
                                .delay(ofSeconds(1))
                                .build(),
                        0,
                        true);
        time.runTo(ofSeconds(10));
        Call asking = call(admission, user("a"));
        Call b = call(admission, user("b"));
        Call a = call(admission, user("a"));
        admission.answers().hear(asking, shared(1), 0, true);
        assertThat(a.granted).isTrue();
        assertThat(b.granted).isFalse();
    }

    @Test
    void a_wider_key_keeps_its_turn_when_one_of_its_keys_takes_over_from_another() {
        Admission admission = admission(time.spec()
                .limit(Limit.inFlight(3))
                .scope(Scope.by("tenant"))
                .scope(Scope.by("endpoint"))
                .learn());
        answered(admission, user("1", "a"), shared(3));
        answered(admission, user("1", "b"), shared(3));
        answered(admission, user("2", "c"), RateLimitSignal.none(200));
        Call two = call(admission, user("1", "a").cost(2));
        call(admission, user("2", "c"));
        Call a = call(admission, user("1", "a"));
        Call c = call(admission, user("2", "c"));
        Call b = call(admission, user("1", "b").cost(2));
        admission.answers().hear(two, RateLimitSignal.none(200), 0, false);
        // One of the users is closed, and in the next window there is room for the other.
        admission.answers().hear(two, shared(5, ofSeconds(20)), SECOND, true);
        assertThat(b.granted).isTrue();
        assertThat(c.granted).isFalse();
        assertThat(a.granted).isFalse();
    }

    @Test
    void at_one_instant_keys_that_share_a_quota_and_others_open_as_they_came_to_be_known() {
        Admission admission = admission(
                time.spec().limit(Limit.inFlight(1)).scope(Scope.by("endpoint")).learn());
        answered(admission, user("a"), shared(4));
        answered(admission, user("c"), RateLimitSignal.none(200));
        answered(admission, user("b"), shared(0));
        Call running = call(admission, user("d"));
        admission.controls().pause(user("c"), 10 * SECOND);
        Call a = call(admission, user("a"));
        Call b = call(admission, user("b"));
        Call c = call(admission, user("c"));
        time.runTo(ofSeconds(10));
        admission.cancel(a);
        admission.release(running);
        assertThat(c.granted).isTrue();
        assertThat(b.granted).isFalse();
    }

    @Test
    void whoever_shared_a_quota_with_a_route_goes_on_when_that_joins_another_bucket() {
        Admission admission =
                admission(time.spec().scope(Scope.by("route", "token")).learn());
        RateLimitSignal told = RateLimitSignal.of(200).bucket("x").build();
        answered(admission, route("/a"), shared(4));
        answered(admission, route("/b"), shared(0));
        answered(admission, route("/c"), told);
        time.runTo(ofSeconds(10)); // From now on one at a time asks what is left.
        Call asking = call(admission, route("/a"));
        Call b = call(admission, route("/b"));
        admission.answers().hear(asking, told, 0, false);
        assertThat(b.granted).isTrue();
    }

    @ParameterizedTest
    @ValueSource(ints = {10, 100, 1_000})
    void what_a_grant_takes_does_not_grow_with_the_keys_that_share_a_quota(int keys) {
        RateLimiter limiter = time.spec().scope(Scope.by("endpoint")).learn().build();
        Admission admission = limiter.calls().admission();
        for (int key = 0; key < keys; key++) {
            answered(admission, user("u" + key), shared(1_000));
        }
        // So few may go at once that all the others wait until these are answered.
        Deque<Call> running = new ArrayDeque<>();
        answered(admission, user("u0"), shared(5));
        for (int i = 0; i < 3_000; i++) {
            running.add(call(admission, user("u" + i % keys)));
        }
        long before = admission.controls().evaluations();
        long granted = running.stream().filter(call -> call.granted).count();
        assertThat(granted).isEqualTo(5);
        time.runTo(ofSeconds(10));
        Call asking = running.stream()
                .filter(call -> call.granted)
                .skip(5)
                .findFirst()
                .orElseThrow();
        admission.answers().hear(asking, shared(2_500), 0, true);
        granted = running.stream().filter(call -> call.granted).count() - granted;
        assertThat(granted).isEqualTo(2_501 - 5);
        assertThat((double) (admission.controls().evaluations() - before) / granted)
                .isLessThan(10);
    }

    private static Demand route(String route) {
        return Demand.of("route", route).and("token", "t");
    }

    private static Admission admission(RateLimiterSpec spec) {
        return spec.build().calls().admission();
    }
}
