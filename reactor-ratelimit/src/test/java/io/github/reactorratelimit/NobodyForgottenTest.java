package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Whatever callers do, and in whatever order: nobody is forgotten, nothing is granted twice, and all comes back. */
class NobodyForgottenTest {

    private static final int PROGRAMS = 3_000;
    private static final int STEPS = 60;

    /** One program: its limiter, and what is on its way. */
    private static final class Program {
        private final VirtualTime time = new VirtualTime();
        private final Random random;
        private final RateLimiter limiter;
        private final List<Asked> all = new ArrayList<>();
        private final List<Asked> open = new ArrayList<>();
        private final List<Asked> cancelled = new ArrayList<>();
        private final List<Permit> atOnce = new ArrayList<>();

        private Program(long seed) {
            random = new Random(seed);
            RateLimiterSpec spec = time.spec()
                    .limit(limits(random.nextInt(4)))
                    .scope(Scope.by("tenant").limits(limits(random.nextInt(3))))
                    .ageing(ofSeconds(1 + random.nextInt(20)))
                    .forgetAfter(ofSeconds(1 + random.nextInt(5)));
            if (random.nextBoolean()) {
                spec = spec.scope(Scope.by("user").limits(limits(random.nextInt(3))));
            }
            if (random.nextBoolean()) {
                spec = spec.lane("background", Share.of(random.nextBoolean() ? 1 : 0.5));
            }
            limiter = spec.build();
        }

        private Limit[] limits(int count) {
            Limit[] limits = new Limit[count];
            for (int i = 0; i < count; i++) {
                int permits = 4 + random.nextInt(6);
                Duration period = ofMillis(1 + random.nextInt(5_000));
                limits[i] = switch (random.nextInt(5)) {
                    case 0 -> Limit.inFlight(permits);
                    case 1 -> Limit.bucket(permits, 1 + random.nextInt(9), period);
                    case 2 -> Limit.of(permits, period).burst(1 + random.nextInt(permits));
                    case 3 -> Limit.of(permits, period).unit("points");
                    default -> Limit.of(permits, period);
                };
            }
            return limits;
        }

        private Demand demand() {
            Demand demand = Demand.of("tenant", "t" + random.nextInt(3))
                    .and("user", "u" + random.nextInt(3))
                    .cost(1 + random.nextInt(2))
                    .cost("points", random.nextInt(3));
            if (limiter.spec().settings().lanes().count() > 1 && random.nextBoolean()) {
                demand = demand.lane("background");
            }
            return random.nextInt(4) == 0 ? demand.maxWait(ofMillis(random.nextInt(9_000))) : demand;
        }

        private void step() {
            switch (random.nextInt(12)) {
                case 0, 1, 2, 3 -> {
                    Asked asked = time.ask(limiter, demand());
                    all.add(asked);
                    open.add(asked);
                }
                case 4 -> {
                    Decision decision = limiter.tryAcquire(demand());
                    if (decision.allowed()) {
                        atOnce.add(decision.permit());
                    }
                }
                case 5, 6 -> end();
                case 7 -> {
                    if (!open.isEmpty()) {
                        Asked asked = open.get(random.nextInt(open.size()));
                        if (asked.isWaiting()) {
                            open.remove(asked);
                            cancelled.add(asked);
                            asked.cancel();
                        }
                    }
                }
                case 8 -> settle();
                case 9 -> {
                    if (random.nextInt(4) == 0) {
                        limiter.pause(demand(), ofMillis(random.nextInt(4_000)));
                    } else if (random.nextInt(4) == 0) {
                        limiter.resume(demand());
                    }
                }
                default -> time.advance(ofMillis(random.nextInt(2_000)));
            }
        }

        private void settle() {
            if (!open.isEmpty()) {
                Asked asked = open.get(random.nextInt(open.size()));
                if (asked.isGranted()) {
                    asked.permit().settle(random.nextBoolean() ? "points" : "requests", random.nextInt(4));
                }
            }
        }

