package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.Scope;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Limiters of several "processes" on one real server. Every one of them has its own connection and its own id. */
class RedisRateLimiterTest {

    private static final Demand NOW = Demand.one().maxWait(Duration.ZERO);

    @RegisterExtension
    static final RealRedis server = new RealRedis();

    private static final StatefulRedisConnection<String, String> connection = server.connection();
    private final List<RateLimiter> limiters = new ArrayList<>();

    @BeforeEach
    void empty() {
        connection.sync().flushall();
    }

    @AfterEach
    void dispose() {
        limiters.forEach(RateLimiter::dispose);
    }

    /** The calls of one limiter alone: others may still renew what they hold. */
    private long scriptCalls(RateLimiter limiter) {
        return connection.sync().keys("*{" + limiter.spec().name() + "}:process:*").stream()
                .mapToLong(key -> Long.parseLong(connection.sync().get(key)))
                .sum();
    }

    private RateLimiter process(RateLimiterSpec spec) {
        return process(RedisSharing.over(connection).timeout(ofSeconds(5)), spec);
    }

    private RateLimiter process(RedisSharing sharing, RateLimiterSpec spec) {
        RateLimiter limiter = RedisRateLimiter.create(sharing, spec);
        limiters.add(limiter);
        return limiter;
    }

    /** Whoever still holds something after its test goes on renewing it, so every test has a limiter of its own. */
    private RateLimiterSpec limits(Limit... limits) {
        return RateLimiter.named("shared-" + System.identityHashCode(this)).limit(limits);
    }

    private static int grantedOf(int calls, RateLimiter... limiters) {
        AtomicInteger granted = new AtomicInteger();
        Flux.range(0, calls)
                .flatMap(
                        i -> limiters[i % limiters.length]
                                .acquire(NOW)
                                .doOnNext(permit -> granted.incrementAndGet())
                                .onErrorResume(RateLimitedException.class, refused -> Mono.empty()),
                        calls)
                .blockLast(ofSeconds(20));
        return granted.get();
    }

    private static Permit one(RateLimiter limiter) {
        return requireNonNull(limiter.acquire(NOW).block(ofSeconds(10)));
    }

    @Test
    void two_processes_share_one_window() {
        RateLimiter a = process(limits(Limit.of(5, ofSeconds(100))));
        RateLimiter b = process(limits(Limit.of(5, ofSeconds(100))));
        assertThat(grantedOf(20, a, b)).isEqualTo(5);
    }

    @Test
    void a_refusal_tells_the_time() {
        RateLimiter a = process(limits(Limit.of(1, ofSeconds(100))));
        RateLimiter b = process(limits(Limit.of(1, ofSeconds(100))));
        one(a);
        assertThatThrownBy(() -> one(b))
                .isInstanceOfSatisfying(
                        RateLimitedException.class,
                        refused -> assertThat(refused.retryAfter()).isBetween(ofSeconds(80), ofSeconds(101)));
    }

    @Test
    void known_empty_is_answered_without_a_call() {
        RateLimiter a = process(limits(Limit.of(1, ofSeconds(100))));
        RateLimiter b = process(limits(Limit.of(1, ofSeconds(100))));
        one(a);
        assertThat(grantedOf(1, b)).isZero();
        long before = scriptCalls(a);
        assertThat(grantedOf(1_000, b)).isZero();
        assertThat(scriptCalls(a)).isEqualTo(before);
    }

    @Test
    void whoever_comes_while_a_call_is_under_way_goes_into_the_next() {
        RateLimiter a = process(limits(Limit.bucket(100_000, 1, ofSeconds(1))));
        one(a);
        long before = scriptCalls(a);
        assertThat(grantedOf(5_000, a)).isEqualTo(5_000);
        assertThat(scriptCalls(a) - before).isLessThan(500);
    }

    @Test
    void who_waits_is_granted_when_there_is_room_and_in_few_calls() { // B34
        RateLimiter a = process(limits(Limit.bucket(1, 2, ofSeconds(1))));
        one(a);
        long before = scriptCalls(a);
        assertThat(a.acquire(Demand.one()).block(ofSeconds(10))).isNotNull();
        assertThat(scriptCalls(a) - before).isLessThanOrEqualTo(3);
    }

