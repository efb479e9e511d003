package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/**
 * What no limit may be passed by, under load and for long: docs/redis.md has the command.
 * Two processes with 32 callers each share 200 permits per second. Granted is at most what the server's clock gives, and a
 * full bucket more per lost state; nobody hangs, and nothing is left behind.
 */
@Tag("chaos")
class ChaosTest {

    private static final int BURST = 100;
    private static final int PER_SECOND = 200;
    private static final String LOST = "its store is out of order";
    private static final String BACK = "its store answers again";

    private final RealRedis server = new RealRedis();
    private final SwallowingProxy proxy = new SwallowingProxy(server.port());
    private final RedisClient client = RedisClient.create("redis://127.0.0.1:" + proxy.port());
    private final RedisClient directClient = server.client();
    private final LogLines log = new LogLines();
    private List<RateLimiter> limiters = List.of();
    private RedisCommands<String, String> direct = directClient.connect().sync();
    private long startedAt;

    @BeforeEach
    void start() {
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .build());
        RateLimiterSpec spec =
                RateLimiter.named("chaos").limit(Limit.bucket(BURST, PER_SECOND, ofSeconds(1)), Limit.inFlight(40));
        limiters = List.of(process(spec), process(spec));
        startedAt = serverMicros();
    }

    private RateLimiter process(RateLimiterSpec spec) {
        return RedisRateLimiter.create(
                RedisSharing.over(client.connect())
                        .timeout(ofMillis(500))
                        .probe(ofMillis(200))
                        .lease(ofSeconds(3))
                        .failClosed(),
                spec);
    }

    @AfterEach
    void stop() {
        limiters.forEach(RateLimiter::dispose);
        log.close();
        client.shutdown(Duration.ZERO, ofSeconds(2));
        proxy.close();
        server.close();
    }

    private long serverMicros() {
        List<String> time = direct.time();
        return Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1));
    }

    private static void forAWhile(Duration length) {
        Mono.delay(length).block();
    }

    /** Stops the load once more was granted, and looks at what is left. */
    private void endsWell(Load load, int lostStates) {
        long before = load.granted();
        forAWhile(ofSeconds(2));
        load.stop();
        long most = BURST * (1L + lostStates) + (serverMicros() - startedAt) * PER_SECOND / 1_000_000 + 1;
        assertThat(load.granted()).isGreaterThan(before).isLessThanOrEqualTo(most);
        for (RateLimiter limiter : limiters) {
            assertThat(limiter.snapshot().waiting()).isZero();
            assertThat(limiter.snapshot().root().limits().get(1).held()).isZero();
        }
        assertThat(direct.keys("*"))
                .allSatisfy(key -> assertThat(direct.pttl(key)).isPositive());
    }

    @Test
    void a_server_that_is_killed_and_started_again() throws Exception {
        Load load = new Load(limiters, 32);
        forAWhile(ofSeconds(2));
        server.kill();
        log.await(LOST, 1);
        forAWhile(ofSeconds(3));
        server.startAgain();
        log.await(BACK, 1);
        endsWell(load, 1);
    }

    @Test
    void a_server_that_stands_still_for_ten_seconds() throws Exception {
        Load load = new Load(limiters, 32);
        forAWhile(ofSeconds(2));
        server.signal("STOP");
        log.await(LOST, 1);
        forAWhile(ofSeconds(10));
        server.signal("CONT");
        log.await(BACK, 1);
        endsWell(load, 0);
    }

    @Test
    void scripts_that_are_forgotten_again_and_again() {
        Load load = new Load(limiters, 32);
        for (int i = 0; i < 50; i++) {
            direct.scriptFlush();
            forAWhile(ofMillis(50));
        }
        endsWell(load, 0);
        assertThat(log.all()).noneMatch(line -> line.contains("NOSCRIPT"));
    }

    @Test
    void a_state_that_is_lost_again_and_again() {
        Load load = new Load(limiters, 32);
        for (int i = 0; i < 10; i++) {
            forAWhile(ofMillis(500));
            direct.flushall();
        }
        endsWell(load, 10);
    }

    @Test
    void a_connection_that_swallows_what_is_sent_and_one_that_swallows_what_is_answered() {
        Load load = new Load(limiters, 32);
        forAWhile(ofSeconds(1));
        proxy.swallowCalls(true);
        log.await(LOST, 1);
        forAWhile(ofSeconds(5));
        proxy.swallowCalls(false);
        proxy.cut();
        log.await(BACK, 1);
        proxy.swallowReplies(true);
        log.await(LOST, 3);
        forAWhile(ofSeconds(5));
        proxy.swallowReplies(false);
        proxy.cut();
        log.await(BACK, 3);
        endsWell(load, 0);
    }

    @Test
    void connections_that_are_cut_again_and_again() {
        Load load = new Load(limiters, 32);
        for (int i = 0; i < 30; i++) {
            proxy.cut();
            forAWhile(ofMillis(200));
        }
        log.await(BACK);
        endsWell(load, 0);
    }
}
