package io.github.reactorratelimit.redis;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.github.reactorratelimit.RateLimiter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Sinks;

/** What limiters say in the log from now on, so that a test can wait for a line. */
final class LogLines extends AppenderBase<ILoggingEvent> implements AutoCloseable {

    private static final Duration LONGEST = Duration.ofSeconds(30);

    private final Logger logger = (Logger) LoggerFactory.getLogger(RateLimiter.class);
    private final Level before = logger.getLevel();
    private final Sinks.Many<String> lines = Sinks.many().replay().all();

    private final List<String> said = new CopyOnWriteArrayList<>();

    LogLines() {
        setContext(logger.getLoggerContext());
        start();
        logger.setLevel(Level.INFO);
        logger.setAdditive(false);
        logger.addAppender(this);
    }

    @Override
    protected void append(ILoggingEvent event) {
        said.add(event.getFormattedMessage());
        lines.emitNext(event.getFormattedMessage(), Sinks.EmitFailureHandler.busyLooping(LONGEST));
    }

    /** Until a line contains this, after so many that do. */
    String await(String part, int skipped) {
        return String.valueOf(
                lines.asFlux().filter(line -> line.contains(part)).skip(skipped).blockFirst(LONGEST));
    }

    String await(String part) {
        return await(part, 0);
    }

    /** All that was said so far. */
    List<String> all() {
        return List.copyOf(said);
    }

    @Override
    public void close() {
        logger.detachAppender(this);
        logger.setLevel(before);
        logger.setAdditive(true);
        stop();
    }
}
