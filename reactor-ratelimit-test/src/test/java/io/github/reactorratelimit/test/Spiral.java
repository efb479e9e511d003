package io.github.reactorratelimit.test;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Presets;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.ResponseReader;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.util.retry.Retry;

/**
 * The migration of 1,300 OneNote pages of one user, in virtual time: whoever calls too early makes the throttle last
 * longer, so how calls are tried again decides whether it ever ends. Everything random is seeded.
 */
final class Spiral {

    static final int PAGES = 1_300;
    /** 400 an hour: at 0, 1 and 2 h, and the last hundred at 3 h. */
    static final Duration OPTIMUM = Duration.ofHours(3);

    private static final Demand ANNA = Demand.of("user", "anna").and("method", "GET");
    private static final SimulatedRequest PAGE =
            SimulatedRequest.get("/v1.0/me/onenote/pages").token("anna");

    /** How one page is fetched: from the bare call to what is subscribed. */
    private interface Client {
        Mono<SimulatedResponse> page(Mono<SimulatedResponse> call, VirtualTimeScheduler time);
    }

    /** What came of it. */
    record Result(String name, int pages, int lost, long requests, long refused, Duration finished) {

        double pagesPerHour() {
            return pages * 3_600e9 / finished.toNanos();
        }

        double refusedShare() {
            return (double) refused / requests;
        }

        /** The time that the optimum takes as a share of the time taken. */
        double ofOptimum() {
            return pages < PAGES ? 0 : (double) OPTIMUM.toNanos() / finished.toNanos();
        }

        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT,
                    "| %s | %d | %d | %.0f | %d | %d (%.1f %%) | %s | %.1f %% |",
                    name,
                    pages,
                    lost,
                    pagesPerHour(),
                    requests,
                    refused,
                    100 * refusedShare(),
                    pages + lost < PAGES ? "not within " + finished : finished,
                    100 * ofOptimum());
        }
    }

    /** A refused page as those see it who have nothing but an exception. */
    private static final class TooMany extends RuntimeException {

        private static final long serialVersionUID = 1L;

        TooMany() {
            super("429", null, false, false);
        }
    }

    private final Random random = new Random(42);
    private long requests;
    private long refused;
    private int pages;
    private int lost;

    private Spiral() {}

    /** (a) Each page is tried again on its own after a fixed 30 s. */
    static Result fixedDelay(Duration horizon) {
        return new Spiral()
                .run(
                        "(a) each page again after 30 s",
                        PAGES,
                        horizon,
                        (call, time) -> refusing(call)
                                .retryWhen(Retry.fixedDelay(Long.MAX_VALUE, Duration.ofSeconds(30))
                                        .scheduler(time)));
    }

    /** (b) Each page is tried again on its own with exponential backoff from 1 s to 5 min, up to half of it jitter. */
    static Result exponentialBackoff(Duration horizon) {
        Spiral spiral = new Spiral();
        return spiral.run(
                "(b) exponential backoff, jitter",
                PAGES,
                horizon,
                (call, time) -> refusing(call)
                        .retryWhen(Retry.from(failures -> failures.concatMap(
                                failure -> Mono.delay(spiral.backoff(failure.totalRetries()), time)))));
    }

    private Duration backoff(long retries) {
        int millis = Math.min(300_000, 1_000 << Math.min(9, retries));
        int least = Math.max(1_000, millis / 2);
        return Duration.ofMillis(least + random.nextInt(Math.min(300_000, millis + millis / 2) - least + 1));
    }

    /** (c) This library without any limit, told only whose API it is. */
    static Result unconfigured(int workers, Duration horizon) {
        return new Spiral()
                .limited(
                        "(c) unconfigured, " + workers + " workers",
                        workers,
                        horizon,
                        RateLimiter.named("onenote").dialect(Dialects.microsoftGraph()));
    }

    /** (d) This library with the preset, all pages asked for at once. */
    static Result preset(Duration horizon) {
        return new Spiral().limited("(d) the preset", PAGES, horizon, Presets.oneNote());
    }

    private Result limited(String name, int workers, Duration horizon, RateLimiterSpec spec) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter limiter =
                spec.scheduler(() -> time).random(random::nextDouble).build();
        RateLimitOperator calls = limiter.calls().responses(SimulatedResponse.class, READER);
        return run(
                name,
                workers,
                horizon,
                (call, at) -> Mono.from(calls.<SimulatedResponse>limit(ANNA).apply(call)),
                time);
    }

    private Result run(String name, int workers, Duration horizon, Client client) {
        return run(name, workers, horizon, client, VirtualTimeScheduler.create());
    }

    /** Pages come up within the first minute, as fast as there are workers for them. */
    private Result run(String name, int workers, Duration horizon, Client client, VirtualTimeScheduler time) {
        SimulatedService service = OneNoteRules.create()
                .takes(Duration.ofMillis(300))
                .simulate()
                .on(() -> time)
                .latency(this::way, this::way);
        Mono<SimulatedResponse> call = service.call(PAGE).doOnNext(response -> {
            requests++;
            refused += response.status() == 429 ? 1 : 0;
            if (requests % 1_000 == 0) {
                service.log().clear();
            }
        });
        long[] finished = new long[1];
        Flux.range(0, PAGES)
                .flatMap(
                        page -> Mono.delay(Duration.ofMillis(random.nextInt(60_000)), time)
                                .then(client.page(call, time))
                                .doOnNext(response -> {
                                    pages += response.status() == 200 ? 1 : 0;
                                    lost += response.status() == 200 ? 0 : 1;
                                    finished[0] = time.now(NANOSECONDS);
                                })
                                .onErrorResume(error -> {
                                    lost++;
                                    return Mono.empty();
                                }),
                        workers)
                .subscribe();
        // Step by step, so that a client that is through costs no more time.
        while (pages + lost < PAGES && time.now(NANOSECONDS) < horizon.toNanos()) {
            time.advanceTimeBy(Duration.ofMinutes(1));
        }
        Duration taken = pages + lost < PAGES ? horizon : Duration.ofNanos(finished[0]);
        return new Result(name, pages, lost, requests, refused, taken);
    }

    private Duration way() {
        return Duration.ofMillis(30 + random.nextInt(40));
    }

    private static Mono<SimulatedResponse> refusing(Mono<SimulatedResponse> call) {
        return call.flatMap(response -> response.status() == 429 ? Mono.error(new TooMany()) : Mono.just(response));
    }

    static final ResponseReader<SimulatedResponse> READER = new ResponseReader<>() {
        @Override
        public int status(SimulatedResponse response) {
            return response.status();
        }

        @Override
        public Headers headers(SimulatedResponse response) {
            return response.headers();
        }
    };

    /** Prints all of them. */
    public static void main(String[] args) {
        Duration horizon = Duration.ofHours(4);
        System.out.println("| client | pages | lost | pages per hour | requests | 429s | time | of the optimum |");
        System.out.println("| --- | --- | --- | --- | --- | --- | --- | --- |");
        for (Result result : List.of(
                fixedDelay(horizon),
                exponentialBackoff(horizon),
                unconfigured(4, Duration.ofHours(24)),
                unconfigured(256, Duration.ofHours(24)),
                unconfigured(1_300, Duration.ofHours(24)),
                preset(horizon))) {
            System.out.println(result);
        }
    }
}
