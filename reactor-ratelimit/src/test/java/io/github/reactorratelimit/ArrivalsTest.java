package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.util.context.Context;

/**
 * Those who ask for the same right behind each other are let in together, and nobody can tell: the store hears the same as
 * if each had been let in by itself, and the same callers have their permits.
 */
class ArrivalsTest {

    static LongStream seeds() {
        return LongStream.range(0, 200);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void letting_many_in_together_is_like_letting_each_in_by_itself(long seed) {
        Run together = new Run(seed, 1);
        Run eachByItself = new Run(seed, 2);
        for (int step = 0; step < 60; step++) {
            together.step();
            eachByItself.step();
            assertThat(together.told).as("seed %d, step %d", seed, step).isEqualTo(eachByItself.told);
            assertThat(together.store.batches)
                    .as("seed %d, step %d", seed, step)
                    .isEqualTo(eachByItself.store.batches);
            assertThat(together.limiter.snapshot())
                    .as("seed %d, step %d", seed, step)
                    .isEqualTo(eachByItself.limiter.snapshot());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7})
    void a_key_is_known_as_long_as_one_of_those_who_were_let_in_together_holds_it(int last) {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        HandStore store = new HandStore();
        RateLimiter limiter = RateLimiter.named("held")
                .scope(Scope.by("user").limits(Limit.of(100_000, ofSeconds(10))))
                .scheduler(() -> time)
                .build(store);
        Demand anna = Demand.of("user", "anna");
        List<Sinks.One<Integer>> held = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            goOn(limiter, anna, 20, held);
        }
        while (!store.open.isEmpty()) {
            store.answer();
        }
        assertThat(held).hasSize(8);
        held.remove(last);
        held.forEach(call -> call.tryEmitValue(0));
        time.advanceTimeBy(ofMinutes(20));
        limiter.acquire(Demand.of("user", "ben")).subscribe();
        assertThat(limiter.snapshot().scopes()).extracting(ScopeState::keys).contains(List.of("user=anna"));
    }

    /** One call after the other, the last of which is held. */
    private static void goOn(RateLimiter limiter, Demand demand, int rounds, List<Sinks.One<Integer>> held) {
        Mono<Integer> call = Mono.defer(() -> {
            if (rounds > 0) {
                return Mono.just(rounds);
            }
            held.add(Sinks.one());
            return held.get(held.size() - 1).asMono();
        });
        call.transform(limiter.calls().retry(RetryPolicy.none().noTimeout()).limit(demand))
                .filter(answer -> answer > 0)
                .subscribe(answer -> goOn(limiter, demand, rounds - 1, held));
    }

    /** A random program. Who asks takes its demand from so many equal ones in turn. */
    private static final class Run {

        private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
        private final HandStore store = new HandStore();
        private final Random random;
        private final RateLimiter limiter;
        private final Demand[][] demands;
        private final List<String> told = new ArrayList<>();
        private final List<Caller> callers = new ArrayList<>();
        private final List<Permit> permits = new ArrayList<>();
        private final List<Sinks.One<Integer>> calls = new ArrayList<>();
        private final boolean lanes;
        private int asked;

        Run(long seed, int each) {
            random = new Random(seed);
            RateLimiterSpec spec = RateLimiter.named("busy")
                    .jitter(0)
                    .scheduler(() -> time)
                    .limit(Limit.of(500 + random.nextInt(100_000), ofSeconds(10)));
            if (random.nextBoolean()) {
                spec = spec.limit(Limit.bucket(1_000, 300 + random.nextInt(20_000), ofSeconds(1)));
            }
            if (random.nextInt(3) == 0) {
                spec = spec.learn();
            }
            lanes = random.nextInt(3) == 0;
            if (lanes) {
                spec = spec.lane("fast", Share.of(1)).lane("slow", Share.of(0.1));
            }
            if (random.nextBoolean()) {
                spec = spec.scope(Scope.by("user").limits(Limit.of(400 + random.nextInt(10_000), ofSeconds(5))));
            }
            limiter = spec.build(store);
            int scarce = random.nextInt(4);
            store.ahead = ask -> scarce == 0 ? ask.ahead() / 2 : ask.ahead();
            demands = new Demand[4][each];
            for (int i = 0; i < each; i++) {
                demands[0][i] = Demand.of("user", "anna");
                demands[1][i] = Demand.of("user", "anna").cost(3);
                demands[2][i] = Demand.of("user", "ben");
                Demand slow = Demand.of("user", "anna").maxWait(ofSeconds(3));
                demands[3][i] = lanes ? slow.lane("slow") : slow;
            }
            touchAll();
        }

