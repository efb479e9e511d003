package io.github.reactorratelimit.examples;

import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.netty.RateLimitedHttpClient;
import io.github.reactorratelimit.redis.RedisRateLimiter;
import io.github.reactorratelimit.redis.RedisSharing;
import io.lettuce.core.RedisClient;
import java.util.Map;
import java.util.TreeMap;
import reactor.core.publisher.Flux;
import reactor.netty.http.client.HttpClient;

/** One of the processes that {@link TwoProcesses} starts: it limits its calls like any other, but on Redis. */
final class OneOfTwo {

    private OneOfTwo() {}

    /** Its name, where the quota is, where the API is, and how many calls. */
    public static void main(String[] args) {
        RedisClient redis = RedisClient.create(args[1]);
        try {
            // Both processes start at once, which on a busy machine takes longer than a call of Redis is given else.
            RedisSharing sharing = RedisSharing.over(redis.connect()).timeout(ofSeconds(5));
            RateLimiter shared = RedisRateLimiter.create(
                    sharing, RateLimiter.named("partner").limit(Limit.of(5, ofSeconds(10))));
            HttpClient http =
                    HttpClient.create().baseUrl(args[2]).headers(sent -> sent.set("Authorization", "Bearer both"));
            Map<Integer, Integer> statuses = new TreeMap<>();
            Flux.range(1, Integer.parseInt(args[3]))
                    .flatMap(
                            n -> RateLimitedHttpClient.of(http, shared)
                                    .get()
                                    .uri("/search")
                                    .responseSingle((response, content) -> content.asString()
                                            .thenReturn(response.status().code())),
                            4)
                    .doOnNext(status -> statuses.merge(status, 1, Integer::sum))
                    .blockLast();
            System.out.println(args[0] + ": " + statuses);
            shared.dispose(); // Before its client: else it would look to it as if Redis were out of order.
        } finally {
            redis.shutdown();
        }
    }
}
