package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.LimiterUnavailableException;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What happens while Redis is out of order, and afterwards. */
class OutageTest {

    private static final Demand NOW = Demand.one().maxWait(Duration.ZERO);

    private final RealRedis server = new RealRedis();
    private final SwallowingProxy proxy = new SwallowingProxy(server.port());
    private final RedisClient client = RedisClient.create("redis://127.0.0.1:" + proxy.port());
    private final RedisCommands<String, String> direct = server.connection().sync();

    @BeforeEach
    void rejectWhileDisconnected() {
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .build());
    }

    @AfterEach
    void stop() {
        log.close();
        client.shutdown(Duration.ZERO, ofSeconds(2));
        proxy.close();
        server.close();
    }

    private static final String LOST = "its store is out of order";
    private static final String BACK = "its store answers again";

    private final LogLines log = new LogLines();

    private RedisSharing sharing() {
        return RedisSharing.over(client.connect()).timeout(ofSeconds(5)).probe(ofMillis(100));
    }

    /** For those who wait until a call is lost; long enough for a busy machine to answer all others. */
    private RedisSharing brief() {
        return sharing().timeout(ofSeconds(1));
    }

    private static RateLimiterSpec limits(Limit... limits) {
        return RateLimiter.named("outage").limit(limits);
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

    private static void failsAsUnavailable(RateLimiter limiter) {
        assertThatThrownBy(() -> limiter.acquire(NOW).block(ofSeconds(10)))
                .isInstanceOf(LimiterUnavailableException.class);
    }

    @Test
    void failing_open_each_process_goes_on_with_its_part_of_the_limit() { // B30
        RateLimiter limiter = RedisRateLimiter.create(brief().failOpen(4), limits(Limit.of(40, ofMinutes(10))));
        proxy.swallowCalls(true);
        assertThat(grantedOf(100, limiter)).isEqualTo(10);
        assertThat(grantedOf(100, limiter)).isZero();
    }

    @Test
    void failing_closed_demands_fail_with_the_reason() { // B30
        RateLimiter limiter = RedisRateLimiter.create(brief().failClosed(), limits(Limit.of(40, ofMinutes(10))));
        proxy.swallowCalls(true);
        assertThatThrownBy(() -> limiter.acquire(Demand.one()).block(ofSeconds(10)))
                .isInstanceOf(LimiterUnavailableException.class)
                .hasMessageContaining("did not answer within PT1S");
        failsAsUnavailable(limiter);
    }

    @Test
    void once_tripped_a_thousand_demands_cause_no_calls_but_probes() { // B30
        RateLimiter limiter =
                RedisRateLimiter.create(brief().failClosed().probe(ofMinutes(10)), limits(Limit.of(40, ofMinutes(10))));
        proxy.swallowCalls(true);
        failsAsUnavailable(limiter);
        proxy.swallowCalls(false);
        for (int i = 0; i < 1_000; i++) {
            failsAsUnavailable(limiter);
        }
        assertThat(direct.keys("*")).isEmpty();
    }

    @Test
    void recovery_is_noticed_and_the_whole_limit_shared_again() {
        RateLimiter limiter = RedisRateLimiter.create(brief().failOpen(4), limits(Limit.of(40, ofMinutes(10))));
        proxy.swallowCalls(true);
        assertThat(grantedOf(100, limiter)).isEqualTo(10);
        proxy.swallowCalls(false);
        proxy.cut();
        log.await(BACK);
        assertThat(grantedOf(100, limiter)).isEqualTo(30);
    }

    @Test
    void a_lost_reply_counts_as_spent() {
        RateLimiter limiter = RedisRateLimiter.create(brief().failClosed(), limits(Limit.of(5, ofMinutes(10))));
        assertThat(grantedOf(1, limiter)).isEqualTo(1);
        proxy.swallowReplies(true);
        failsAsUnavailable(limiter);
        proxy.swallowReplies(false);
        proxy.cut();
        log.await(BACK);
        assertThat(grantedOf(10, limiter)).isEqualTo(3);
    }

    @Test
    void a_server_that_stands_still_and_goes_on_takes_no_permits_for_those_who_have_gone() throws Exception { // B30
        WatchedStore store = new WatchedStore(new RedisStore(brief().failClosed(), "outage"));
        RateLimiter limiter = limits(Limit.of(5, ofMinutes(10))).build(store);
        assertThat(grantedOf(1, limiter)).isEqualTo(1);
        server.signal("STOP");
        failsAsUnavailable(limiter);
        // A probe was lost too: by then the call that asked for a permit has expired in the server's queue.
        store.awaitLost(batch -> batch.asks().isEmpty());
        server.signal("CONT");
        log.await(BACK);
        assertThat(grantedOf(10, limiter)).isEqualTo(4);
    }

    @Test
    void a_server_that_is_killed_and_comes_back_empty_is_a_full_limit_at_most() {
        RateLimiter limiter = RedisRateLimiter.create(sharing().failOpen(5), limits(Limit.of(10, ofMinutes(10))));
        assertThat(grantedOf(20, limiter)).isEqualTo(10);
        server.restart();
        AtomicInteger more = new AtomicInteger();
        RateLimiter other = RedisRateLimiter.create(
                RedisSharing.over(server.connection()).timeout(ofSeconds(5)), limits(Limit.of(10, ofMinutes(10))));
        assertThat(grantedOf(20, other)).isEqualTo(10);
        // This one's own books remember what it had.
        more.addAndGet(grantedOf(20, limiter));
        assertThat(more).hasValue(0);
    }

    @Test
    void waiting_demands_are_neither_lost_nor_left_behind() {
        RateLimiter limiter = RedisRateLimiter.create(brief().failOpen(1), limits(Limit.bucket(1, 100, ofSeconds(1))));
        AtomicInteger granted = new AtomicInteger();
        Flux<Permit> grants = Flux.range(0, 100)
                .flatMap(i -> limiter.acquire(Demand.one()).doOnNext(permit -> granted.incrementAndGet()), 100)
                .replay()
                .autoConnect();
        Mono<Void> six = grants.take(6).then();
        Mono<Void> all = grants.then();
        six.block(ofSeconds(10));
        proxy.swallowReplies(true);
        log.await(LOST);
        proxy.swallowReplies(false);
        proxy.cut();
        all.block(ofSeconds(20));
        assertThat(granted).hasValue(100);
    }

    @Test
    void a_key_of_another_type_is_an_outage_that_says_so() {
        direct.set("reactor-ratelimit:1:{outage}:scope", "x");
        RateLimiter limiter = RedisRateLimiter.create(sharing().failClosed(), limits(Limit.of(5, ofMinutes(10))));
        assertThatThrownBy(() -> limiter.acquire(NOW).block(ofSeconds(10)))
                .isInstanceOf(LimiterUnavailableException.class)
                .hasMessageContaining("choose another prefix")
                .hasMessageContaining("WRONGTYPE");
        direct.del("reactor-ratelimit:1:{outage}:scope");
        log.await(BACK);
        assertThat(grantedOf(10, limiter)).isEqualTo(5);
    }

    @Test
    void a_server_without_memory_is_an_outage_that_says_so() {
        RateLimiter limiter = RedisRateLimiter.create(sharing().failClosed(), limits(Limit.of(5, ofMinutes(10))));
        direct.configSet("maxmemory", "1");
        assertThatThrownBy(() -> limiter.acquire(NOW).block(ofSeconds(10)))
                .isInstanceOf(LimiterUnavailableException.class)
                .hasMessageContaining("raise maxmemory");
    }

    @Test
    void a_replica_is_an_outage_that_says_so() {
        RateLimiter limiter = RedisRateLimiter.create(sharing().failClosed(), limits(Limit.of(5, ofMinutes(10))));
        direct.replicaof("127.0.0.1", RealRedis.freePort());
        assertThatThrownBy(() -> limiter.acquire(NOW).block(ofSeconds(10)))
                .isInstanceOf(LimiterUnavailableException.class)
                .hasMessageContaining("connect to the master");
    }

    @Test
    void a_user_without_the_right_is_told_which_page_to_read() {
        RateLimiter limiter = RedisRateLimiter.create(sharing().failClosed(), limits(Limit.of(5, ofMinutes(10))));
        direct.aclSetuser("default", AclSetuserArgs.Builder.removeCommand(CommandType.EVALSHA));
        assertThatThrownBy(() -> limiter.acquire(NOW).block(ofSeconds(10)))
                .isInstanceOf(LimiterUnavailableException.class)
                .hasMessageContaining("ACL");
    }

    @Test
    void the_rights_that_the_documentation_names_are_enough() throws IOException {
        String[] words = Files.readString(Path.of("../docs/redis.md"))
                .lines()
                .filter(line -> line.startsWith("ACL SETUSER"))
                .findFirst()
                .orElseThrow()
                .split(" ");
        CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8);
        for (String word : List.of(words).subList(1, words.length)) {
            arguments.add(word);
        }
        direct.dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8), arguments);
        RedisURI uri = RedisURI.Builder.redis("127.0.0.1", server.port())
                .withAuthentication("limiter", "secret")
                .build();
        RedisSharing sharing =
                RedisSharing.over(client.connect(StringCodec.UTF8, uri)).timeout(ofSeconds(5));
        RateLimiter limiter = RedisRateLimiter.create(
                sharing.failClosed(), limits(Limit.of(5, ofMinutes(10)), Limit.total(9), Limit.inFlight(5)));
        assertThat(grantedOf(9, limiter)).isEqualTo(5);
        direct.scriptFlush();
        limiter.reset(Demand.one()).block(ofSeconds(10));
        assertThat(limiter.status(Demand.one()).block(ofSeconds(10))).isNotNull();
        assertThat(grantedOf(9, limiter)).isEqualTo(5);
    }

    @Test
    void nothing_is_left_behind_but_keys_that_end() {
        RateLimiter limiter = RedisRateLimiter.create(sharing(), limits(Limit.of(5, ofSeconds(1))));
        assertThat(grantedOf(5, limiter)).isEqualTo(5);
        List<String> keys = direct.keys("*");
        assertThat(keys)
                .hasSize(2)
                .allSatisfy(key -> assertThat(direct.pttl(key)).isPositive());
    }

    @Test
    void a_key_of_another_version_is_left_alone() {
        direct.set("reactor-ratelimit:2:{outage}:scope", "x");
        RateLimiter limiter = RedisRateLimiter.create(sharing().failClosed(), limits(Limit.of(5, ofMinutes(10))));
        assertThat(grantedOf(9, limiter)).isEqualTo(5);
        assertThat(direct.get("reactor-ratelimit:2:{outage}:scope")).isEqualTo("x");
    }

    @Test
    void a_state_that_is_lost_is_a_full_limit_once() {
        RateLimiter first = RedisRateLimiter.create(sharing().failClosed(), limits(Limit.of(5, ofMinutes(10))));
        RateLimiter second = RedisRateLimiter.create(sharing().failClosed(), limits(Limit.of(5, ofMinutes(10))));
        assertThat(grantedOf(9, first)).isEqualTo(5);
        direct.flushall();
        assertThat(grantedOf(9, second)).isEqualTo(5);
        assertThat(grantedOf(9, first)).isZero();
    }

    @Test
    void a_state_stamped_five_seconds_in_the_future_takes_no_more_than_five_seconds_longer() { // B35
        List<String> time = direct.time();
        long future = (Long.parseLong(time.get(0)) + 5) * 1_000_000;
        direct.hset("reactor-ratelimit:1:{outage}:scope", "bucket:requests:1000000+0/1", future + " 0");
        RateLimiter limiter = RedisRateLimiter.create(sharing().failClosed(), limits(Limit.bucket(1, 1, ofSeconds(1))));
        assertThatThrownBy(() -> limiter.acquire(NOW).block(ofSeconds(10)))
                .isInstanceOfSatisfying(
                        RateLimitedException.class,
                        refused -> assertThat(refused.retryAfter()).isBetween(ofSeconds(2), ofSeconds(6)));
    }

    @Test
    void local_clocks_that_jump_by_half_a_minute_change_nothing() { // B35
        ShiftedScheduler fast = new ShiftedScheduler();
        ShiftedScheduler slow = new ShiftedScheduler();
        RateLimiter first = RedisRateLimiter.create(
                sharing().failClosed(), limits(Limit.of(10, ofSeconds(40))).scheduler(() -> fast));
        RateLimiter second = RedisRateLimiter.create(
                sharing().failClosed(), limits(Limit.of(10, ofSeconds(40))).scheduler(() -> slow));
        assertThat(grantedOf(2, first) + grantedOf(2, second)).isEqualTo(4);
        fast.shift(ofSeconds(30));
        slow.shift(ofSeconds(-30));
        assertThat(grantedOf(3, first) + grantedOf(3, second)).isEqualTo(6);
        fast.shift(ofSeconds(30));
        slow.shift(ofSeconds(-30));
        assertThat(grantedOf(5, first) + grantedOf(5, second)).isZero();
    }
}
