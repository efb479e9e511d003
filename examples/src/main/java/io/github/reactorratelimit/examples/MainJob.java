package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.examples.Scenario.Result;
import io.github.reactorratelimit.test.RateLimitedServer;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;

/**
 * Runs every scenario side by side against a real rate-limited server and fails if a figure is missed.
 *
 * <p>With {@code API_PROXY=http://user:password@host:port} in the environment, all requests go through that proxy.
 */
public final class MainJob {

    private static final Duration TICK = Duration.ofSeconds(2);

    private MainJob() {}

    /**
     * Takes about 25 seconds.
     *
     * @param args none
     * @throws IllegalStateException if a figure is missed
     */
    public static void main(String[] args) {
        HttpClient http = ApiProxy.apply(System.getenv("API_PROXY"), HttpClient.create());
        try (RateLimitedServer server = Scenarios.service().start()) {
            HttpApi api = new HttpApi(http, server);
            System.out.println("warming up");
            List<String> missed =
                    warmUp(api).then(Mono.defer(() -> run(api, System.out))).block();
            if (missed == null || !missed.isEmpty()) {
                throw new IllegalStateException("figures missed: " + missed);
            }
        }
    }

    /** Loads classes, opens connections and lets the JIT compiler see the work: no scenario pays for a cold start. */
    private static Mono<Void> warmUp(Api api) {
        // Not the server's own figure: then it would be compared with the server's count, which has the bare calls too.
        RateLimiter roomy = RateLimiter.of(Limit.of(10_000, TICK));
        Mono<Integer> bare = api.bare(Scenarios.WARM_UP, "warm-up");
        Mono<Integer> limited = api.limited(roomy, Scenarios.WARM_UP, "warm-up");
        return bare.repeat(100)
                .thenMany(Flux.range(1, 900).flatMap(n -> limited, 24))
                .then();
    }

    /** Runs all scenarios, prints progress and results, and gives the names of those that missed a figure. */
    static Mono<List<String>> run(Api api, PrintStream out) {
        return run(api, Scenarios.all(), out);
    }

    static Mono<List<String>> run(Api api, List<Scenario> scenarios, PrintStream out) {
        Progress progress = new Progress(scenarios);
        Flux<?> lines = Flux.interval(TICK).doOnNext(n -> out.println(progress.line(TICK.multipliedBy(n + 1))));
        return Mono.using(
                        lines::subscribe,
                        watched -> Flux.fromIterable(scenarios)
                                .flatMapSequential(scenario -> scenario.run(api, progress))
                                .collectList(),
                        Disposable::dispose)
                .map(results -> report(results, out));
    }

    private static List<String> report(List<Result> results, PrintStream out) {
        out.println();
        out.println(Report.table(results));
        out.println();
        out.println(Report.machineLines(results));
        return Report.missed(results);
    }
}