        private void end() {
            if (!atOnce.isEmpty() && random.nextBoolean()) {
                atOnce.remove(0).release();
            } else if (!open.isEmpty()) {
                Asked asked = open.get(random.nextInt(open.size()));
                if (asked.isGranted()) {
                    open.remove(asked);
                    asked.permit().complete(signal());
                }
            }
        }

        private RateLimitSignal signal() {
            return switch (random.nextInt(12)) {
                case 0 -> RateLimitSignal.of(429).throttled(true).build();
                case 1 ->
                    RateLimitSignal.of(429)
                            .throttled(true)
                            .delay(ofMillis(random.nextInt(3_000)))
                            .build();
                default -> RateLimitSignal.none(200);
            };
        }

        /** Everybody ends what was granted, and time goes on; nothing else is done for those who wait. */
        private void finish() {
            atOnce.forEach(Permit::release);
            for (int minute = 0; minute < 60 && all.stream().anyMatch(this::isPending); minute++) {
                for (Asked asked : List.copyOf(open)) {
                    if (asked.isGranted()) {
                        open.remove(asked);
                        asked.permit().release();
                    }
                }
                time.advance(ofMinutes(1));
            }
            open.stream()
                    .filter(Asked::isGranted)
                    .forEach(asked -> asked.permit().release());
        }

        private boolean isPending(Asked asked) {
            return asked.isWaiting() && !cancelled.contains(asked);
        }
    }

    @Test
    void nobody_who_waits_is_forgotten_and_everything_comes_back() {
        for (long seed = 0; seed < PROGRAMS; seed++) {
            Program program = new Program(seed);
            for (int i = 0; i < STEPS; i++) {
                program.step();
            }
            program.finish();
            assertThat(program.all.stream().filter(program::isPending).count())
                    .as("still waiting in program %s", seed)
                    .isZero();
            assertThat(program.cancelled).as("cancelled in program %s", seed).allMatch(Asked::isWaiting);
            assertAllIsBack(program, seed);
        }
    }

    private static void assertAllIsBack(Program program, long seed) {
        program.time.advance(Duration.ofHours(1));
        RateLimiterSnapshot snapshot = program.limiter.snapshot();
        assertThat(snapshot.waiting()).isZero();
        assertThat(snapshot.timers()).as("timers of program %s", seed).isZero();
        assertThat(program.time.timers()).as("scheduled by program %s", seed).isZero();
        for (ScopeState scope : snapshot.scopes()) {
            assertThat(scope.lines()).isEmpty();
            for (LimitState state : scope.limits()) {
                assertThat(state.fullAfter())
                        .as("%s of program %s", state, seed)
                        .isEqualTo(Duration.ZERO);
            }
        }
    }

    @Test
    void no_program_gets_more_than_the_root_limits_allow() {
        for (long seed = 0; seed < PROGRAMS / 3; seed++) {
            Random random = new Random(seed);
            VirtualTime time = new VirtualTime();
            int permits = 1 + random.nextInt(6);
            Duration period = ofMillis(100 + random.nextInt(5_000));
            RateLimiter limiter = time.spec()
                    .limit(Limit.of(permits, period), Limit.bucket(permits, permits, period))
                    .scope(Scope.by("user"))
                    .lane("background", Share.of(1))
                    .build();
            List<Asked> all = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                Demand demand = Demand.of("user", "u" + random.nextInt(4));
                all.add(time.ask(limiter, random.nextBoolean() ? demand : demand.lane("background")));
                if (random.nextInt(5) == 0) {
                    all.remove(random.nextInt(all.size())).cancel();
                }
                time.advance(ofMillis(random.nextInt(400)));
            }
            time.advance(ofMinutes(10));
            List<Duration> grants = all.stream().map(Asked::at).sorted().toList();
            for (int i = permits; i < grants.size(); i++) {
                assertThat(grants.get(i).minus(grants.get(i - permits)))
                        .as("%s grants in a row of program %s", permits + 1, seed)
                        .isGreaterThan(period);
            }
        }
    }
}
