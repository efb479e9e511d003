package io.github.reactorratelimit.redis;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.RedisClusterClient;

/**
 * Limiters whose limits many processes share, on Redis. Same spec and same verbs as in memory; all limiters of one name and
 * prefix share their books, and have to be given the same limits.
 *
 * <p>Waiting lines, lanes' turns and retries stay in the process. Whoever could go by the process's own books is asked for
 * in Redis: at most one call is under way per limiter, for everybody who came meanwhile, and a script decides it as a whole
 * on the server's clock. A refusal tells the time, and until then nobody asks. A closed scope is closed for all processes.
 * What a call asked for whose reply was lost counts as spent.
 *
 * <p>Differences from memory: {@code tryAcquire} can't ask without waiting, so while Redis decides it only refuses; {@link
 * RateLimiter#ask} answers as soon as Redis has. {@code estimate} and {@code snapshot} go by what this process knows, {@link
 * RateLimiter#status} by what Redis knows. Grants come on Lettuce's
 * threads, like the answers of its own reactive commands: whoever blocks after one changes threads first.
 */
public final class RedisRateLimiter {

    private RedisRateLimiter() {}

    /**
     * A shared limiter on a server, or on the master that Sentinel knows, with the defaults of {@link RedisSharing}. Opens a
     * connection of the client now, which blocks like Lettuce's own {@code connect()}; it lives as long as the client.
     *
     * @param client Lettuce's client; never shut down here
     * @param spec the limiter
     * @return the limiter
     */
    public static RateLimiter create(RedisClient client, RateLimiterSpec spec) {
        return create(RedisSharing.over(client.connect()), spec);
    }

    /**
     * A shared limiter on a cluster, with the defaults of {@link RedisSharing}. Opens a connection of the client now, which
     * blocks like Lettuce's own {@code connect()}; it lives as long as the client.
     *
     * @param client Lettuce's client; never shut down here
     * @param spec the limiter
     * @return the limiter
     */
    public static RateLimiter create(RedisClusterClient client, RateLimiterSpec spec) {
        return create(RedisSharing.over(client.connect()), spec);
    }

    /**
     * A shared limiter.
     *
     * @param sharing how it is shared
     * @param spec the limiter
     * @return the limiter
     */
    public static RateLimiter create(RedisSharing sharing, RateLimiterSpec spec) {
        return spec.build(new RedisStore(sharing, spec.name()));
    }
}
