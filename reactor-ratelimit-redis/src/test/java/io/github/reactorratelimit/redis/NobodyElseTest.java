package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What other processes of the same limiter take is nobody else's use of the quota. */
class NobodyElseTest {

    private final ListAppender<ILoggingEvent> log = new ListAppender<>();

    private static Permit permit(RateLimiter limiter) {
        return requireNonNull(limiter.ask(Demand.one()).block(ofSeconds(10))).permit();
    }

    @Test
    void a_server_that_counts_the_calls_of_all_processes_is_not_warned_of() {
        Logger logger = (Logger) LoggerFactory.getLogger(RateLimiter.class);
        Level before = logger.getLevel();
        log.start();
        logger.addAppender(log);
        logger.setLevel(Level.WARN);
        try (RealRedis server = new RealRedis()) {
            RedisSharing sharing = RedisSharing.over(server.connection()).timeout(ofSeconds(10));
            RateLimiter a =
                    RedisRateLimiter.create(sharing, RateLimiter.named("all").limit(Limit.of(100, ofSeconds(100))));
            RateLimiter b =
                    RedisRateLimiter.create(sharing, RateLimiter.named("all").limit(Limit.of(100, ofSeconds(100))));
            for (int i = 0; i < 20; i++) {
                permit(a);
            }
            Quota counted = new Quota("", "requests", 100, 79, -1, ofSeconds(90), ofSeconds(100), null);
            permit(b).complete(RateLimitSignal.of(200).quotas(List.of(counted)).build());
            a.dispose();
            b.dispose();
        } finally {
            logger.detachAppender(log);
            logger.setLevel(before);
        }
        assertThat(log.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .noneMatch(line -> line.contains("somebody else"));
    }
}
