package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.lettuce.core.RedisClient;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** One of the JVMs of {@link FourProcessesTest}: says that it is ready, waits for a line, and says how much it got. */
final class OneOfFour {

    static final int CALLERS = 64;
    static final long BURST = 500;
    static final long PER_SECOND = 500;

    private OneOfFour() {}

    public static void main(String[] args) throws Exception {
        RedisClient client = RedisClient.create(args[0]);
        RedisSharing sharing = RedisSharing.over(client.connect()).timeout(ofSeconds(10));
        RateLimiter other = RedisRateLimiter.create(sharing, RateLimiter.named("warm-up"));
        other.acquire(Demand.one()).block(ofSeconds(20));
        RateLimiter limiter = RedisRateLimiter.create(
                sharing,
                RateLimiter.named("four").limit(Limit.bucket(BURST, PER_SECOND, ofSeconds(1)), Limit.total(1L << 30)));
        System.out.println("ready");
        if (System.in.read() < 0) {
            throw new IllegalStateException("nobody said go");
        }
        LongAdder granted = new LongAdder();
        Flux.range(0, CALLERS)
                .flatMap(
                        i -> limiter.acquire(Demand.one())
                                .doOnNext(permit -> granted.increment())
                                .repeat()
                                .then(),
                        CALLERS)
                .takeUntilOther(Mono.delay(Duration.ofSeconds(Long.parseLong(args[1]))))
                .blockLast();
        System.out.println(granted.sum());
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
