package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Fifty users of one application, and a refusal: who waits and who goes on. */
class WhoIsRefusedTest {

    private static final int USERS = 50;

    private final VirtualTime time = new VirtualTime();
    private final List<Permit> running = new ArrayList<>();
    private RateLimiter limiter = RateLimiter.of();

    @BeforeEach
    void everybody_has_a_call_in_flight() {
        limiter = time.spec()
                .limit(Limit.inFlight(1_000))
                .scope(Scope.by("user").limits(Limit.inFlight(5)))
                .dialect(Dialects.microsoftGraph())
                .build();
        for (int user = 0; user < USERS; user++) {
            running.add(limiter.tryAcquire(user(user)).permit());
        }
    }

    private static Demand user(int number) {
        return Demand.of("user", "u" + number);
    }

    private void refuse(int user, @Nullable String scope, Duration after) {
        Headers headers = scope == null
                ? Headers.of("Retry-After", Long.toString(after.toSeconds()))
                : Headers.of("Retry-After", Long.toString(after.toSeconds()), "x-ms-throttle-scope", scope);
        running.get(user).complete(Dialects.microsoftGraph().read(429, headers, 0));
    }

    /** Who would have to wait now. */
    private List<Integer> held() {
        List<Integer> held = new ArrayList<>();
        for (int user = 0; user < USERS; user++) {
            if (!limiter.estimate(user(user)).allowed()) {
                held.add(user);
            }
        }
        return held;
    }

    @ParameterizedTest
    @ValueSource(strings = {"User", "user", "User/ReadWrite/9a3d/0785"})
    void a_refusal_of_a_user_stops_that_user_and_the_other_forty_nine_go_on(String scope) {
        refuse(7, scope, ofSeconds(10));
        assertThat(held()).containsExactly(7);
        time.runTo(ofMillis(9_999));
        assertThat(held()).containsExactly(7);
        time.runTo(ofSeconds(10));
        assertThat(held()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"Application", "Tenant_Application/ReadWrite/9a3d/0785", "user, application", "global"})
    void a_refusal_of_the_application_alone_or_with_the_user_stops_everybody(String scope) {
        refuse(7, scope, ofSeconds(10));
        assertThat(held()).hasSize(USERS);
        time.runTo(ofMillis(9_999));
        assertThat(held()).hasSize(USERS);
        time.runTo(ofSeconds(10));
        assertThat(held()).isEmpty();
    }

    @Test
    void everybody_comes_back_by_one_ramp_after_a_refusal_of_the_application() {
        refuse(7, "Application", ofSeconds(10));
        List<Asked> asked = new ArrayList<>();
        for (int user = 0; user < USERS; user++) {
            asked.add(time.ask(limiter, user(user)));
        }
        time.runTo(ofSeconds(10));
        assertThat(asked.stream().filter(Asked::isGranted)).hasSize(1);
        asked.get(0).permit().complete(RateLimitSignal.none(200));
        assertThat(asked.stream().filter(Asked::isGranted)).hasSize(3);
    }

    @Test
    void one_refusal_without_a_name_stops_its_user() {
        refuse(7, null, ofSeconds(10));
        assertThat(held()).containsExactly(7);
    }

    @Test
    void a_second_user_refused_without_a_name_meanwhile_stops_everybody() {
        refuse(7, null, ofSeconds(10));
        time.runTo(ofSeconds(4));
        refuse(8, null, ofSeconds(20));
        assertThat(held()).hasSize(USERS);
        time.runTo(ofSeconds(24).minusNanos(1));
        assertThat(held()).hasSize(USERS);
        time.runTo(ofSeconds(24));
        assertThat(held()).isEmpty();
    }

    @Test
    void a_second_user_refused_after_the_first_is_open_again_stops_that_user() {
        refuse(7, null, ofSeconds(10));
        time.runTo(ofSeconds(10));
        refuse(8, null, ofSeconds(20));
        assertThat(held()).containsExactly(8);
    }

    @Test
    void the_same_user_refused_twice_is_no_second_user() {
        Permit another = limiter.tryAcquire(user(7)).permit();
        refuse(7, null, ofSeconds(10));
        another.complete(
                RateLimitSignal.of(429).throttled(true).delay(ofSeconds(10)).build());
        assertThat(held()).containsExactly(7);
    }

    @Test
    void refusals_that_name_the_user_never_widen() {
        for (int user = 0; user < 10; user++) {
            refuse(user, "User", ofSeconds(10));
        }
        assertThat(held()).hasSize(10);
    }

    @Test
    void refusals_without_a_hint_widen_too_each_with_waves_of_its_own() {
        RateLimitSignal bare = RateLimitSignal.of(429).throttled(true).build();
        running.get(7).complete(bare);
        assertThat(held()).containsExactly(7);
        running.get(8).complete(bare);
        assertThat(held()).hasSize(USERS);
        assertThat(limiter.snapshot().root().waves()).isEqualTo(1);
        time.runTo(ofSeconds(1));
        assertThat(held()).isEmpty();
    }

    @Test
    void the_wait_is_the_longest_of_what_two_scopes_say() {
        refuse(7, "Application", ofSeconds(2));
        limiter.pause(user(7), Duration.ZERO);
        running.get(8)
                .complete(RateLimitSignal.of(429)
                        .throttled(true)
                        .scope("user")
                        .delay(ofSeconds(30))
                        .build());
        Asked seven = time.ask(limiter, user(7));
        Asked eight = time.ask(limiter, user(8));
        assertThat(limiter.estimate(user(8)).retryAfter()).isEqualTo(ofSeconds(30));
        time.runTo(ofSeconds(40));
        assertThat(seven.at()).isEqualTo(ofSeconds(2));
        seven.permit().release();
        assertThat(eight.at()).isEqualTo(ofSeconds(30));
    }

    @Test
    void a_name_that_no_scope_counts_by_stops_the_narrowest() {
        refuse(7, "Mailbox", ofSeconds(10));
        assertThat(held()).containsExactly(7);
    }

    @ParameterizedTest
    @CsvSource({"search, false, true", "core, true, false"})
    void a_resource_that_is_a_key_is_the_one_that_stops(String resource, boolean core, boolean search) {
        RateLimiter gitHub = time.spec()
                .scope(Scope.by("resource"))
                .scope(Scope.by("endpoint").limits(Limit.inFlight(10)))
                .build();
        Demand issues = Demand.of("resource", "core").and("endpoint", "/issues");
        Demand repos = Demand.of("resource", "core").and("endpoint", "/repos");
        Demand code = Demand.of("resource", "search").and("endpoint", "/code");
        Quota empty = new Quota(resource, "requests", 30, 0, 30, ofSeconds(60), null, resource);
        Demand called = resource.equals("core") ? issues : code;
        gitHub.tryAcquire(called)
                .permit()
                .complete(RateLimitSignal.of(200)
                        .quotas(List.of(empty))
                        .delay(ofSeconds(60))
                        .build());
        assertThat(!gitHub.estimate(issues).allowed()).isEqualTo(core);
        assertThat(!gitHub.estimate(repos).allowed()).isEqualTo(core);
        assertThat(!gitHub.estimate(code).allowed()).isEqualTo(search);
    }
}
