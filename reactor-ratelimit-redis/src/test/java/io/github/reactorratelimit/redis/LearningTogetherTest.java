package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Processes that know of a server's quota from its responses only, on a real Redis that is told the virtual time. */
class LearningTogetherTest {

    private static final long T = 1_800_000_000_000_000L;

    @RegisterExtension
    static final RealRedis server = new RealRedis();

    private static final StatefulRedisConnection<String, String> connection = server.connection();
    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<Peer> peers = new ArrayList<>();
    private final FarQuota far = new FarQuota();

    @AfterEach
    void dispose() {
        peers.forEach(peer -> peer.limiter.dispose());
    }

    /** Ten calls per hundred seconds, counted as they come in. */
    private final class FarQuota {

        private long begun = -100;
        private int used;

        RateLimitSignal call(int cost) {
            long now = time.now(TimeUnit.SECONDS);
            if (now >= begun + 100) {
                begun = now;
                used = 0;
            }
            used += cost;
            assertThat(used).as("calls in one window").isLessThanOrEqualTo(10);
            Quota quota = new Quota("", "requests", 10, 10 - used, -1, ofSeconds(begun + 100 - now), null, null, false);
            return RateLimitSignal.of(200).quotas(List.of(quota)).build();
        }
    }

    private record Peer(RateLimiter limiter, WatchedStore store) {

        Decision ask() {
            return requireNonNull(limiter.ask(Demand.one()).block(ofSeconds(10)));
        }

        List<Permit> asManyAsGo() {
            List<Permit> permits = new ArrayList<>();
            for (Decision next = ask(); next.allowed() && permits.size() < 50; next = ask()) {
                permits.add(next.permit());
            }
            return permits;
        }

        /** Hears it, and waits until Redis was told. */
        void complete(Permit permit, RateLimitSignal signal) {
            long before = store.latest();
            permit.complete(signal);
            store.awaitAnswered(
                    batch -> batch.number() > before && !batch.words().isEmpty());
        }
    }

    private Peer peer() {
        RateLimiterSpec spec = RateLimiter.named("learning-" + System.identityHashCode(this))
                .learn()
                .jitter(0)
                .scheduler(() -> time);
        RedisSharing sharing = RedisSharing.over(connection).timeout(ofHours(1)).lease(ofHours(1));
        WatchedStore store =
                new WatchedStore(new RedisStore(sharing, spec.name(), () -> T + time.now(TimeUnit.MICROSECONDS)));
        Peer peer = new Peer(spec.build(store), store);
        peers.add(peer);
        return peer;
    }

    @Test
    void what_one_learned_all_take_from_together() {
        Peer a = peer();
        Peer b = peer();
        Permit first = a.ask().permit();
        Permit second = b.ask().permit();
        a.complete(first, far.call(1));
        b.complete(second, far.call(1));
        int granted = a.asManyAsGo().size() + b.asManyAsGo().size();
        assertThat(granted).isEqualTo(8);
        assertThat(peer().ask().allowed()).as("one that never had an answer").isFalse();
    }

    @Test
    void one_that_learned_nothing_yet_waits_for_the_reset_that_another_was_told() {
        Peer a = peer();
        a.complete(a.ask().permit(), far.call(10));
        Peer b = peer();
        assertThat(b.ask().retryAfter()).isBetween(ofSeconds(99), ofSeconds(101));
    }

    @Test
    void what_is_given_back_is_there_for_the_others() {
        Peer a = peer();
        Peer b = peer();
        a.complete(a.ask().permit(), far.call(1));
        List<Permit> nine = a.asManyAsGo();
        assertThat(nine).hasSize(9);
        assertThat(b.ask().allowed()).isFalse();
        long before = a.store.latest();
        nine.get(0).settle("requests", 0);
        a.store.awaitAnswered(batch -> batch.number() > before);
        assertThat(peer().ask().allowed()).isTrue();
    }

    @RepeatedTest(8)
    void however_they_take_turns_no_window_is_overrun(RepetitionInfo seed) {
        List<Peer> three = List.of(peer(), peer(), peer());
        List<Deque<Permit>> out = List.of(new ArrayDeque<>(), new ArrayDeque<>(), new ArrayDeque<>());
        Random random = new Random(seed.getCurrentRepetition());
        int answered = 0;
        for (int i = 0; i < 400; i++) {
            int who = random.nextInt(3);
            if (!out.get(who).isEmpty() && random.nextInt(3) > 0) {
                three.get(who).complete(out.get(who).remove(), far.call(1));
                answered++;
            } else {
                Decision decision = three.get(who).ask();
                if (decision.allowed()) {
                    out.get(who).add(decision.permit());
                } else if (out.stream().allMatch(Deque::isEmpty)) {
                    time.advanceTimeBy(ofSeconds(1 + random.nextInt(30)));
                }
            }
        }
        assertThat(answered).isGreaterThan(30);
    }
}
