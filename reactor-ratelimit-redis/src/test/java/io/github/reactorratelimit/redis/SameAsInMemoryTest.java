package io.github.reactorratelimit.redis;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.Share;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** One random trace of demands, once in memory and once by three processes on Redis: the same are granted. The script is told the virtual time. */
class SameAsInMemoryTest {

    private static final long T = 1_800_000_000_000_000L;

    @RegisterExtension
    static final RealRedis server = new RealRedis();

    private static final StatefulRedisConnection<String, String> connection = server.connection();

    static Stream<Arguments> specs() {
        RateLimiterSpec plain = RateLimiter.named("same");
        return Stream.of(
                Arguments.of("window", plain.limit(Limit.of(5, ofSeconds(10)))),
                Arguments.of("several windows", plain.limit(Limit.of(5, ofSeconds(10)), Limit.of(8, ofSeconds(60)))),
                Arguments.of("bucket", plain.limit(Limit.bucket(7, 3, ofSeconds(4)))),
                Arguments.of("odd bucket", plain.limit(Limit.bucket(3, 7, ofSeconds(3)))),
                Arguments.of(
                        "spaced window", plain.limit(Limit.of(6, ofSeconds(12)).burst(2))),
                Arguments.of(
                        "smooth window", plain.limit(Limit.of(4, ofSeconds(8)).smooth())),
                Arguments.of("headroom", plain.limit(Limit.of(9, ofSeconds(10)).headroom(0.2))),
                Arguments.of("budget", plain.limit(Limit.total(40))),
                Arguments.of(
                        "costs", plain.limit(Limit.bucket(20, 2, ofSeconds(1)).unit("points"))),
                Arguments.of(
                        "scopes",
                        plain.limit(Limit.of(12, ofSeconds(10)))
                                .scope(Scope.by("user").limits(Limit.of(3, ofSeconds(10))))));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("specs")
    void the_same_random_trace_gives_the_same_grants(String name, RateLimiterSpec spec) {
        for (int seed = 0; seed < 3; seed++) {
            List<Boolean> inMemory = trace(seed, spec, false);
            List<Boolean> onRedis = trace(seed, spec, true);
            assertThat(onRedis).as("seed %s", seed).isEqualTo(inMemory);
            assertThat(inMemory).contains(true, false);
        }
    }

    /** What is given back reaches other processes a little later, so here there is one, with itself. */
    @Test
    void calls_in_flight_and_lanes_are_decided_the_same_too() {
        RateLimiterSpec spec = RateLimiter.named("same")
                .limit(Limit.inFlight(6), Limit.of(9, ofSeconds(5)))
                .lane("background", Share.of(0.5));
        for (int seed = 0; seed < 5; seed++) {
            List<Boolean> inMemory = held(seed, spec, false);
            assertThat(held(seed, spec, true)).as("seed %s", seed).isEqualTo(inMemory);
            assertThat(inMemory).contains(true, false);
        }
    }

    private static List<Boolean> held(int seed, RateLimiterSpec spec, boolean onRedis) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiterSpec timed = spec.scheduler(() -> time);
        connection.sync().flushall();
        RateLimiter limiter = onRedis ? shared(timed, time) : timed.build();
        Random random = new Random(seed);
        List<Boolean> granted = new ArrayList<>();
        List<Permit> out = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            time.advanceTimeBy(ofMillis(random.nextInt(700)));
            if (!out.isEmpty() && random.nextBoolean()) {
                out.remove(random.nextInt(out.size())).release();
            }
            Demand demand = random.nextBoolean() ? Demand.one() : Demand.one().lane("background");
            Decision decision = requireNonNull(limiter.ask(demand).block(ofSeconds(10)));
            granted.add(decision.allowed());
            if (decision.allowed()) {
                out.add(decision.permit());
            }
        }
        limiter.dispose();
        return granted;
    }

    @Test
    void a_hundred_at_twenty_per_second_then_two_seconds_and_ten_more_are_a_hundred_and_ten() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        connection.sync().flushall();
        RateLimiterSpec spec = RateLimiter.named("ledger")
                .limit(Limit.bucket(100, 20, ofSeconds(1)))
                .scheduler(() -> time);
        List<RateLimiter> processes = List.of(shared(spec, time), shared(spec, time));
        int granted = 0;
        for (int i = 0; i < 110; i++) {
            if (i == 100) {
                time.advanceTimeBy(ofSeconds(2));
            }
            granted += isGranted(processes.get(i % 2), Demand.one().maxWait(Duration.ZERO)) ? 1 : 0;
        }
        assertThat(granted).isEqualTo(110);
        processes.forEach(RateLimiter::dispose);
    }

    private static List<Boolean> trace(int seed, RateLimiterSpec spec, boolean onRedis) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiterSpec timed = spec.scheduler(() -> time);
        connection.sync().flushall();
        // What one process was refused says little to the other: it is Redis that decides.
        List<RateLimiter> limiters = onRedis
                ? List.of(shared(timed, time), shared(timed, time), shared(timed, time))
                : List.of(timed.build());
        Random random = new Random(seed);
        List<Boolean> granted = new ArrayList<>();
        for (int i = 0; i < 150; i++) {
            time.advanceTimeBy(ofMillis(random.nextInt(1_500)));
            Demand demand = Demand.of("user", "u" + random.nextInt(4))
                    .cost(1 + random.nextInt(2))
                    .cost("points", random.nextInt(6))
                    .maxWait(Duration.ZERO);
            granted.add(isGranted(limiters.get(i % limiters.size()), demand));
        }
        limiters.forEach(RateLimiter::dispose);
        return granted;
    }

    private static RateLimiter shared(RateLimiterSpec spec, VirtualTimeScheduler time) {
        RedisSharing sharing = RedisSharing.over(connection).timeout(ofHours(1));
        return spec.build(new RedisStore(sharing, spec.name(), () -> T + time.now(TimeUnit.MICROSECONDS)));
    }

    private static boolean isGranted(RateLimiter limiter, Demand demand) {
        Mono<Boolean> answer = limiter.acquire(demand).hasElement().onErrorReturn(RateLimitedException.class, false);
        return Boolean.TRUE.equals(answer.block(ofSeconds(10)));
    }
}