        /** Whose key isn't known, or not any more, is let in after those whose is. */
        private void touchAll() {
            for (int i = 0; i < 8; i++) {
                Demand[] equal = demands[i / 2];
                limiter.acquire(equal[i % equal.length]).subscribe().dispose();
            }
        }

        private void step() {
            switch (random.nextInt(15)) {
                case 0, 1, 2 -> start(1 + random.nextInt(40), 1 + random.nextInt(60));
                case 3, 4, 5, 6, 7 -> {
                    if (!store.open.isEmpty()) {
                        store.answer();
                    }
                }
                case 8 -> time.advanceTimeBy(ofMillis(random.nextInt(3)));
                case 9 -> time.advanceTimeBy(ofMillis(random.nextInt(3_000)));
                case 10 -> halfOf(permits, Permit::release);
                case 11 -> halfOf(calls, Sinks.One::tryEmitEmpty);
                default -> {
                    if (!permits.isEmpty()) {
                        rarely(permits.get(random.nextInt(permits.size())));
                    }
                }
            }
        }

        private <T> void halfOf(List<T> all, Consumer<T> end) {
            List<T> half = all.subList(0, (all.size() + 1) / 2);
            List<T> ended = List.copyOf(half);
            half.clear();
            ended.forEach(end);
        }

        private void rarely(Permit permit) {
            switch (random.nextInt(16)) {
                case 0 -> permit.hear(RateLimitSignal.of(429).build());
                case 1 ->
                    permit.hear(RateLimitSignal.of(200).quotas(List.of(quota())).build());
                case 2, 3, 4, 5 -> {
                    time.advanceTimeBy(ofMinutes(20)); // Keys that nobody uses are forgotten.
                    touchAll();
                }
                case 6 -> limiter.reset(demands[0][0]).subscribe();
                default -> permit.settle("requests", random.nextInt(5));
            }
        }

        private Quota quota() {
            return new Quota(
                    "", "requests", 20_000, 5_000 + random.nextInt(9_000), -1, ofSeconds(60), null, null, false);
        }

        private void start(int count, int rounds) {
            int kind = random.nextInt(5);
            boolean attempts = random.nextInt(3) == 0;
            for (int i = 0; i < count; i++) {
                Caller caller = new Caller(callers.size(), kind, attempts, rounds);
                callers.add(caller);
                caller.ask();
            }
        }

        /** Asks for its next permit as soon as it has one. */
        private final class Caller {

            private final int number;
            private final int kind;
            private final boolean attempts;
            private int left;

            Caller(int number, int kind, boolean attempts, int rounds) {
                this.number = number;
                this.kind = kind;
                this.attempts = attempts;
                this.left = rounds;
            }

            void ask() {
                if (left-- > 0) {
                    Demand[] equal = demands[kind < 4 ? kind : left % 4];
                    Demand demand = equal[asked++ % equal.length];
                    if (left % 29 == 0) {
                        limiter.ask(demand).subscribe(new Answer());
                    } else if (attempts) {
                        Sinks.One<Integer> call = Sinks.one();
                        Mono.deferContextual(context -> {
                                    told.add(RateLimitContext.waited(context) + " of " + number);
                                    calls.add(call);
                                    return number % 3 == 0 ? Mono.just(1) : call.asMono();
                                })
                                .transform(limiter.limit(demand))
                                .subscribe(new Answer());
                    } else {
                        limiter.acquire(demand).subscribe(new Answer());
                    }
                }
            }

            private final class Answer extends BaseSubscriber<Object> {

                @Override
                public Context currentContext() {
                    return lanes && number % 2 == 0
                            ? RateLimitContext.lane("slow").apply(Context.empty())
                            : Context.empty();
                }

                @Override
                protected void hookOnSubscribe(Subscription subscription) {
                    subscription.request(1);
                    if ((number + left) % 17 == 0) {
                        cancel();
                        told.add("cancelled " + number);
                    }
                }

                @Override
                protected void hookOnNext(Object answer) {
                    told.add((answer instanceof Permit ? "granted" : answer) + " for " + number);
                    if (answer instanceof Permit permit && (number + left) % 13 == 0) {
                        permit.release();
                    } else if (answer instanceof Permit permit) {
                        permits.add(permit);
                    }
                }

                @Override
                protected void hookOnComplete() {
                    ask();
                }

                @Override
                protected void hookOnError(Throwable error) {
                    told.add(number + ": " + error.getMessage());
                }
            }
        }
    }
}
