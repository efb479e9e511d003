package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What batches alone tell of others who use the same quota. */
class BatchOthersTest extends BatchScript {

    private final Logger logger = (Logger) LoggerFactory.getLogger(RateLimiter.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final @Nullable Level before = logger.getLevel();

    @BeforeEach
    void listen() {
        limiter = time.limiter(Limit.of(100, ofMinutes(1)));
        log.start();
        logger.addAppender(log);
        logger.setLevel(Level.WARN);
        logger.setAdditive(false);
    }

    @AfterEach
    void leave() {
        logger.detachAppender(log);
        logger.setLevel(before);
        logger.setAdditive(true);
    }

    @Test
    void a_count_above_ours_is_told_once_it_is_heard_and_only_then() {
        String[] left = {"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "50", "X-RateLimit-Reset", "30"};
        then("p1", 200, left).then("p2", 200);
        run(gets(2));
        assertThat(log.list)
                .singleElement()
                .extracting(ILoggingEvent::getFormattedMessage)
                .asString()
                .startsWith("limiter=test key=[] status=200 used=50 remaining=50 limit=100 ours=2: somebody else");
        log.list.clear();
        run(gets(2));
        assertThat(log.list).isEmpty();
    }
}