    @Test
    void several_scopes_are_decided_together() {
        RateLimiterSpec spec =
                limits(Limit.of(3, ofSeconds(100))).scope(Scope.by("user").limits(Limit.of(2, ofSeconds(100))));
        RateLimiter a = process(spec);
        RateLimiter b = process(spec);
        AtomicInteger granted = new AtomicInteger();
        for (String user : List.of("u1", "u1", "u1", "u2", "u2", "{u3}")) {
            for (RateLimiter limiter : List.of(a, b)) {
                limiter.acquire(NOW.and("user", user))
                        .doOnNext(permit -> granted.incrementAndGet())
                        .onErrorResume(RateLimitedException.class, refused -> Mono.empty())
                        .block(ofSeconds(10));
            }
        }
        assertThat(granted).hasValue(3);
        String root = "reactor-ratelimit:1:{" + spec.name() + "}:scope";
        assertThat(connection.sync().keys("*scope*")).contains(root, root + ":user=u1");
    }

    @Test
    void a_permit_given_back_in_time_serves_another_process() {
        RateLimiter a = process(limits(Limit.inFlight(1)));
        RateLimiter b = process(limits(Limit.inFlight(1)));
        Permit held = one(a);
        assertThat(grantedOf(1, b)).isZero();
        Mono<Permit> waiting = b.acquire(Demand.one()).cache();
        waiting.subscribe();
        held.release();
        assertThat(waiting.block(ofSeconds(10))).isNotNull();
        assertThat(grantedOf(1, a)).isZero();
    }

    @Test
    void what_is_in_flight_is_renewed_for_as_long_as_it_is_held() { // B57
        RedisSharing brief = RedisSharing.over(connection).timeout(ofSeconds(5)).lease(ofMillis(300));
        RateLimiterSpec spec = limits(Limit.inFlight(1));
        WatchedStore store = new WatchedStore(new RedisStore(brief, spec.name()));
        RateLimiter a = spec.build(store);
        limiters.add(a);
        RateLimiter b = process(brief, spec);
        Permit held = one(a);
        AtomicInteger renewals = new AtomicInteger();
        store.awaitAnswered(batch -> !batch.holdings().isEmpty() && renewals.incrementAndGet() == 6);
        assertThatThrownBy(() -> one(b)).isInstanceOf(RateLimitedException.class);
        held.release();
        assertThat(b.acquire(Demand.one()).block(ofSeconds(10))).isNotNull();
    }

    @Test
    void a_pause_closes_the_scope_in_all_processes_those_already_waiting_too() {
        RateLimiterSpec spec = limits(Limit.of(1, ofMillis(200)));
        RateLimiter a = process(spec);
        RateLimiter b = process(spec);
        one(a);
        AtomicInteger granted = new AtomicInteger();
        b.acquire(Demand.one()).subscribe(permit -> granted.incrementAndGet(), disposed -> {});
        a.pause(Demand.one(), ofSeconds(100));
        assertThatThrownBy(() -> b.acquire(Demand.one().maxWait(ofSeconds(2))).block(ofSeconds(10)))
                .isInstanceOf(RateLimitedException.class);
        assertThat(granted).hasValue(0);
    }

    @Test
    void a_script_that_the_server_forgot_is_sent_again() { // B31
        RateLimiter a = process(limits(Limit.bucket(1_000, 1, ofSeconds(1_000))));
        one(a);
        connection.sync().scriptFlush();
        assertThat(grantedOf(100, a)).isEqualTo(100);
        assertThat(grantedOf(2_000, a)).isEqualTo(899);
    }

    @Test
    void a_budget_is_spent_once_by_all() {
        RateLimiter a = process(limits(Limit.total(3)));
        RateLimiter b = process(limits(Limit.total(3)));
        assertThat(grantedOf(10, a, b)).isEqualTo(3);
        assertThatThrownBy(() -> b.acquire(Demand.one()).block(ofSeconds(10))).isInstanceOf(RateLimitedException.class);
    }

