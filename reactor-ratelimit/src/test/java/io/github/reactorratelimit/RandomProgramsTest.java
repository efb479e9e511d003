package io.github.reactorratelimit;

import io.github.reactorratelimit.RandomProgram.Op;
import io.github.reactorratelimit.RandomProgram.Step;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.Tuple;

/**
 * Random programs against the core and against the {@link Model}. Every failure prints its seed; many more programs run
 * with {@code -Djqwik.tries.default=20000}.
 */
class RandomProgramsTest {

    @Property(edgeCases = EdgeCasesMode.NONE)
    void the_core_does_what_the_model_does(@ForAll("programs") RandomProgram program) {
        new RandomProgramRun(program).run();
    }

    @Provide
    Arbitrary<RandomProgram> programs() {
        return upTo(2).flatMap(depth -> Combinators.combine(
                        upTo(2).flatMap(lanes -> shares().list().ofSize(lanes + 1)),
                        level().list().ofSize(depth + 1),
                        level().list().ofSize(depth + 1),
                        Arbitraries.of(false, false, true),
                        Arbitraries.of(Duration.ofSeconds(30), Duration.ofSeconds(2), Duration.ofMillis(500)),
                        Arbitraries.of(List.of(1_000, 1_000), List.of(1_000, 1_000), List.of(6, 3)),
                        Combinators.combine(Arbitraries.of(0.0, 0.2), Arbitraries.of(Learning.Mode.values()))
                                .as(Figures::new),
                        steps().list()
                                .ofMinSize(1)
                                .ofMaxSize(Integer.getInteger("ratelimit.program.steps", 200))
                                .withSizeDistribution(RandomDistribution.uniform()))
                .as((shares, limits, others, strict, ageing, pending, figures, steps) -> new RandomProgram(
                        shares, limits, others, strict, ageing, pending, figures.jitter, figures.learning, steps)));
    }

    private record Figures(double jitter, Learning.Mode learning) {}

    private static Arbitrary<Integer> upTo(int most) {
        return Arbitraries.integers().between(0, most).withDistribution(RandomDistribution.uniform());
    }

    private static Arbitrary<Share> shares() {
        return Arbitraries.of(1.0, 0.5, 0.34).map(Share::of);
    }

    private static Arbitrary<List<Limit>> level() {
        return upTo(2).flatMap(size -> limits().list().ofSize(size));
    }

    private static Arbitrary<Limit> limits() {
        Arbitrary<Integer> permits = upTo(5).map(n -> n + 1);
        Arbitrary<Duration> periods = Arbitraries.of(1_000, 2_000, 3_000, 700).map(Duration::ofMillis);
        Arbitrary<Limit> windows = Combinators.combine(permits, periods).as((n, period) -> Limit.of(n, period));
        Arbitrary<Limit> spaced = Combinators.combine(permits, permits, periods)
                .as((n, burst, period) -> Limit.of(n, period).burst(Math.min(n, burst)));
        Arbitrary<Limit> buckets = Combinators.combine(permits, permits, periods, upTo(3))
                .as((capacity, refill, period, kind) -> bucket(Limit.bucket(capacity, refill, period), kind));
        Arbitrary<Limit> inFlight = permits.map(Limit::inFlight);
        Arbitrary<Limit> kinds = Arbitraries.frequencyOf(
                Tuple.of(8, windows),
                Tuple.of(4, spaced),
                Tuple.of(6, buckets),
                Tuple.of(4, inFlight),
                Tuple.of(1, upTo(27).map(n -> Limit.total(n + 3))));
        return Combinators.combine(kinds, Arbitraries.of(false, false, false, true))
                .as((limit, tokens) -> tokens ? limit.unit("tokens") : limit);
    }

    private static Limit bucket(Limit bucket, int kind) {
        return kind == 1 ? bucket.startingWith(0) : kind == 2 ? bucket.borrowing() : bucket;
    }

    private static Arbitrary<Step> steps() {
        Arbitrary<Integer> small = upTo(5);
        Arbitrary<Integer> any = upTo(839);
        return Combinators.combine(ops(), small, small, any, small, any, any).as(Step::new);
    }

    private static Arbitrary<Op> ops() {
        List<Op> often = new ArrayList<>(List.of(Op.values()));
        often.removeAll(List.of(Op.DISPOSE, Op.CHANGE));
        for (int i = 0; i < 14; i++) {
            often.add(Op.ACQUIRE);
        }
        for (int i = 0; i < 4; i++) {
            often.addAll(List.of(Op.TIME, Op.TO_NEXT, Op.RELEASE));
        }
        return Arbitraries.frequencyOf(
                Tuple.of(1_000, Arbitraries.of(often)),
                Tuple.of(15, Arbitraries.just(Op.CHANGE)),
                Tuple.of(1, Arbitraries.just(Op.DISPOSE)));
    }
}
