package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A limiter that is disposed has nothing to do with its store any more once that is gone, or out of order. */
class DisposedWithAStoreTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final HandStore store = new HandStore(10);
    private final RateLimiter limiter = RateLimiter.named("gone")
            .limit(Limit.of(5, ofSeconds(10)))
            .scheduler(() -> time)
            .build(store);
    private final List<Throwable> failures = new ArrayList<>();
    private final Logger logger = (Logger) LoggerFactory.getLogger(RateLimiter.class);
    private final @Nullable Level before = logger.getLevel();
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();

    @BeforeEach
    void ask() {
        log.start();
        logger.addAppender(log);
        logger.setLevel(Level.INFO);
        limiter.acquire(Demand.one()).subscribe(permit -> {}, failures::add);
        assertThat(store.batches).hasSize(1);
    }

    @AfterEach
    void leave() {
        logger.detachAppender(log);
        logger.setLevel(before);
    }

    private void lose() {
        store.open.remove().tryEmitError(new IllegalStateException("closed"));
    }

    @Test
    void what_was_under_way_is_no_outage_when_it_is_lost() {
        limiter.dispose();
        lose();
        time.advanceTimeBy(ofMinutes(10));
        assertThat(log.list).isEmpty();
        assertThat(store.batches).hasSize(1);
        assertThat(failures).hasExactlyElementsOfTypes(LimiterDisposedException.class);
        assertThat(limiter.snapshot().timers()).isZero();
    }

    @Test
    void a_store_that_is_out_of_order_is_not_asked_any_more_whether_it_answers() {
        lose();
        time.advanceTimeBy(ofSeconds(1));
        assertThat(store.batches).as("one probe").hasSize(2);
        limiter.dispose();
        lose();
        time.advanceTimeBy(ofMinutes(10));
        assertThat(store.batches).hasSize(2);
        assertThat(limiter.snapshot().timers()).isZero();
    }
}
