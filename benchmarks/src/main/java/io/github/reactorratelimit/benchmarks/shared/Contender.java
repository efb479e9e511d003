package io.github.reactorratelimit.benchmarks.shared;

import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.AsyncBucketProxy;
import io.github.bucket4j.distributed.proxy.RemoteAsyncBucketBuilder;
import io.github.bucket4j.distributed.proxy.optimization.Optimizations;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.redis.RedisRateLimiter;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiterReactive;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import reactor.core.publisher.Mono;

/**
 * Somebody who gives permits of one hot key, never short of them: what is measured is the way there and back.
 *
 * @param name as it is printed
 * @param mostCallers how many callers it is tried with
 * @param permit one subscription, one permit; false if there was none
 * @param close when it is done
 */
record Contender(String name, int mostCallers, Mono<?> permit, Runnable close) {

    /** Its scripts get once each, and it gets by itself besides. */
    boolean getsToo() {
        return name.startsWith("bucket4j");
    }

    private static final long PLENTY = 100_000_000;
    private static final String BUCKET = """
            local time = redis.call('TIME')
            local now = time[1] * 1000000 + time[2]
            local arrival = math.max(now, tonumber(redis.call('GET', KEYS[1]) or now))
            if arrival - now >= 1000000 then
              return 0
            end
            redis.call('SET', KEYS[1], string.format('%.3f', arrival + 0.01), 'PX', 2000)
            return 1""";

    static Contender ours(String uri) {
        RedisClient client = RedisClient.create(uri);
        RateLimiter limiter = RedisRateLimiter.create(
                client, RateLimiter.named("hot").limit(Limit.bucket(PLENTY, PLENTY, Duration.ofSeconds(1))));
        return new Contender("reactor-ratelimit", 10_000, limiter.acquire(Demand.one()), () -> {
            limiter.dispose();
            client.shutdown();
        });
    }

    static Contender oneScriptPerPermit(String uri) {
        RedisClient client = RedisClient.create(uri);
        StatefulRedisConnection<String, String> connection = client.connect();
        String sha = connection.sync().scriptLoad(BUCKET);
        Mono<Long> permit = Mono.fromFuture(() -> connection
                .async()
                .<Long>evalsha(sha, ScriptOutputType.INTEGER, "script:hot")
                .toCompletableFuture());
        return new Contender("one script per permit", 10_000, permit, client::shutdown);
    }

    static Contender bucket4jCas(String uri) {
        return bucket4j(uri, "bucket4j-lettuce, CAS", 64, false);
    }

    static Contender bucket4jBatching(String uri) {
        return bucket4j(uri, "bucket4j-lettuce, batching", 10_000, true);
    }

    private static Contender bucket4j(String uri, String name, int most, boolean batching) {
        RedisClient client = RedisClient.create(uri);
        StatefulRedisConnection<String, byte[]> connection =
                client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE));
        RemoteAsyncBucketBuilder<String> builder =
                Bucket4jLettuce.casBasedBuilder(connection).build().asAsync().builder();
        if (batching) {
            builder = builder.withOptimization(Optimizations.batching());
        }
        BucketConfiguration plenty = BucketConfiguration.builder()
                .addLimit(limit -> limit.capacity(PLENTY).refillGreedy(PLENTY, Duration.ofSeconds(1)))
                .build();
        AsyncBucketProxy bucket = builder.build(name, () -> CompletableFuture.completedFuture(plenty));
        return new Contender(name, most, Mono.fromFuture(() -> bucket.tryConsume(1)), client::shutdown);
    }

    static Contender redisson(String uri) {
        Config config = new Config();
        config.useSingleServer().setAddress(uri);
        RedissonClient redisson = Redisson.create(config);
        RRateLimiterReactive limiter = redisson.reactive().getRateLimiter("redisson-hot");
        limiter.trySetRate(RateType.OVERALL, PLENTY, Duration.ofSeconds(1)).block();
        return new Contender("Redisson", 10_000, limiter.tryAcquire(), redisson::shutdown);
    }
}
