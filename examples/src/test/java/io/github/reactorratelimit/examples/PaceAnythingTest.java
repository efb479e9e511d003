package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.PaceAnything.Event;
import io.github.reactorratelimit.examples.PaceAnything.Page;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;

class PaceAnythingTest {

    private static final Flux<Event> EVENTS = Flux.range(1, 7).map(n -> new Event("event " + n));

    @Test
    void one_call_that_finds_room_goes_at_once() {
        Virtually.run(
                () -> PaceAnything.pace(EVENTS).page(),
                Duration.ZERO,
                pages -> assertThat(pages).containsExactly(new Page(1)));
    }

    @Test
    void five_hundred_calls_need_ninety_nine_more_windows() {
        Virtually.run(() -> PaceAnything.pace(EVENTS).pages().timed(), Duration.ofHours(1), pages -> {
            assertThat(pages).hasSize(500);
            assertThat(pages.get(4).elapsedSinceSubscription()).isZero();
            assertThat(pages.get(499).elapsedSinceSubscription())
                    .isBetween(Duration.ofSeconds(990), Duration.ofSeconds(992));
        });
    }

    @Test
    void elements_of_a_stream_take_a_permit_each() {
        Virtually.run(() -> PaceAnything.pace(EVENTS).events().timed(), Duration.ofMinutes(1), events -> {
            assertThat(events).hasSize(7);
            assertThat(events.get(4).elapsedSinceSubscription()).isZero();
            assertThat(events.get(5).elapsedSinceSubscription())
                    .isBetween(Duration.ofSeconds(10), Duration.ofMillis(10_010));
        });
    }
}
