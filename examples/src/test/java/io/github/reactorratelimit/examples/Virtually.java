package io.github.reactorratelimit.examples;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Runs a story in virtual time. */
final class Virtually {

    private static final Instant TODAY = Instant.parse("2026-03-04T05:06:07.890Z");

    private Virtually() {}

    /** Subscribes at a time of today, lets time pass until the end at most, and checks all elements that came. */
    static <T> void run(Supplier<? extends Publisher<T>> story, Duration atMost, Consumer<? super List<T>> check) {
        StepVerifier.withVirtualTime(() -> Flux.from(story.get()).collectList(), Virtually::today, Long.MAX_VALUE)
                .thenAwait(atMost)
                .assertNext(check)
                .verifyComplete();
    }

    /** Not deferring, so that the clock really stands there; epoch seconds in headers look like today's. */
    private static VirtualTimeScheduler today() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        time.advanceTimeTo(TODAY);
        return time;
    }
}
