package io.github.reactorratelimit.examples.simulation;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.ResponseReader;
import io.github.reactorratelimit.Share;
import io.github.reactorratelimit.test.SimulatedResponse;
import java.time.Duration;
import java.util.List;
import java.util.function.BiFunction;
import reactor.core.publisher.Mono;
import reactor.util.retry.Retry;

/**
 * What a client does about limits.
 *
 * @param name what it is called
 * @param reads whether it reads what the server tells of its limits
 * @param start what it makes of a world and of a server
 */
record Strategy(String name, boolean reads, BiFunction<World, Service, Client> start) {

    static final String BACKGROUND = "background";
    static final String INTERACTIVE = "interactive";

    private static final Duration FIRST_BACKOFF = ofMillis(500);
    private static final Duration LONGEST_BACKOFF = ofSeconds(20);
    private static final int DOUBLINGS = 6;

    /** How one call is made until it is answered, or lost. */
    interface Client {

        Mono<SimulatedResponse> call(Mono<SimulatedResponse> request, String lane);
    }

    /** How long to wait after a refusal, of which there were so many before. */
    private interface Wait {

        Duration after(SimulatedResponse refusal, long before);
    }

    private static final class Refused extends RuntimeException {

        private static final long serialVersionUID = 1L;
        private final transient SimulatedResponse response;

        Refused(SimulatedResponse response) {
            super("429", null, false, false);
            this.response = response;
        }
    }

    static List<Strategy> all() {
        return List.of(
                new Strategy("no limiter, no retry", false, (world, service) -> (request, lane) -> request),
                new Strategy(
                        "at once, until it is 200",
                        false,
                        (world, service) ->
                                (request, lane) -> again(world, request, (refusal, before) -> Duration.ZERO)),
                backoff(),
                retryAfter(),
                bucket("bucket 0.5/s burst 5", ofSeconds(2), 5),
                bucket("bucket 0.4/s burst 1", ofMillis(2_500), 1),
                ours("ours, unconfigured", (spec, service) -> spec),
                ours("ours, learning", (spec, service) -> spec.learn()),
                configured());
    }

    static List<Strategy> forLanes() {
        return List.of(
                backoff(),
                retryAfter(),
                bucket("bucket 0.5/s burst 5", ofSeconds(2), 5),
                configured(),
                ours(
                        "ours, with lanes",
                        (spec, service) -> spec.limit(service.known()).lane(BACKGROUND, Share.of(0.8))));
    }

    static Strategy configured() {
        return ours("ours, configured", (spec, service) -> spec.limit(service.known()));
    }

    private static Strategy backoff() {
        return new Strategy(
                "backoff with jitter",
                false,
                (world, service) ->
                        (request, lane) -> again(world, request, (refusal, before) -> jittered(world, before)));
    }

    private static Strategy retryAfter() {
        return new Strategy(
                "Retry-After per call",
                true,
                (world, service) ->
                        (request, lane) -> again(world, request, (refusal, before) -> told(world, refusal, before)));
    }

    private static Strategy bucket(String name, Duration each, int burst) {
        return new Strategy(name, false, (world, service) -> {
            Bucket bucket = new Bucket(world, each, burst);
            return (request, lane) ->
                    again(world, bucket.before(request), (refusal, before) -> jittered(world, before));
        });
    }

    private static Strategy ours(String name, BiFunction<RateLimiterSpec, Service, RateLimiterSpec> change) {
        return new Strategy(name, true, (world, service) -> {
            RateLimiterSpec spec =
                    RateLimiter.named("api").scheduler(() -> world.time).random(world.random::nextDouble);
            RateLimiter limiter = change.apply(spec, service).build();
            RateLimitOperator calls = limiter.calls().responses(SimulatedResponse.class, READER);
            // A lane that is not declared would be an error, and without lanes there are none.
            boolean lanes = name.endsWith("lanes");
            return (request, lane) -> request.transform(
                    calls.limit(lanes && lane.equals(BACKGROUND) ? Demand.one().lane(lane) : Demand.one()));
        });
    }

    private static Mono<SimulatedResponse> again(World world, Mono<SimulatedResponse> request, Wait wait) {
        return request.flatMap(
                        response -> response.status() == 200 ? Mono.just(response) : Mono.error(new Refused(response)))
                .retryWhen(Retry.from(failures ->
                        failures.concatMap(failed -> failed.failure() instanceof Refused refused
                                ? world.after(wait.after(refused.response, failed.totalRetries()))
                                : Mono.<Long>error(failed.failure()))));
    }

    /** Full jitter: anything from nothing to the backoff. */
    private static Duration jittered(World world, long before) {
        long most = Math.min(LONGEST_BACKOFF.toMillis(), FIRST_BACKOFF.toMillis() << Math.min(DOUBLINGS, before));
        return ofMillis(world.random.nextInt((int) most) + 1L);
    }

    private static Duration told(World world, SimulatedResponse refusal, long before) {
        String seconds = refusal.header("Retry-After");
        return seconds == null ? jittered(world, before) : ofSeconds(Long.parseLong(seconds));
    }

    /** The textbook's bucket, in front of every request. */
    private static final class Bucket {

        private final World world;
        private final Duration each;
        private final Duration burst;
        private Duration free = Duration.ZERO;

        Bucket(World world, Duration each, int burst) {
            this.world = world;
            this.each = each;
            this.burst = each.multipliedBy(burst - 1L);
        }

        Mono<SimulatedResponse> before(Mono<SimulatedResponse> request) {
            return Mono.defer(() -> {
                Duration now = world.now();
                Duration at = free.minus(burst).compareTo(now) > 0 ? free.minus(burst) : now;
                free = (free.compareTo(now) > 0 ? free : now).plus(each);
                return world.after(at.minus(now)).then(request);
            });
        }
    }

    private static final ResponseReader<SimulatedResponse> READER =
            ResponseReader.of(SimulatedResponse::status, SimulatedResponse::headers);
}