    @Test
    void asking_answers_with_the_figures_of_all_processes() {
        RateLimiter a = process(limits(Limit.of(3, ofSeconds(100))));
        RateLimiter b = process(limits(Limit.of(3, ofSeconds(100))));
        one(a);
        Decision allowed = ask(b);
        assertThat(allowed.allowed()).isTrue();
        assertThat(allowed.remaining()).isEqualTo(1);
        assertThat(requireNonNull(allowed.limit()).permits()).isEqualTo(3);
        allowed.permit().release();
        one(a);
        Decision refused = ask(b);
        assertThat(refused.allowed()).isFalse();
        assertThat(refused.remaining()).isZero();
        assertThat(refused.retryAfter()).isBetween(ofSeconds(80), ofSeconds(101));
        assertThat(refused.resetAfter()).isBetween(ofSeconds(80), ofSeconds(101));
        assertThat(ask(a).allowed()).isFalse();
    }

    private static Decision ask(RateLimiter limiter) {
        return requireNonNull(limiter.ask(Demand.one()).block(ofSeconds(10)));
    }

    @Test
    void trying_without_asking_refuses_what_is_known_with_its_time_and_everything_else_without() {
        RateLimiter a = process(limits(Limit.of(1, ofSeconds(100))));
        Decision unknown = a.tryAcquire();
        assertThat(unknown.allowed()).isFalse();
        assertThat(unknown.retryAfter()).isNull();
        assertThat(a.estimate(Demand.one()).allowed()).isTrue();
        one(a);
        assertThat(a.tryAcquire().retryAfter()).isBetween(ofSeconds(80), ofSeconds(101));
    }

    @Test
    void the_status_of_a_key_is_that_of_all_processes() {
        RateLimiterSpec spec = limits(Limit.of(9, ofSeconds(100)), Limit.bucket(20, 1, ofSeconds(100)))
                .scope(Scope.by("user").limits(Limit.of(6, ofSeconds(50)).burst(3)));
        RateLimiter a = process(spec);
        RateLimiter b = process(spec);
        for (RateLimiter limiter : List.of(a, b)) {
            requireNonNull(limiter.acquire(NOW.and("user", "u1")).block(ofSeconds(10)));
        }
        ScopeState root = requireNonNull(b.status(Demand.one()).block(ofSeconds(10)));
        assertThat(root.limits()).extracting(LimitState::available).containsExactly(7L, 18L);
        ScopeState user = requireNonNull(b.status(Demand.of("user", "u1")).block(ofSeconds(10)));
        assertThat(user.limits()).extracting(LimitState::available).containsExactly(1L);
        assertThat(user.keys()).containsExactly("user=u1");
        assertThat(root.closedFor()).isZero();
    }

    @Test
    void a_key_that_is_reset_is_full_and_open_for_all() {
        RateLimiter a = process(limits(Limit.of(2, ofSeconds(100))));
        RateLimiter b = process(limits(Limit.of(2, ofSeconds(100))));
        assertThat(grantedOf(2, a)).isEqualTo(2);
        assertThat(grantedOf(2, b)).isZero();
        b.reset(Demand.one()).block(ofSeconds(10));
        assertThat(grantedOf(5, b)).isEqualTo(2);
        assertThat(grantedOf(5, process(limits(Limit.of(2, ofSeconds(100)))))).isZero();
    }

    @Test
    void the_operator_limits_and_retries_as_in_memory() {
        RateLimiter a = process(limits(Limit.of(3, ofSeconds(100))));
        AtomicInteger sent = new AtomicInteger();
        Flux.range(0, 3)
                .flatMap(i -> Mono.fromSupplier(sent::incrementAndGet).transform(a.limit()))
                .blockLast(ofSeconds(10));
        assertThat(sent).hasValue(3);
        assertThatThrownBy(() -> Mono.fromSupplier(sent::incrementAndGet)
                        .transform(a.<Integer>limit(NOW))
                        .block(ofSeconds(10)))
                .isInstanceOf(RateLimitedException.class);
    }
}
