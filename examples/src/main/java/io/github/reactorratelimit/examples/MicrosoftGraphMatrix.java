package io.github.reactorratelimit.examples;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.Share;
import io.github.reactorratelimit.signal.Dialects;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Microsoft Graph's matrix: per minute, per hour and in flight, each per user and per application. All that apply decide
 * together. The migration runs in a background lane, which leaves half of every limit to people.
 */
public final class MicrosoftGraphMatrix {

    private final RateLimiter oneNote = oneNote();

    private static RateLimiter oneNote() {
        RateLimiter oneNote = RateLimiter.named("onenote")
                .limit(Limit.of(240, ofMinutes(1)), Limit.of(800, ofHours(1)), Limit.inFlight(20))
                .scope(Scope.by("user")
                        .limits(Limit.of(120, ofMinutes(1)), Limit.of(400, ofHours(1)), Limit.inFlight(5)))
                .lane("background", Share.of(0.5))
                .dialect(Dialects.microsoftGraph())
                .build();
        return oneNote;
    }

    Mono<String> migrated(String page, String userId) {
        return migrate(page).transform(oneNote.limit(Demand.of("user", userId).lane("background")));
    }

    Mono<String> read(String name, String userId) {
        return migrate(name).transform(oneNote.limit(Demand.of("user", userId)));
    }

    /** Or through the Reactor Context, where the caller knows the lane and the callee doesn't. */
    Mono<String> readInBackground(String name, String userId) {
        Mono<String> page = read(name, userId);
        return page.contextWrite(RateLimitContext.lane("background"));
    }

    /** Stands for a call that takes 100 ms. */
    private static Mono<String> migrate(String page) {
        return Mono.just(page).delayElement(ofMillis(100));
    }

    /**
     * Prints thirty pages of two users.
     *
     * @param args none
     */
    public static void main(String[] args) {
        MicrosoftGraphMatrix graph = new MicrosoftGraphMatrix();
        Flux.range(1, 30)
                .flatMap(n -> graph.migrated("page " + n, n % 2 == 0 ? "anna" : "ben"))
                .doOnNext(System.out::println)
                .blockLast();
    }
}
