package io.github.reactorratelimit.redis;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import io.lettuce.core.api.sync.RedisCommands;
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
import reactor.test.scheduler.VirtualTimeScheduler;

/** Costs that turn out to be others, at any time: the script corrects what a limiter in memory corrects. */
class CorrectionsTest {

    private static final String ROOT = "{t}:scope";
    private static final long T = 1_800_000_000_000_000L;
    private static final long SECOND = 1_000_000;
    private static final long SPAN = 10_010_000;

    @RegisterExtension
    static final RealRedis server = new RealRedis();

    private static final RedisCommands<String, String> redis =
            server.connection().sync();

    private static ScriptCall call(Limit limit) {
        ScriptCall call = new ScriptCall();
        if (limit.equals(Limit.total(400))) {
            return call.total(ROOT, 400);
        }
        if (limit.equals(BUCKET)) {
            return call.limit(ROOT, "bucket:b", "bucket", 20, 333_333, 1, 3, 20, 0, 0);
        }
        call.window(ROOT, 20, SPAN);
        long burst = limit.equals(WINDOW) ? 0 : limit.equals(WINDOW.smooth()) ? 1 : 5;
        return burst == 0
                ? call
                : call.limit(ROOT, "bucket:s", "bucket", burst, 10 * SECOND / (21 - burst), 0, 1, burst, 1, SPAN);
    }

    private static final Limit WINDOW = Limit.of(20, ofSeconds(10));
    private static final Limit BUCKET = Limit.bucket(20, 3, ofSeconds(1));

    static Stream<Arguments> limits() {
        return Stream.of(
                Arguments.of(WINDOW, 1),
                Arguments.of(WINDOW.burst(5), 2),
                Arguments.of(WINDOW.smooth(), 2),
                Arguments.of(BUCKET, 1),
                Arguments.of(Limit.total(400), 1));
    }

    private record Out(Permit permit, long at, long cost) {}

    @ParameterizedTest(name = "{0}")
    @MethodSource("limits")
    void the_script_corrects_what_a_limiter_in_memory_does(Limit limit, int parts) {
        for (int seed = 0; seed < 10; seed++) {
            redis.flushall();
            VirtualTimeScheduler time = VirtualTimeScheduler.create();
            RateLimiter memory = RateLimiter.named("memory")
                    .limit(limit.unit("tokens"))
                    .scheduler(() -> time)
                    .build();
            Random random = new Random(seed);
            List<Out> out = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                long step = i % 60 == 59 ? 1_500 * SECOND : random.nextInt((int) (3 * SECOND));
                time.advanceTimeBy(Duration.ofNanos(step * 1_000));
                long now = T + time.now(TimeUnit.MICROSECONDS);
                ScriptCall call = call(limit);
                while (!out.isEmpty() && random.nextInt(3) > 0) {
                    Out one = out.remove(random.nextInt(out.size()));
                    long actual = random.nextInt(14);
                    one.permit.settle("tokens", actual);
                    for (int part = 1; part <= parts; part++) {
                        call.correct(part, one.at, 0, 0, actual - one.cost);
                    }
                }
                long cost = 1L + random.nextInt(8);
                Decision decision = memory.tryAcquire(Demand.one().cost("tokens", cost));
                call = parts == 1 ? call.askFor(1, 1, cost, 0) : call.askFor(1, 1, cost, 0, 2, cost, 0);
                long granted = call.at(now, redis).get(2);
                assertThat(granted).as("step %s of %s: %s", i, seed, decision).isEqualTo(decision.allowed() ? 1 : 0);
                if (decision.allowed()) {
                    out.add(new Out(decision.permit(), now, cost));
                }
            }
        }
    }

    @Test
    void a_bucket_as_it_was_stored_before_it_told_when_it_was_full_gives_nothing_back_twice() {
        redis.flushall();
        redis.hset(ROOT, "bucket:b", (T + 4 * SECOND) + " 0");
        ScriptCall call = new ScriptCall().bucket(ROOT, 10, SECOND, 0, 1).correct(1, T - SECOND, 0, 0, -4);
        assertThat(call.ask(10, 0).at(T, redis).get(2)).isEqualTo(6);
    }
}
