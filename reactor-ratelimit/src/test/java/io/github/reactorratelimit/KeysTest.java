package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class KeysTest {

    private final VirtualTime time = new VirtualTime();

    private static Demand endpoint(String path) {
        return Demand.of("endpoint", path);
    }

    private static int keys(RateLimiter limiter) {
        return limiter.snapshot().scopes().size() - 1;
    }

    // ------------------------------------------------------------------------------------------------ which limits

    private RateLimiter byEndpoint() {
        return time.spec()
                .scope(Scope.by("endpoint")
                        .limit("/search", Limit.of(2, ofSeconds(10)))
                        .limit("/users/{id}", Limit.of(3, ofSeconds(10)))
                        .limit("/users/me", Limit.of(4, ofSeconds(10)))
                        .limit("/users/{id}/posts/{post}", Limit.of(5, ofSeconds(10)))
                        .otherwise(Limit.of(6, ofSeconds(10))))
                .build();
    }

    @ParameterizedTest
    @CsvSource({
        "/search, 2",
        "/users/7, 3",
        "/users/me, 4", // the value itself before any pattern
        "/users/7/posts/9, 5",
        "/users/, 6", // a segment has at least one character
        "/users/7/, 6",
        "/users, 6",
        "users/7, 6",
        "/x/users/7, 6",
        "/searching, 6",
        "/other, 6",
    })
    void a_value_or_its_pattern_or_else_the_rest_says_which_limit_applies(String path, long permits) {
        assertThat(byEndpoint().estimate(endpoint(path)).limit()).isEqualTo(Limit.of(permits, ofSeconds(10)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"/users/{id}.json", "/users/u{id}", "/{a}{b}"})
    void a_pattern_that_would_match_nothing_is_refused(String pattern) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Scope.by("endpoint").limit(pattern, Limit.inFlight(1)))
                .withMessageContaining("whole segments")
                .withMessageContaining(pattern);
    }

    @Test
    void all_values_of_a_pattern_count_under_one_key() {
        RateLimiter limiter = byEndpoint();
        for (int i = 0; i < 3; i++) {
            assertThat(limiter.tryAcquire(endpoint("/users/" + i)).allowed()).isTrue();
        }
        assertThat(limiter.tryAcquire(endpoint("/users/3")).allowed()).isFalse();
        assertThat(keys(limiter)).isEqualTo(1);
        assertThat(limiter.snapshot().scopes().get(1).keys()).containsExactly("endpoint=/users/{id}");
    }

    @Test
    void an_endpoint_that_is_not_listed_has_no_limit_of_its_own_but_its_pauses_apply() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("endpoint").limit("/search", Limit.of(1, ofSeconds(10))))
                .build();
        for (int i = 0; i < 1_000; i++) {
            assertThat(limiter.tryAcquire(endpoint("/other")).allowed()).isTrue();
        }
        assertThat(limiter.tryAcquire(endpoint("/other")).limit()).isNull();
        limiter.pause(endpoint("/other"), ofSeconds(5));
        assertThat(limiter.tryAcquire(endpoint("/other")).retryAfter()).isEqualTo(ofSeconds(5));
        assertThat(limiter.tryAcquire(endpoint("/third")).allowed()).isTrue();
    }

    @Test
    void further_attributes_make_further_keys() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("endpoint", "token").limit("/items", Limit.of(1, ofSeconds(10))))
                .build();
        assertThat(limiter.tryAcquire(endpoint("/items").and("token", "a")).allowed())
                .isTrue();
        assertThat(limiter.tryAcquire(endpoint("/items").and("token", "b")).allowed())
                .isTrue();
        assertThat(limiter.tryAcquire(endpoint("/items").and("token", "a")).allowed())
                .isFalse();
        assertThat(limiter.tryAcquire(Demand.of("token", "b").and("endpoint", "/items"))
                        .allowed())
                .as("the order of attributes does not matter")
                .isFalse();
    }

    @Test
    void a_value_is_shown_as_a_hash_where_a_word_of_its_name_says_credential() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("x-api-key", "accessToken", "monkey").limits(Limit.of(1, ofSeconds(10))))
                .build();
        limiter.tryAcquire(
                Demand.of("x-api-key", "s3cret").and("accessToken", "t0ken").and("monkey", "gibbon"));
        assertThat(limiter.snapshot().scopes().toString())
                .contains("monkey=gibbon")
                .doesNotContain("s3cret", "t0ken");
    }

    @Test
    void an_empty_value_and_odd_ones_are_keys_like_any_other() { // B26
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user", "token").limits(Limit.of(1, ofSeconds(10))))
                .build();
        List<Demand> demands = List.of(
                Demand.of("user", "").and("token", ""),
                Demand.of("user", "a,token=b").and("token", ""),
                Demand.of("user", "a").and("token", "b"),
                Demand.of("user", "{}").and("token", " "));
        for (Demand demand : demands) {
            assertThat(limiter.tryAcquire(demand).allowed()).isTrue();
            assertThat(limiter.tryAcquire(demand).allowed()).isFalse();
        }
        assertThat(keys(limiter)).isEqualTo(4);
    }

    @Test
    void limits_may_come_from_a_function_of_the_key_and_of_those_above_it() {
        AtomicInteger calls = new AtomicInteger();
        List<Map<String, String>> seen = new ArrayList<>();
        RateLimiter limiter = time.spec()
                .scope(Scope.by("plan"))
                .scope(Scope.by("user").limits(Limit.inFlight(9)).limitsBy(key -> {
                    calls.incrementAndGet();
                    seen.add(key);
                    return List.of(Limit.of("gold".equals(key.get("plan")) ? 3 : 1, ofSeconds(10)));
                }))
                .build();
        Demand gold = Demand.of("plan", "gold").and("user", "a");
        Demand free = Demand.of("plan", "free").and("user", "a");
        for (int i = 0; i < 3; i++) {
            assertThat(limiter.tryAcquire(gold).allowed()).isTrue();
        }
        assertThat(limiter.tryAcquire(gold).allowed()).isFalse();
        assertThat(limiter.tryAcquire(free).allowed()).isTrue();
        assertThat(limiter.tryAcquire(free).allowed()).isFalse();
        assertThat(calls.get()).isEqualTo(2);
        assertThat(seen).containsExactly(Map.of("plan", "gold", "user", "a"), Map.of("plan", "free", "user", "a"));
    }

    @Test
    void limits_of_every_key_stand_beside_those_of_its_pattern() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("endpoint").limits(Limit.of(5, ofSeconds(60))).limit("/a", Limit.of(2, ofSeconds(10))))
                .build();
        assertThat(limiter.tryAcquire(endpoint("/a").cost(2)).allowed()).isTrue();
        assertThat(limiter.tryAcquire(endpoint("/a")).retryAfter()).isEqualTo(ofMillis(10_010));
        assertThat(limiter.tryAcquire(endpoint("/b").cost(5)).allowed()).isTrue();
        assertThat(limiter.tryAcquire(endpoint("/b")).retryAfter()).isEqualTo(ofMillis(60_060));
    }

    @Test
    void a_missing_attribute_is_an_error_that_names_it() {
        RateLimiter limiter = time.spec().scope(Scope.by("endpoint", "token")).build();
        Demand lacking = endpoint("/secret-path");
        String message = "a demand must name the attribute 'token', because the limiter counts by it, was "
                + "Demand{1 requests by endpoint}";
        assertThatThrownBy(() -> limiter.tryAcquire(lacking))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
        assertThatThrownBy(() -> limiter.estimate(lacking)).hasMessage(message);
        assertThat(time.ask(limiter, lacking).error())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
        assertThat(keys(limiter)).isZero();
    }

    @Test
    void a_root_without_scopes_needs_no_attribute_and_minds_none() {
        RateLimiter limiter = time.limiter(Limit.of(1, ofSeconds(10)));
        assertThat(limiter.tryAcquire(endpoint("/a")).allowed()).isTrue();
        assertThat(limiter.tryAcquire(Demand.one()).allowed()).isFalse();
    }

    @Test
    void credentials_are_shown_as_a_hash_and_endpoints_as_they_are() {
        RateLimiter limiter = time.spec().scope(Scope.by("endpoint", "Token")).build();
        limiter.tryAcquire(endpoint("/a").and("Token", "s3cret"));
        String label = limiter.snapshot().scopes().get(1).keys().get(0);
        assertThat(label).matches("endpoint=/a,Token=#[0-9a-f]{6}");
        assertThat(limiter.spec().scopes().get(0).toString()).doesNotContain("s3cret");
        assertThat(endpoint("/a").and("Token", "s3cret").toString()).doesNotContain("s3cret");
    }

    @Test
    void one_demand_may_be_used_with_any_number_of_limiters() {
        Demand demand = Demand.of("user", "a");
        RateLimiterSpec spec = time.spec().scope(Scope.by("user").limits(Limit.of(1, ofSeconds(10))));
        RateLimiter one = spec.build();
        RateLimiter other = spec.build();
        for (int i = 0; i < 3; i++) {
            assertThat(one.tryAcquire(demand).allowed()).isEqualTo(i == 0);
            assertThat(other.tryAcquire(demand).allowed()).isEqualTo(i == 0);
        }
    }

    // ------------------------------------------------------------------------------------------------ forgetting

    private static final Duration IDLE = ofMinutes(5);

    private static void sweep(VirtualTime time, RateLimiter limiter) {
        for (int i = 0; i < 10; i++) {
            limiter.tryAcquire(Demand.of("user", "sweeper"));
            time.advance(ofSeconds(1));
        }
    }

    @Test
    void keys_that_were_used_once_are_forgotten_a_few_at_a_time() { // B26
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.of(5, ofSeconds(10))))
                .build();
        for (int i = 0; i < 100_000; i++) {
            limiter.tryAcquire(Demand.of("user", "u" + i));
        }
        assertThat(keys(limiter)).isEqualTo(100_000);
        time.advance(IDLE);
        limiter.tryAcquire(Demand.of("user", "sweeper"));
        assertThat(keys(limiter)).as("in bounded steps").isBetween(99_980, 99_999);
        for (int i = 0; i < 30_000; i++) {
            limiter.tryAcquire(Demand.of("user", "sweeper"));
        }
        assertThat(keys(limiter)).isEqualTo(1);
        assertThat(time.timers()).isZero();
    }

    @Test
    void keys_whose_permits_nobody_gives_back_are_forgotten_also_of_those_who_waited() { // B26
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.of(5, ofSeconds(10))))
                .build();
        int[] granted = new int[1];
        for (int i = 0; i < 1_200; i++) {
            limiter.acquire(Demand.of("user", "u" + i % 100)).subscribe(permit -> granted[0]++);
        }
        time.advance(ofMinutes(1));
        assertThat(granted).containsExactly(1_200);
        time.advance(IDLE);
        for (int i = 0; i < 100; i++) {
            limiter.tryAcquire(Demand.of("user", "sweeper"));
        }
        assertThat(keys(limiter)).isEqualTo(1);
    }

    @Test
    void keys_whose_permits_a_store_granted_and_nobody_gives_back_are_forgotten() { // B26
        HandStore store = new HandStore();
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.of(5, ofSeconds(10))))
                .build(store);
        int[] granted = new int[1];
        for (int i = 0; i < 100; i++) {
            limiter.acquire(Demand.of("user", "u" + i)).subscribe(permit -> granted[0]++);
            store.answer();
        }
        assertThat(granted).containsExactly(100);
        time.advance(IDLE);
        for (int i = 0; i < 100; i++) {
            limiter.pause(Demand.of("user", "sweeper"), IDLE);
        }
        assertThat(keys(limiter)).isEqualTo(1);
    }

    @Test
    void a_store_is_told_of_a_key_once_that_came_again_after_it_was_forgotten() {
        HandStore store = new HandStore();
        RateLimiter limiter = time.spec()
                .scope(Scope.by("account")
                        .limits(Limit.bucket(100, 100, ofMinutes(1)).unit("tokens")))
                .scope(Scope.by("user")
                        .limits(Limit.bucket(10, 10, ofMinutes(1)).unit("tokens")))
                .build(store);
        Demand anna = Demand.of("account", "a").and("user", "anna").cost("tokens", 1);
        List<Permit> permits = new ArrayList<>();
        limiter.acquire(anna).subscribe(permits::add);
        store.answer();
        Demand boris = Demand.of("account", "b").and("user", "boris").cost("tokens", 1);
        for (int i = 0; i < 2; i++) {
            time.advance(IDLE);
            limiter.acquire(boris).subscribe(permits::add);
            store.answer();
        }
        assertThat(keys(limiter)).isEqualTo(2);
        limiter.acquire(boris).subscribe(permits::add);
        limiter.acquire(anna).subscribe(permits::add);
        limiter.acquire(anna.and("user", "berta")).subscribe(permits::add);
        permits.get(0).settle("tokens", 5);
        store.answer();
        assertThat(store.latest().keys()).hasSize(4).doesNotHaveDuplicates();
        assertThat(store.latest().books()).hasSize(3).doesNotHaveDuplicates();
        assertThat(store.latest().corrections())
                .extracting(LimitStore.Correction::delta)
                .containsExactly(4L, 4L);
    }

    @Test
    void a_key_that_came_again_hears_of_permits_from_before_it_was_forgotten() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.of(5, ofSeconds(10))))
                .build();
        Demand anna = Demand.of("user", "anna");
        List<Permit> permits = new ArrayList<>();
        limiter.acquire(anna).subscribe(permits::add);
        time.advance(IDLE);
        limiter.tryAcquire(Demand.of("user", "sweeper"));
        assertThat(keys(limiter)).isEqualTo(1);
        limiter.acquire(anna).subscribe(permits::add);
        permits.get(0).hear(RateLimitSignal.of(429).throttled(true).build());
        assertThat(limiter.tryAcquire(anna).allowed()).isFalse();
    }

    @Test
    void a_key_that_came_again_owes_what_permits_from_before_it_was_forgotten_used_more() {
        Limit tokens = Limit.bucket(100, 100, ofMinutes(1)).unit("tokens");
        RateLimiter limiter = time.spec()
                .scope(Scope.by("account").limits(tokens))
                .scope(Scope.by("user").limits(tokens))
                .build();
        Demand anna = Demand.of("account", "a").and("user", "anna").cost("tokens", 1);
        List<Permit> permits = new ArrayList<>();
        limiter.acquire(anna).subscribe(permits::add);
        for (int i = 0; i < 2; i++) {
            time.advance(IDLE);
            limiter.tryAcquire(Demand.of("account", "b").and("user", "boris"));
        }
        assertThat(keys(limiter)).isEqualTo(2);
        limiter.acquire(anna).subscribe(permits::add);
        permits.get(0).settle("tokens", 200);
        assertThat(limiter.tryAcquire(anna).retryAfter()).isEqualTo(ofMinutes(1).plusMillis(600));
        assertThat(limiter.tryAcquire(anna.and("user", "berta")).retryAfter())
                .isEqualTo(ofMinutes(1).plusMillis(600));
    }

    @Test
    void a_key_is_not_forgotten_as_soon_as_who_waited_long_has_its_permit() {
        RateLimiter limiter = time.spec()
                .limit(Limit.of(1, IDLE.multipliedBy(2)))
                .scope(Scope.by("user").limits())
                .build();
        Demand anna = Demand.of("user", "anna");
        limiter.acquire(anna).subscribe();
        limiter.acquire(anna)
                .subscribe(permit ->
                        permit.hear(RateLimitSignal.of(429).throttled(true).build()));
        time.advance(IDLE.multipliedBy(2).plusMinutes(1));
        assertThat(limiter.snapshot().scopes().get(1).waves()).isEqualTo(1);
    }

    @Test
    void a_key_that_is_not_full_again_keeps_its_debt() { // B26
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.bucket(10, 1, ofSeconds(100))))
                .forgetAfter(ofSeconds(30))
                .build();
        Demand user = Demand.of("user", "a");
        assertThat(limiter.tryAcquire(user.cost(10)).allowed()).isTrue();
        for (int i = 0; i < 29; i++) {
            sweep(time, limiter);
            time.advance(ofMillis(345));
        }
        assertThat(time.elapsed()).isBetween(ofSeconds(300), ofSeconds(399));
        assertThat(limiter.tryAcquire(user.cost(3)).allowed()).isTrue();
        assertThat(limiter.tryAcquire(user).allowed()).isFalse();
    }

    @Test
    void keys_with_waiters_with_calls_in_flight_or_closed_ones_are_not_forgotten() { // B26
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.inFlight(1)))
                .forgetAfter(ofSeconds(30))
                .build();
        Permit held = limiter.tryAcquire(Demand.of("user", "held")).permit();
        limiter.pause(Demand.of("user", "closed"), ofMinutes(10));
        Asked waiting = time.ask(limiter, Demand.of("user", "held"));
        Asked behindGate = time.ask(limiter, Demand.of("user", "closed"));
        for (int i = 0; i < 20; i++) {
            sweep(time, limiter);
        }
        assertThat(keys(limiter)).isEqualTo(3);
        assertThat(limiter.tryAcquire(Demand.of("user", "held")).allowed()).isFalse();
        held.release();
        assertThat(waiting.isGranted()).isTrue();
        waiting.permit().release();
        time.runTo(ofMinutes(10));
        assertThat(behindGate.at()).isEqualTo(ofMinutes(10));
        behindGate.permit().release();
        time.advance(ofMinutes(1));
        sweep(time, limiter);
        assertThat(keys(limiter)).isEqualTo(1);
    }

    @Test
    void a_key_whose_last_answer_was_a_refusal_is_forgotten_once_it_is_long_over() {
        RateLimiter limiter =
                time.spec().scope(Scope.by("user")).forgetAfter(ofSeconds(30)).build();
        RateLimitSignal refusal = RateLimitSignal.of(429).throttled(true).build();
        limiter.tryAcquire(Demand.of("user", "refused")).permit().complete(refusal);
        for (int i = 0; i < 3; i++) {
            sweep(time, limiter);
        }
        assertThat(keys(limiter))
                .as("30 s after it was used, 29 s after it opened")
                .isEqualTo(2);
        for (int i = 0; i < 4; i++) {
            sweep(time, limiter);
        }
        assertThat(keys(limiter)).isEqualTo(1);
    }

    @Test
    void a_spent_budget_is_never_forgotten() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("user").limits(Limit.total(1)))
                .forgetAfter(ofSeconds(1))
                .build();
        assertThat(limiter.tryAcquire(Demand.of("user", "a")).allowed()).isTrue();
        time.advance(Duration.ofDays(1));
        sweep(time, limiter);
        assertThat(limiter.tryAcquire(Demand.of("user", "a")).allowed()).isFalse();
    }

    @Test
    void a_key_is_forgotten_after_those_below_it() {
        RateLimiter limiter = time.spec()
                .scope(Scope.by("tenant").limits(Limit.of(9, ofSeconds(1))))
                .scope(Scope.by("user").limits(Limit.inFlight(1)))
                .forgetAfter(ofSeconds(5))
                .build();
        Demand held = Demand.of("tenant", "A").and("user", "1");
        Permit permit = limiter.tryAcquire(held).permit();
        for (int i = 0; i < 100; i++) {
            time.advance(ofSeconds(1));
            limiter.tryAcquire(Demand.of("tenant", "sweep").and("user", "1"));
        }
        assertThat(keys(limiter)).isEqualTo(4);
        permit.release();
        for (int i = 0; i < 100; i++) {
            time.advance(ofSeconds(1));
            limiter.tryAcquire(Demand.of("tenant", "sweep").and("user", "1"));
        }
        assertThat(keys(limiter)).isEqualTo(2);
    }

    @Test
    void forgetting_and_asking_at_once_never_makes_two_books_of_one_key() throws InterruptedException { // B26
        VirtualTime quick = new VirtualTime();
        RateLimiter limiter = quick.spec()
                .scope(Scope.by("user").limits(Limit.inFlight(1)))
                .forgetAfter(Duration.ofNanos(1))
                .build();
        int threads = 4;
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        CountDownLatch done = new CountDownLatch(threads);
        for (int t = 0; t < threads; t++) {
            int thread = t;
            pool.execute(() -> {
                Demand own = Demand.of("user", "one");
                for (int i = 0; i < 10_000; i++) {
                    Decision decision = limiter.tryAcquire(i % 2 == 0 ? own : Demand.of("user", "one"));
                    if (decision.allowed()) {
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                        inside.decrementAndGet();
                        decision.permit().release();
                    }
                    if (thread == 0) {
                        quick.advance(Duration.ofNanos(5));
                    }
                    limiter.tryAcquire(Demand.of("user", "other" + i % 7));
                }
                done.countDown();
            });
        }
        assertThat(done.await(120, TimeUnit.SECONDS)).isTrue();
        pool.shutdown();
        assertThat(most.get()).isEqualTo(1);
    }
}
