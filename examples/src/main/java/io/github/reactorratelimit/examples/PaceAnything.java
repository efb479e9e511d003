package io.github.reactorratelimit.examples;

import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Pace anything: one call, many calls, or the elements of a stream. */
public final class PaceAnything {

    record Page(int number) {}

    record Event(String name) {}

    /** All three share one limiter, and so one quota. */
    record Paced(Mono<Page> page, Flux<Page> pages, Flux<Event> events) {}

    private PaceAnything() {}

    static Paced pace(Flux<Event> events) {
        RateLimiter limiter = RateLimiter.of(Limit.of(5, ofSeconds(10)));
        Mono<Page> page = fetch(1).transform(limiter.limit());
        Flux<Page> pages = Flux.range(1, 500).flatMap(n -> fetch(n).transform(limiter.limit()));
        Flux<Event> paced = events.transform(limiter.limitEach()); // one permit per element, demand respected
        return new Paced(page, pages, paced);
    }

    /** Stands for a call to somebody else's API. */
    private static Mono<Page> fetch(int number) {
        return Mono.fromSupplier(() -> new Page(number));
    }

    /**
     * Prints twelve pages in about 20 seconds.
     *
     * @param args none
     */
    public static void main(String[] args) {
        pace(Flux.empty()).pages().take(12).doOnNext(System.out::println).blockLast();
    }
}
