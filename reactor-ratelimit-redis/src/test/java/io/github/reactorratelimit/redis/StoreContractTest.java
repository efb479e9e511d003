package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.test.contract.LimitContract;
import io.github.reactorratelimit.test.contract.LimitStoreContract;
import io.github.reactorratelimit.test.contract.RateLimiterContract;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.extension.RegisterExtension;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A limiter whose books are on Redis decides as any limiter has to, with every limit. The script is told the virtual time. */
class StoreContractTest {

    private static final long START_MICROS = 1_800_000_000_000_000L;

    @RegisterExtension
    static final RealRedis server = new RealRedis();

    private static final StatefulRedisConnection<String, String> connection = server.connection();

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter onEmpty(RateLimiterSpec spec) {
        connection.sync().flushall();
        return process(spec);
    }

    private RateLimiter process(RateLimiterSpec spec) {
        RedisSharing sharing = RedisSharing.over(connection).timeout(ofHours(1));
        RateLimiterSpec timed = spec.scheduler(() -> time);
        return timed.build(new RedisStore(sharing, spec.name(), () -> START_MICROS + time.now(TimeUnit.MICROSECONDS)));
    }

    @Nested
    class ALimiter extends RateLimiterContract {

        @Override
        protected RateLimiter limiter(RateLimiterSpec spec) {
            return onEmpty(spec);
        }

        @Override
        protected void advance(Duration span) {
            time.advanceTimeBy(span);
        }
    }

    @Nested
    class EveryLimit extends LimitContract {

        @Override
        protected RateLimiter limiter(RateLimiterSpec spec) {
            return onEmpty(spec);
        }

        @Override
        protected void advance(Duration span) {
            time.advanceTimeBy(span);
        }
    }

    @Nested
    class ManyProcesses extends LimitStoreContract {

        @BeforeEach
        void empty() {
            connection.sync().flushall();
        }

        @Override
        protected RateLimiter process(RateLimiterSpec spec) {
            return StoreContractTest.this.process(spec);
        }

        @Override
        protected void advance(Duration span) {
            time.advanceTimeBy(span);
        }
    }
}
