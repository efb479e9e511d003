package io.github.reactorratelimit;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.slf4j.LoggerFactory;

/** What limiters log during a test, from a level on, instead of where it goes else. */
final class LogLines implements BeforeEachCallback, AfterEachCallback {

    private final Logger logger = (Logger) LoggerFactory.getLogger(RateLimiter.class);
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();
    private final Level from;
    private @Nullable Level before;

    LogLines(Level from) {
        this.from = from;
    }

    @Override
    public void beforeEach(ExtensionContext test) {
        before = logger.getLevel();
        log.start();
        logger.addAppender(log);
        logger.setLevel(from);
        logger.setAdditive(false);
    }

    @Override
    public void afterEach(ExtensionContext test) {
        logger.detachAppender(log);
        logger.setLevel(before);
        logger.setAdditive(true);
    }

    List<ILoggingEvent> events() {
        return log.list;
    }

    List<String> texts() {
        return log.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }
}
