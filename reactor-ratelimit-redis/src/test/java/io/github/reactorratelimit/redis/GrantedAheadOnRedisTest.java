package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.LimitStore.Ask;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Callers of two processes who ask again as soon as they have got theirs: what a store grants ahead adds up. */
class GrantedAheadOnRedisTest {

    private static final Demand IMPATIENT = Demand.one().maxWait(ofSeconds(2));

    private RealRedis server;
    private WatchedStore store;
    private List<RateLimiter> processes;

    @BeforeEach
    void start() {
        server = new RealRedis();
        store = WatchedStore.grantingAhead(new RedisStore(sharing(), "busy"));
        processes = List.of();
    }

    private void build(int limit) {
        processes = Stream.of(store, new RedisStore(sharing(), "busy"))
                .map(each -> RateLimiter.named("busy")
                        .limit(Limit.of(limit, ofMinutes(30)))
                        .build(each))
                .toList();
    }

    private RedisSharing sharing() {
        return RedisSharing.over(server.connection()).timeout(ofSeconds(10));
    }

    @AfterEach
    void stop() {
        processes.forEach(RateLimiter::dispose);
        server.close();
    }

    private Mono<Void> caller(RateLimiter process, AtomicInteger granted, AtomicBoolean over) {
        return process.acquire(IMPATIENT)
                .doOnNext(permit -> granted.incrementAndGet())
                .repeat(() -> !over.get())
                .onErrorComplete(RateLimitedException.class)
                .then();
    }

    private void run(AtomicInteger granted, AtomicBoolean over) {
        Flux.range(0, 64)
                .flatMap(i -> caller(processes.get(i % 2), granted, over).subscribeOn(Schedulers.boundedElastic()), 64)
                .blockLast(ofSeconds(60));
    }

    private long available() {
        return processes
                .get(0)
                .status(Demand.one())
                .map(state -> state.limits().get(0).available())
                .blockOptional(ofSeconds(10))
                .orElseThrow();
    }

    /** What is kept when the callers are gone comes back soon. */
    private void assertLeft(long expected) {
        Long left = Mono.fromCallable(this::available)
                .subscribeOn(Schedulers.boundedElastic())
                .filter(there -> there == expected)
                .repeatWhenEmpty(again -> again.delayElements(ofMillis(20)))
                .block(ofSeconds(20));
        assertThat(left).isEqualTo(expected);
    }

    @Test
    void callers_who_ask_until_they_are_refused_get_what_the_quota_has_and_no_more() {
        build(60_000);
        AtomicInteger granted = new AtomicInteger();
        run(granted, new AtomicBoolean());
        // Who is refused while another process keeps some for a moment doesn't come back for them.
        assertThat(granted).hasValueBetween(50_000, 60_000);
        assertLeft(60_000 - granted.get());
    }

    private static Stream<Named<Predicate<Ask>>> calls() {
        return Stream.of(
                Named.of("for who waits, and some more", ask -> ask.ahead() > 20),
                Named.of("for nobody who waits", ask -> ask.times() == 0));
    }

    @ParameterizedTest
    @MethodSource("calls")
    void what_was_granted_ahead_and_is_not_wanted_is_there_again(Predicate<Ask> call) {
        build(500_000_000); // It isn't spent before somebody sees it.
        AtomicInteger granted = new AtomicInteger();
        AtomicBoolean over = new AtomicBoolean();
        Mono.fromRunnable(() -> {
                    store.awaitAnswered(batch -> batch.asks().stream().anyMatch(call));
                    over.set(true);
                })
                .subscribeOn(Schedulers.boundedElastic())
                .subscribe();
        run(granted, over);
        assertThat(over).isTrue();
        assertLeft(500_000_000 - granted.get());
    }
}
