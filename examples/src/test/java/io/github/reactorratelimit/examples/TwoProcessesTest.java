package io.github.reactorratelimit.examples;

import static io.github.reactorratelimit.test.RateLimitAssertions.assertThat;

import io.github.reactorratelimit.test.RequestLog;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Two real processes and a real Redis, with fewer calls than the story has. */
class TwoProcessesTest {

    @Test
    void two_processes_share_a_quota_and_nobody_is_refused() throws Exception {
        RequestLog log = TwoProcesses.run(4);
        assertThat(log).noRefusals().requests(8);
        assertThat(log).neverMoreThan(5).inAny(Duration.ofSeconds(10));
    }
}
