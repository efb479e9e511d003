package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.Scope;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import redis.embedded.RedisShardedCluster;
import redis.embedded.core.RedisServerBuilder;

/** Three masters, each with a part of the slots. */
class ClusterTest {

    private static final Demand NOW = Demand.one().maxWait(Duration.ZERO);

    private static RedisShardedCluster cluster;
    private static RedisClusterClient client;

    @BeforeAll
    static void start() throws IOException {
        // A cluster's nodes have a second port, 10,000 above the first.
        List<Integer> ports = Flux.<Integer>generate(sink -> sink.next(RealRedis.freePort()))
                .filter(port -> port < 55_000)
                .distinct()
                .take(3)
                .collectList()
                .block();
        cluster = RedisShardedCluster.newRedisCluster()
                .withServerBuilder(new RedisServerBuilder().setting("save \"\"").setting("bind 127.0.0.1"))
                .serverPorts(ports)
                .shard("one", 0)
                .shard("two", 0)
                .shard("three", 0)
                .build();
        cluster.start();
        client = RedisClusterClient.create(
                "redis://127.0.0.1:" + requireNonNull(ports).get(0));
        StatefulRedisClusterConnection<String, String> nodes = client.connect();
        // Nodes that have just met serve nobody until they have heard of all slots.
        Flux.interval(Duration.ofMillis(50))
                .onBackpressureDrop()
                .publishOn(Schedulers.boundedElastic(), 1)
                .filter(tick -> ports.stream()
                        .allMatch(port -> nodes.getConnection("127.0.0.1", port)
                                .sync()
                                .clusterInfo()
                                .contains("cluster_state:ok")))
                .blockFirst(ofSeconds(60));
    }

    /** A failure is to be heard of. */
    private static RateLimiter limiter(RateLimiterSpec spec) {
        return RedisRateLimiter.create(
                RedisSharing.over(client.connect()).timeout(ofSeconds(5)).failClosed(), spec);
    }

    @AfterAll
    static void stop() throws IOException {
        client.shutdown(Duration.ZERO, ofSeconds(2));
        cluster.stop();
    }

    private static int grantedOf(int calls, RateLimiter limiter, String user) {
        AtomicInteger granted = new AtomicInteger();
        Flux.range(0, calls)
                .flatMap(
                        i -> limiter.acquire(NOW.and("user", user))
                                .doOnNext(permit -> granted.incrementAndGet())
                                .onErrorResume(RateLimitedException.class, refused -> Mono.empty()),
                        calls)
                .blockLast(ofSeconds(20));
        return granted.get();
    }

    private static RateLimiterSpec spec(String name) {
        return RateLimiter.named(name)
                .limit(Limit.of(10, ofMinutes(10)))
                .scope(Scope.by("user").limits(Limit.of(6, ofMinutes(10))));
    }

    @Test
    void limiters_on_all_nodes_keep_their_limits_whatever_their_keys_contain() { // B32
        for (String name : List.of("a", "b", "c", "d", "e", "{f}", "g h")) {
            RateLimiter one = limiter(spec(name));
            RateLimiter other = limiter(spec(name));
            assertThat(grantedOf(10, one, "{x}1")).isEqualTo(6);
            assertThat(grantedOf(10, other, "{x}1")).isZero();
            assertThat(grantedOf(10, other, "{y} 2")).isEqualTo(4);
        }
    }

    @Test
    void a_node_that_does_not_know_the_script_is_sent_it() { // B31
        RateLimiter limiter = limiter(spec("script"));
        assertThat(grantedOf(1, limiter, "u")).isEqualTo(1);
        client.connect().sync().scriptFlush();
        assertThat(grantedOf(10, limiter, "u")).isEqualTo(5);
    }
}
