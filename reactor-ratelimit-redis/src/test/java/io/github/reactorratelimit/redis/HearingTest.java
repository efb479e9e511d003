package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What becomes of permits after their grant, as other processes see it. */
class HearingTest {

    private static final Demand NOW = Demand.one().maxWait(Duration.ZERO);

    private static RealRedis server;
    private static StatefulRedisConnection<String, String> connection;
    private final List<RateLimiter> limiters = new ArrayList<>();

    @BeforeAll
    static void start() {
        server = new RealRedis();
        connection = server.connection();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @AfterEach
    void dispose() {
        limiters.forEach(RateLimiter::dispose);
    }

    private RateLimiter process(RateLimiterSpec spec) {
        RateLimiter limiter =
                RedisRateLimiter.create(RedisSharing.over(connection).timeout(ofSeconds(5)), spec.jitter(0));
        limiters.add(limiter);
        return limiter;
    }

    private RateLimiterSpec limits(Limit... limits) {
        return RateLimiter.named("hearing-" + System.identityHashCode(this)).limit(limits);
    }

    private static int grantedOf(int calls, RateLimiter limiter) {
        AtomicInteger granted = new AtomicInteger();
        Flux.range(0, calls)
                .flatMap(
                        i -> limiter.acquire(NOW)
                                .doOnNext(permit -> granted.incrementAndGet())
                                .onErrorResume(RateLimitedException.class, refused -> Mono.empty()),
                        calls)
                .blockLast(ofSeconds(20));
        return granted.get();
    }

    private static RateLimitSignal refusal() {
        return RateLimitSignal.of(429).throttled(true).delay(ofSeconds(100)).build();
    }

    private static Permit one(RateLimiter limiter, Demand demand) {
        Permit permit = limiter.acquire(demand).block(ofSeconds(10));
        return requireNonNull(permit);
    }

    /** Until everything that was to be told is told: a call whose answer can only come after it. */
    private String state(RateLimiter limiter) {
        return String.valueOf(connection
                .sync()
                .hgetall("reactor-ratelimit:1:{" + limiter.spec().name() + "}:scope"));
    }

    private void eventually(RateLimiter limiter, java.util.function.Predicate<String> state) {
        Flux.interval(ofMillis(10))
                .onBackpressureDrop()
                .publishOn(reactor.core.scheduler.Schedulers.boundedElastic(), 1)
                .filter(tick -> state.test(state(limiter)))
                .blockFirst(ofSeconds(10));
    }

    @Test
    void a_429_heard_by_one_process_closes_the_scope_in_all() {
        RateLimiter a = process(limits(Limit.of(100, ofSeconds(1))));
        RateLimiter b = process(limits(Limit.of(100, ofSeconds(1))));
        Permit refused = one(a, NOW);
        assertThat(grantedOf(3, b)).isEqualTo(3);
        refused.complete(refusal());
        eventually(a, state -> state.contains("closed="));
        assertThatThrownBy(() -> one(b, NOW))
                .isInstanceOfSatisfying(
                        RateLimitedException.class,
                        closed -> assertThat(closed.retryAfter()).isBetween(ofSeconds(80), ofSeconds(101)));
        assertThat(grantedOf(100, a)).isZero();
    }

    @Test
    void only_the_scope_that_the_refusal_is_about_is_closed() {
        RateLimiterSpec spec =
                limits(Limit.of(100, ofSeconds(1))).scope(Scope.by("user").limits(Limit.of(50, ofSeconds(1))));
        RateLimiter a = process(spec);
        RateLimiter b = process(spec);
        one(a, NOW.and("user", "u1")).complete(refusal());
        String closed = "reactor-ratelimit:1:{" + spec.name() + "}:scope:user=u1";
        Flux.interval(ofMillis(10))
                .onBackpressureDrop()
                .publishOn(reactor.core.scheduler.Schedulers.boundedElastic(), 1)
                .filter(tick -> connection.sync().hget(closed, "closed") != null)
                .blockFirst(ofSeconds(10));
        assertThatThrownBy(() -> one(b, NOW.and("user", "u1"))).isInstanceOf(RateLimitedException.class);
        one(b, NOW.and("user", "u2"));
    }

    @Test
    void who_opens_a_scope_opens_it_for_all() {
        RateLimiter a = process(limits(Limit.of(100, ofSeconds(1))));
        RateLimiter b = process(limits(Limit.of(100, ofSeconds(1))));
        a.pause(Demand.one(), ofSeconds(100));
        eventually(a, state -> state.contains("closed="));
        a.resume(Demand.one());
        eventually(a, state -> !state.contains("closed="));
        assertThat(grantedOf(1, b)).isEqualTo(1);
    }

    @Test
    void a_corrected_cost_counts_for_all() {
        Limit tokens = Limit.bucket(1_000, 1, ofSeconds(1_000)).unit("tokens");
        RateLimiter a = process(limits(tokens));
        RateLimiter b = process(limits(tokens));
        Permit estimate = one(a, NOW.cost("tokens", 900));
        assertThatThrownBy(() -> one(b, NOW.cost("tokens", 500))).isInstanceOf(RateLimitedException.class);
        estimate.settle("tokens", 100);
        RateLimiter c = process(limits(tokens));
        Mono.delay(ofMillis(200)).block();
        one(c, NOW.cost("tokens", 900));
        assertThatThrownBy(() -> one(c, NOW.cost("tokens", 50))).isInstanceOf(RateLimitedException.class);
    }

    @Test
    void a_permit_cancelled_before_its_answer_is_given_back() {
        RateLimiter a = process(limits(Limit.of(5, ofMinutes(10))));
        AtomicInteger lost = new AtomicInteger();
        for (int i = 0; i < 50; i++) {
            Disposable asked = a.acquire(NOW).subscribe(permit -> lost.incrementAndGet(), refused -> {});
            asked.dispose();
        }
        // Who was answered before it was cancelled has its permit; all others gave theirs back.
        eventually(a, state -> counted(state) == lost.get());
        assertThat(grantedOf(10, process(limits(Limit.of(5, ofMinutes(10)))))).isEqualTo(5 - lost.get());
    }

    private static long counted(String state) {
        return Pattern.compile("\\d{16} (\\d+)")
                .matcher(state)
                .results()
                .mapToLong(entry -> Long.parseLong(entry.group(1)))
                .sum();
    }

    @Test
    void the_response_head_of_a_call_shortens_its_transit_for_all() {
        RateLimiter a = process(limits(Limit.of(1, ofMinutes(10))));
        AtomicReference<Exchange> exchange = new AtomicReference<>();
        a.calls()
                .exchange(NOW, attempt -> {
                    exchange.set(attempt);
                    return Mono.<String>never();
                })
                .subscribe();
        eventually(a, state -> exchange.get() != null && state.contains("window"));
        long granted = until(a);
        requireNonNull(exchange.get()).sent();
        eventually(a, state -> until(a) < granted - 30_000_000);
        long sent = until(a);
        requireNonNull(exchange.get()).head(200, Headers.of());
        eventually(a, state -> until(a) < sent);
    }

    /** When the only entry of the only window ends, in microseconds. */
    private long until(RateLimiter limiter) {
        return Long.parseLong(state(limiter).replaceAll(".*=(\\d+) \\d+}", "$1"));
    }

    @Test
    void a_holder_that_is_gone_loses_what_it_held_after_its_lease_and_nobody_else_does() { // B57
        Limit two = Limit.inFlight(2);
        RealRedis own = server;
        var crashing = own.client();
        RateLimiter dead = RedisRateLimiter.create(
                RedisSharing.over(crashing.connect()).timeout(ofSeconds(5)).lease(ofMillis(900)), limits(two));
        RateLimiter alive = RedisRateLimiter.create(
                RedisSharing.over(connection).timeout(ofSeconds(5)).lease(ofMillis(900)), limits(two));
        limiters.add(alive);
        one(dead, NOW);
        one(alive, NOW);
        crashing.shutdown(Duration.ZERO, ofSeconds(2));
        one(alive, Demand.one().maxWait(ofSeconds(8)));
        // The living one holds both: nothing is left for a third.
        assertThat(grantedOf(1, process(limits(two)))).isZero();
    }
}
