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
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What becomes of permits after their grant, as other processes see it. */
class HearingTest {

    private static final Demand NOW = Demand.one().maxWait(Duration.ZERO);

    @RegisterExtension
    static final RealRedis server = new RealRedis();

    private static final StatefulRedisConnection<String, String> connection = server.connection();
    private final List<RateLimiter> limiters = new ArrayList<>();
    private final Map<RateLimiter, WatchedStore> stores = new HashMap<>();

    @AfterEach
    void dispose() {
        limiters.forEach(RateLimiter::dispose);
    }

    private RateLimiter process(RateLimiterSpec spec) {
        return process(spec, RedisSharing.over(connection));
    }

    private RateLimiter process(RateLimiterSpec spec, RedisSharing sharing) {
        WatchedStore store = new WatchedStore(new RedisStore(sharing.timeout(ofSeconds(5)), spec.name()));
        RateLimiter limiter = spec.jitter(0).build(store);
        limiters.add(limiter);
        stores.put(limiter, store);
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

    private String state(RateLimiter limiter) {
        Map<String, String> all = connection
                .sync()
                .hgetall("reactor-ratelimit:1:{" + limiter.spec().name() + "}:scope");
        all.remove("ends");
        return String.valueOf(all);
    }

    /** Until Redis has been told something that makes its state so. */
    private void told(RateLimiter limiter, Predicate<String> state) {
        requireNonNull(stores.get(limiter)).awaitAnswered(batch -> state.test(state(limiter)));
    }

    /** When what is counted was granted, in microseconds: in one batch, or in several. */
    private static Set<String> times(String state) {
        return Pattern.compile("\\d{16}")
                .matcher(state)
                .results()
                .map(MatchResult::group)
                .collect(Collectors.toSet());
    }

    @Test
    void a_429_heard_by_one_process_closes_the_scope_in_all() {
        RateLimiter a = process(limits(Limit.of(100, ofSeconds(1))));
        RateLimiter b = process(limits(Limit.of(100, ofSeconds(1))));
        Permit refused = one(a, NOW);
        assertThat(grantedOf(3, b)).isEqualTo(3);
        refused.complete(refusal());
        told(a, state -> state.contains("closed="));
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
        told(a, root -> connection.sync().hget(closed, "closed") != null);
        assertThatThrownBy(() -> one(b, NOW.and("user", "u1"))).isInstanceOf(RateLimitedException.class);
        one(b, NOW.and("user", "u2"));
    }

    @Test
    void a_learned_quota_that_one_process_hears_to_be_empty_is_closed_for_all() {
        RateLimiter a = process(limits().learn());
        RateLimiter b = process(limits().learn());
        Quota empty = new Quota("", "requests", 5, 0, -1, ofSeconds(100), null, null, false);
        one(a, NOW)
                .complete(RateLimitSignal.of(200)
                        .quotas(List.of(empty))
                        .delay(ofSeconds(100))
                        .build());
        told(a, state -> state.contains("closed="));
        assertThatThrownBy(() -> one(b, NOW)).isInstanceOf(RateLimitedException.class);
    }

    @Test
    void who_opens_a_scope_opens_it_for_all() {
        RateLimiter a = process(limits(Limit.of(100, ofSeconds(1))));
        RateLimiter b = process(limits(Limit.of(100, ofSeconds(1))));
        a.pause(Demand.one(), ofSeconds(100));
        told(a, state -> state.contains("closed="));
        a.resume(Demand.one());
        told(a, state -> !state.contains("closed="));
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
        requireNonNull(stores.get(a))
                .awaitAnswered(batch -> !batch.corrections().isEmpty());
        RateLimiter c = process(limits(tokens));
        one(c, NOW.cost("tokens", 900));
        assertThatThrownBy(() -> one(c, NOW.cost("tokens", 50))).isInstanceOf(RateLimitedException.class);
    }

    @Test
    void a_cost_that_is_corrected_after_the_release_counts_for_all_too() {
        Limit tokens = Limit.of(1_000, ofMinutes(10)).unit("tokens");
        RateLimiter a = process(limits(tokens));
        List<Permit> three = requireNonNull(Flux.range(0, 3)
                .flatMap(i -> a.acquire(NOW.cost("tokens", 300)))
                .collectList()
                .block(ofSeconds(10)));
        Permit first = three.get(0);
        first.release();
        first.settle("tokens", 100);
        told(a, state -> counted(state) == 700);
        RateLimiter b = process(limits(tokens));
        assertThatThrownBy(() -> one(b, NOW.cost("tokens", 301))).isInstanceOf(RateLimitedException.class);
        one(b, NOW.cost("tokens", 300));
    }

    @Test
    void a_cost_that_is_corrected_by_the_response_head_itself_takes_nothing_from_the_others() {
        RateLimiter a = process(limits(Limit.of(10, ofMinutes(10))).dialect(Dialects.gitHub()));
        List<Exchange> exchanges = new CopyOnWriteArrayList<>();
        Flux.range(0, 3)
                .flatMap(i -> a.calls().exchange(NOW.cost(2), attempt -> {
                    exchanges.add(attempt);
                    return Mono.<String>never();
                }))
                .subscribe();
        told(a, state -> counted(state) == 6 && exchanges.size() == 3);
        Set<String> granted = times(state(a));
        // Not counted by the server: nothing of it moves to the earlier time that it would count from now.
        exchanges.get(0).head(304, Headers.of("X-RateLimit-Limit", "5000"));
        told(a, state -> counted(state) == 4 && granted.containsAll(times(state)));
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
        told(a, state -> counted(state) == lost.get());
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
        told(a, state -> exchange.get() != null && state.contains("window"));
        long granted = until(a);
        requireNonNull(exchange.get()).sent();
        told(a, state -> until(a) < granted - 30_000_000);
        long sent = until(a);
        requireNonNull(exchange.get()).head(200, Headers.of());
        told(a, state -> until(a) < sent);
    }

    /** When the only entry of the only window ends, in microseconds. */
    private long until(RateLimiter limiter) {
        return Long.parseLong(state(limiter).replaceAll(".*=(\\d+) \\d+}", "$1"));
    }

    @Test
    void a_holder_that_is_gone_loses_what_it_held_after_its_lease_and_nobody_else_does() { // B57
        Limit two = Limit.inFlight(2);
        RedisSharing brief = RedisSharing.over(connection).lease(ofMillis(900));
        var crashing = server.client();
        RateLimiter dead = RedisRateLimiter.create(
                RedisSharing.over(crashing.connect()).timeout(ofSeconds(5)).lease(ofMillis(900)), limits(two));
        RateLimiter alive = process(limits(two), brief);
        one(dead, NOW);
        one(alive, NOW);
        crashing.shutdown(Duration.ZERO, ofSeconds(2));
        dead.dispose();
        one(alive, Demand.one().maxWait(ofSeconds(8)));
        // The living one holds both: nothing is left for a third.
        assertThat(grantedOf(1, process(limits(two)))).isZero();
    }
}
