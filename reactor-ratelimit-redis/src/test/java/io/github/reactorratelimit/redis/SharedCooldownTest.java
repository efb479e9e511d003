package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Exchange;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Refusals as two processes hear them, on a real server that is told the virtual time. */
class SharedCooldownTest {

    private static final long T = 1_800_000_000_000_000L;
    private static final RateLimitSignal REFUSAL =
            RateLimitSignal.of(429).throttled(true).build();
    private static final RateLimitSignal CLEAN = RateLimitSignal.of(200).build();

    @RegisterExtension
    static final RealRedis server = new RealRedis();

    private static final StatefulRedisConnection<String, String> connection = server.connection();
    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<Peer> peers = new ArrayList<>();

    @AfterEach
    void dispose() {
        peers.forEach(peer -> peer.limiter.dispose());
    }

    private record Peer(RateLimiter limiter, HeldStore held, WatchedStore store) {

        Decision ask() {
            return requireNonNull(limiter.ask(Demand.one()).block(ofSeconds(10)));
        }

        Permit one() {
            Decision decision = ask();
            assertThat(decision.allowed()).as(decision.toString()).isTrue();
            return decision.permit();
        }

        List<Permit> asManyAsGo() {
            List<Permit> permits = new ArrayList<>();
            for (Decision next = ask(); next.allowed(); next = ask()) {
                permits.add(next.permit());
            }
            return permits;
        }

        /** Hears it, and waits until Redis was told something of that kind after what it was told so far. */
        void complete(Permit permit, RateLimitSignal signal, Predicate<Batch> told) {
            long before = store.latest();
            permit.complete(signal);
            store.awaitAnswered(batch -> batch.number() > before && told.test(batch));
        }

        void refused(Permit permit) {
            complete(
                    permit,
                    REFUSAL,
                    batch -> batch.closings().stream().anyMatch(closing -> closing.refusedNanos() > 0));
        }

        void answered(Permit permit) {
            complete(permit, CLEAN, batch -> batch.ramps().stream().anyMatch(ramp -> ramp.clean() > 0));
        }

        ScopeState status() {
            return requireNonNull(limiter.status(Demand.one()).block(ofSeconds(10)));
        }
    }

    private Peer peer(Limit... limits) {
        RateLimiterSpec spec = RateLimiter.named("cooldown-" + System.identityHashCode(this))
                .limit(limits)
                .jitter(0)
                .scheduler(() -> time);
        RedisSharing sharing = RedisSharing.over(connection).timeout(ofHours(1)).lease(ofHours(1));
        HeldStore held = new HeldStore(new RedisStore(sharing, spec.name(), () -> T + time.now(TimeUnit.MICROSECONDS)));
        WatchedStore store = new WatchedStore(held);
        Peer peer = new Peer(spec.build(store), held, store);
        peers.add(peer);
        return peer;
    }

    @Test
    void refusals_of_calls_that_were_under_way_are_one_wave_whoever_hears_them() {
        Peer a = peer(Limit.bucket(100, 100, ofSeconds(1)));
        Peer b = peer(Limit.bucket(100, 100, ofSeconds(1)));
        Permit one = a.one();
        Permit other = b.one();
        time.advanceTimeBy(Duration.ofMillis(30));
        a.refused(one);
        b.refused(other);
        assertThat(a.status().waves()).isEqualTo(1);
        assertThat(b.status().closedFor()).isEqualTo(ofSeconds(1));
    }

    @Test
    void a_window_that_is_full_of_calls_under_way_is_asked_for_again_after_a_period() {
        Peer a = peer(Limit.of(1, ofSeconds(10)));
        Peer b = peer(Limit.of(1, ofSeconds(10)));
        CompletableFuture<Exchange> sent = new CompletableFuture<>();
        Disposable call = a.limiter
                .calls()
                .exchange(Demand.one(), exchange -> {
                    sent.complete(exchange);
                    return Mono.never();
                })
                .subscribe();
        Exchange exchange = sent.orTimeout(10, TimeUnit.SECONDS).join();
        exchange.sent();
        CompletableFuture<Permit> next = b.limiter.acquire(Demand.one()).toFuture();
        b.store.awaitAnswered(batch -> !batch.asks().isEmpty());
        b.status(); // What was answered before is heard then.
        exchange.head(200, Headers.of());
        a.store.awaitAnswered(
                batch -> batch.number() > 1 && !batch.corrections().isEmpty());
        time.advanceTimeBy(ofSeconds(10));
        for (int i = 0; i < 100 && !next.isDone(); i++) {
            time.advanceTimeBy(Duration.ofMillis(10));
            b.status();
        }
        assertThat(next).isCompleted();
        call.dispose();
    }

