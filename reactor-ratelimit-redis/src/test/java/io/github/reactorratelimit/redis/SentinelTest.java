package io.github.reactorratelimit.redis;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.LimiterUnavailableException;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import redis.embedded.Redis;
import redis.embedded.RedisCluster;
import redis.embedded.core.RedisSentinelBuilder;

/** A master, a replica and a sentinel. */
class SentinelTest {

    private static final Demand NOW = Demand.one().maxWait(Duration.ZERO);

    private final LogLines log = new LogLines();
    private final RedisCluster servers;
    private final RedisClient client;

    SentinelTest() throws IOException {
        servers = RedisCluster.newRedisCluster()
                .withSentinelBuilder(new RedisSentinelBuilder()
                        .bind("127.0.0.1")
                        .downAfterMilliseconds(500)
                        .failOverTimeout(2_000))
                .ephemeral()
                .sentinelCount(1)
                .quorumSize(1)
                .replicationGroup("group", 1)
                .build();
        servers.start();
        client = RedisClient.create(
                RedisURI.Builder.sentinel("127.0.0.1", servers.sentinelPorts().get(0), "group")
                        .build());
        client.setOptions(ClientOptions.builder()
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .build());
    }

    @AfterEach
    void stop() throws IOException {
        log.close();
        client.shutdown(Duration.ZERO, ofSeconds(2));
        servers.stop();
    }

    private static int grantedOf(int calls, RateLimiter limiter) {
        AtomicInteger granted = new AtomicInteger();
        Flux.range(0, calls)
                .flatMap(
                        i -> limiter.acquire(NOW)
                                .doOnNext(permit -> granted.incrementAndGet())
                                .onErrorResume(RateLimitedException.class, refused -> Mono.empty())
                                .onErrorResume(LimiterUnavailableException.class, refused -> Mono.empty()),
                        calls)
                .blockLast(ofSeconds(20));
        return granted.get();
    }

    /** Once the sentinel knows the replica that is to take its place, and that has all that was written. */
    private void stopMaster() throws IOException {
        try (StatefulRedisPubSubConnection<String, String> events = sentinelEvents();
                StatefulRedisSentinelConnection<String, String> sentinel = client.connectSentinel();
                StatefulRedisConnection<String, String> master = client.connect()) {
            Mono<Object> found = events.reactive()
                    .observeChannels()
                    .filter(event -> event.getChannel().equals("+slave"))
                    .cast(Object.class)
                    .next()
                    .cache();
            found.subscribe();
            events.sync().subscribe("+slave");
            if (sentinel.sync().replicas("group").isEmpty()) {
                found.block(ofSeconds(30));
            }
            master.sync().waitForReplication(1, 20_000);
            int port = ((InetSocketAddress) sentinel.sync().getMasterAddrByName("group")).getPort();
            for (Redis server : servers.servers()) {
                if (server.ports().contains(port)) {
                    server.stop();
                }
            }
        }
    }

    private StatefulRedisPubSubConnection<String, String> sentinelEvents() {
        return client.connectPubSub(
                RedisURI.create("127.0.0.1", servers.sentinelPorts().get(0)));
    }

    @Test
    void after_a_failover_the_limit_goes_on_on_the_new_master() throws IOException {
        RateLimiterSpec spec = RateLimiter.named("sentinel").limit(Limit.of(10, ofMinutes(10)));
        RedisSharing sharing = RedisSharing.over(client.connect())
                .timeout(ofSeconds(1))
                .probe(ofMillis(200))
                .failClosed();
        RateLimiter limiter = RedisRateLimiter.create(sharing, spec);
        assertThat(grantedOf(4, limiter)).isEqualTo(4);
        stopMaster();
        int first = grantedOf(1, limiter);
        if (first == 0) {
            log.await("its store answers again");
        }
        assertThat(first + grantedOf(10, limiter)).isEqualTo(6);
    }
}
