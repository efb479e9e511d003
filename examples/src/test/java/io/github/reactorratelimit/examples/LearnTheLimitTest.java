package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class LearnTheLimitTest {

    @Test
    void nobody_is_refused_although_nobody_said_how_much_is_allowed() {
        Virtually.run(() -> LearnTheLimit.calls(new SimulatedApi(), 30).timed(), Duration.ofMinutes(5), answers -> {
            assertThat(answers).hasSize(30).allMatch(answer -> answer.get() == 200);
            // Five per window of ten seconds: the sixth window starts after fifty, plus two seconds of blur each.
            assertThat(answers.get(29).elapsedSinceSubscription())
                    .isBetween(Duration.ofSeconds(50), Duration.ofSeconds(61));
        });
    }
}
