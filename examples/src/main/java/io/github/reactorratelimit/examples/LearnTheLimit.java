package io.github.reactorratelimit.examples;

import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.RateLimitedServer;
import reactor.core.publisher.Flux;
import reactor.netty.http.client.HttpClient;

/** A limit that nobody documented: learned from the headers of the answers. */
public final class LearnTheLimit {

    private LearnTheLimit() {}

    static Flux<Integer> calls(Api api, int count) {
        RateLimiter unknown = RateLimiter.named("partner").learn().build();
        return Flux.range(1, count).flatMap(n -> api.limited(unknown, "/search", "anna"));
    }

    /**
     * Calls a server with a limit of its own twelve times, which takes about 22 seconds.
     *
     * @param args none
     */
    public static void main(String[] args) {
        try (RateLimitedServer server =
                RateLimitedServer.create().limit("/search", 5, ofSeconds(10)).start()) {
            calls(new HttpApi(HttpClient.create(), server), 12)
                    .doOnNext(System.out::println)
                    .blockLast();
        }
    }
}
