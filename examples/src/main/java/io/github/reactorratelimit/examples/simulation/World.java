package io.github.reactorratelimit.examples.simulation;

import java.time.Duration;
import java.time.Instant;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** The time and the chance of one run. Both begin the same way in each. */
final class World {

    static final Instant START = Instant.parse("2026-01-01T00:00:00Z");
    private static final int SEED = 42;
    private static final int SHORTEST_WAY = 10;
    private static final int LONGEST_WAY = 40;

    final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    final Random random = new Random(SEED);
    /** From here to the server, or back. */
    final Supplier<Duration> way;

    World() {
        this(null);
    }

    /** A world in which every way takes the same time; or from 10 to 40 ms if it is null. */
    World(@Nullable Duration each) {
        time.advanceTimeBy(Duration.between(Instant.EPOCH, START));
        way = each != null
                ? () -> each
                : () -> Duration.ofMillis(SHORTEST_WAY + random.nextInt(LONGEST_WAY - SHORTEST_WAY + 1));
    }

    /** Since the start. */
    Duration now() {
        return Duration.ofNanos(time.now(TimeUnit.NANOSECONDS)).minus(Duration.between(Instant.EPOCH, START));
    }

    Mono<Long> after(Duration span) {
        return Mono.delay(span, time);
    }
}
