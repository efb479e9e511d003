package io.github.reactorratelimit;

import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What batches alone tell of others who use the same quota. */
class BatchOthersTest extends BatchScript {

    @RegisterExtension
    final LogLines log = new LogLines(Level.WARN);

    @BeforeEach
    void a_window_of_a_hundred() {
        limiter = time.limiter(Limit.of(100, ofMinutes(1)));
    }

    @Test
    void a_count_above_ours_is_told_once_it_is_heard_and_only_then() {
        String[] left = {"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "50", "X-RateLimit-Reset", "30"};
        then("p1", 200, left).then("p2", 200);
        run(gets(2));
        assertThat(log.texts())
                .singleElement()
                .asString()
                .startsWith("limiter=test key=[] status=200 used=50 remaining=50 limit=100 ours=2: somebody else");
        log.events().clear();
        run(gets(2));
        assertThat(log.texts()).isEmpty();
    }
}