    @Test
    void waves_escalate_once_for_all() {
        Peer a = peer(Limit.bucket(100, 100, ofSeconds(1)));
        Peer b = peer(Limit.bucket(100, 100, ofSeconds(1)));
        a.refused(a.one());
        for (int wave = 2; wave <= 5; wave++) {
            Peer next = wave % 2 == 0 ? b : a;
            time.advanceTimeBy(next.status().closedFor());
            next.refused(next.one());
            assertThat(a.status().waves()).isEqualTo(wave);
            assertThat(a.status().closedFor()).isEqualTo(ofSeconds(1L << (wave - 1)));
        }
    }

    @Test
    void when_it_opens_one_probe_goes_out_of_all_processes_then_two_then_four() {
        Peer a = peer(Limit.bucket(100, 100, ofSeconds(1)));
        Peer b = peer(Limit.bucket(100, 100, ofSeconds(1)));
        a.refused(a.one());
        assertThat(b.ask().retryAfter()).isEqualTo(ofSeconds(1));
        time.advanceTimeBy(ofSeconds(1));
        Permit probe = b.one();
        assertThat(a.asManyAsGo()).isEmpty();
        b.answered(probe);
        again();
        List<Permit> two = a.asManyAsGo();
        assertThat(two).hasSize(2);
        assertThat(b.asManyAsGo()).isEmpty();
        two.forEach(a::answered);
        again();
        assertThat(b.asManyAsGo()).hasSize(4);
    }

    @Test
    void while_a_probe_is_out_nothing_is_told_that_is_not_news() {
        Peer a = peer(Limit.bucket(100, 100, ofSeconds(1)));
        a.refused(a.one());
        time.advanceTimeBy(ofSeconds(1));
        Permit probe = a.one();
        a.status(); // What follows the grant is under way before it.
        long before = a.store.latest();
        for (int i = 0; i < 50; i++) {
            a.status();
        }
        assertThat(a.store.latest()).isBetween(before, before + 1);
        probe.release();
    }

    @Test
    void a_probe_that_nobody_waits_for_any_more_is_free_for_the_others() {
        Peer a = peer(Limit.bucket(100, 100, ofSeconds(1)));
        Peer b = peer(Limit.bucket(100, 100, ofSeconds(1)));
        a.refused(a.one());
        assertThat(b.ask().retryAfter()).isEqualTo(ofSeconds(1));
        time.advanceTimeBy(ofSeconds(1));
        long before = a.store.latest();
        a.held.hold();
        a.limiter.ask(Demand.one()).subscribe().dispose();
        a.held.letGo();
        a.store.awaitAnswered(batch -> batch.number() == before + 2);
        assertThat(b.asManyAsGo()).hasSize(1);
    }

    /** What isn't a matter of time is asked for again only after a while. */
    private void again() {
        time.advanceTimeBy(Duration.ofMillis(50));
    }

    @Test
    void a_usage_figure_that_one_is_told_slows_all_down_and_a_lower_one_ends_it() {
        Peer a = peer(Limit.inFlight(8));
        Peer b = peer(Limit.inFlight(8));
        Permit told = a.one();
        a.complete(
                told,
                RateLimitSignal.of(200).usage(1.0).build(),
                batch -> batch.ramps().stream().anyMatch(ramp -> ramp.usagePerMille() > 0));
        // With its first permit it hears of the figure, and is told one like it.
        b.complete(b.one(), RateLimitSignal.of(200).usage(1.0).build(), batch -> true);
        assertThat(b.asManyAsGo()).hasSize(1);
    }
}
