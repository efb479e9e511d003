package io.github.reactorratelimit.examples;

import io.github.reactorratelimit.RateLimiter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * So many calls to one endpoint with each of the tokens, by four workers per token.
 *
 * @param limiter whom the workers ask before each request, or null for nobody
 */
record Scenario(
        String name,
        String path,
        List<String> tokens,
        int calls,
        @Nullable RateLimiter limiter,
        Target target) {

    private static final Logger LOG = LoggerFactory.getLogger(Scenario.class);
    private static final int WORKERS = 4;

    /** How it came out. */
    record Result(Scenario scenario, Figures figures) {

        boolean reached() {
            return scenario.target.isReachedBy(figures);
        }
    }

    int allCalls() {
        return calls * tokens.size();
    }

    /** Runs the scenario once; its time starts with the subscription. */
    Mono<Result> run(Api api, Progress progress) {
        return Flux.fromIterable(tokens)
                .flatMap(token -> Flux.range(1, calls).flatMap(n -> call(api, token), WORKERS))
                .filter(status -> status == 200)
                .doOnNext(status -> progress.done(this))
                .count()
                .timed()
                .map(done -> Figures.of(api.log(), this, done.get().intValue(), done.elapsedSinceSubscription()))
                .map(figures -> new Result(this, figures))
                .doOnNext(result -> progress.ended(this));
    }

    private Mono<Integer> call(Api api, String token) {
        Mono<Integer> call = limiter == null ? api.bare(path, token) : api.limited(limiter, path, token);
        return call.onErrorResume(error -> {
            LOG.warn("scenario={} a call failed: {}", name, error.toString());
            return Mono.empty();
        });
    }
}
