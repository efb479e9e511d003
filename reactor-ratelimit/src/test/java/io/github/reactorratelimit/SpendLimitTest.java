package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimitListener.Ending;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** One dollar for all models: streams, refusals, fallbacks and callers who hang up. */
class SpendLimitTest {

    private static final long DOLLAR = 1_000_000;
    private static final PriceTable PRICES =
            PriceTable.empty().with("large", "8", "8").with("small", "0.42", "0.42");

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final Random random = new Random(1);
    private final Map<String, Long> told = new TreeMap<>();
    private final Map<String, Integer> served = new TreeMap<>();
    private final RateLimiter limiter = RateLimiter.named("chat")
            .limit(Limit.total(DOLLAR).unit(PriceTable.UNIT), Limit.inFlight(20))
            .scope(Scope.by("model")
                    .limit(
                            "large",
                            Limit.of(60, ofMinutes(1)),
                            Limit.of(30_000, ofMinutes(1)).unit("tokens"))
                    .limit("small", Limit.bucket(40, 10, ofSeconds(1))))
            .scheduler(() -> time)
            .jitter(0)
            .random(() -> 0.5)
            .listener(new RateLimitListener() {
                @Override
                public void granted(Subject who, Duration waited) {
                    add(who, who.demand().cost(PriceTable.UNIT));
                }

                @Override
                public void settled(Subject who, String unit, long asked, long actual) {
                    add(who, unit.equals(PriceTable.UNIT) ? actual - asked : 0);
                }

                @Override
                public void released(Subject who, Duration held, Ending ending) {
                    add(who, ending == Ending.REFUNDED ? -who.demand().cost(PriceTable.UNIT) : 0);
                }

                private void add(Subject who, long cost) {
                    told.merge(String.valueOf(who.demand().attribute("model")), cost, Long::sum);
                }
            })
            .build();
    /** What the models really charge, whoever hears of it. */
    private long charged;

    private long worstOverrun;
    /** What calls cost more than they were thought to, and nobody told because they broke off. */
    private long unheard;

    private int broke;

    private PermitSource model(String name) {
        return limiter.calls().idempotent(true).asking(demand -> demand.and("model", name));
    }

    private long left() {
        return limiter.snapshot().root().limits().get(0).available();
    }

    /** A stream of up to ten pieces; its last tells what it cost, which may be more than was thought. */
    private Flux<String> stream(Exchange attempt, String name, long prompt, long most, double overrun) {
        int end = random.nextInt(10);
        if (end == 0) {
            attempt.hear(
                    RateLimitSignal.of(429).throttled(true).delay(ofMillis(200)).build());
            attempt.settle(PriceTable.UNIT, 0);
            return Flux.error(new IllegalStateException("refused"));
        }
        long cost = PRICES.microDollars(name, prompt, (long) (most * overrun * random.nextDouble()));
        long bound = PRICES.microDollars(name, prompt, most);
        long more = Math.max(0, cost - bound);
        worstOverrun = Math.max(worstOverrun, more);
        unheard += more;
        charged += cost;
        Flux<String> pieces =
                Flux.interval(ofMillis(20), time).take(1 + random.nextInt(10)).map(n -> name);
        if (end == 1) {
            return pieces.concatWith(Mono.error(new IllegalStateException("cut off")));
        }
        return pieces.doOnComplete(() -> {
            unheard -= more;
            attempt.settle("tokens", prompt + most / 2);
            attempt.settle(PriceTable.UNIT, cost);
        });
    }

    private void run(double overrun) {
        PermitSource large = model("large");
        PermitSource small = model("small");
        Fallback models = PermitSource.firstWithin(ofMillis(300), large, small)
                .when(error -> error instanceof IllegalStateException);
        for (int i = 0; i < 3_000; i++) {
            long prompt = 20L + random.nextInt(300);
            long most = 100L + random.nextInt(400);
            Disposable call = models.<String>useMany(
                            source -> Demand.one()
                                    .maxWait(ofSeconds(20))
                                    .cost("tokens", source == large ? prompt + most : 0)
                                    .cost(
                                            PriceTable.UNIT,
                                            PRICES.microDollars(source == large ? "large" : "small", prompt, most)),
                            attempt -> stream(
                                    attempt, attempt.source() == large ? "large" : "small", prompt, most, overrun))
                    .doOnNext(name -> served.merge(name, 1, Integer::sum))
                    .subscribe(piece -> {}, error -> broke++);
            if (i % 7 == 0) {
                time.schedule(call::dispose, random.nextInt(150), TimeUnit.MILLISECONDS);
            }
            time.advanceTimeBy(ofMillis(random.nextInt(60)));
            assertThat(told.values().stream().mapToLong(Long::longValue).sum())
                    .as("the figure shown live")
                    .isEqualTo(DOLLAR - left());
        }
        time.advanceTimeBy(ofMinutes(5));
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.5, 1, 4})
    void no_more_is_spent_than_a_dollar_and_what_the_calls_in_flight_overran(double overrun) {
        run(overrun);
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().root().limits().get(1).available()).isEqualTo(20);
        assertThat(served).containsOnlyKeys("large", "small");
        assertThat(broke).isPositive();
        assertThat(charged).isLessThanOrEqualTo(DOLLAR + 20 * worstOverrun + unheard);
        if (overrun <= 1) {
            assertThat(left()).isNotNegative();
            assertThat(charged).isLessThanOrEqualTo(DOLLAR);
        }
        assertThat(left()).isGreaterThanOrEqualTo(-20 * worstOverrun);
    }

    @Test
    void of_several_keys_of_one_api_the_one_with_room_serves_whatever_happens_to_the_others() {
        RateLimiter api = RateLimiter.named("api")
                .scope(Scope.by("token").limits(Limit.of(600, ofMinutes(1)).unit("tokens"), Limit.of(9, ofMinutes(1))))
                .scheduler(() -> time)
                .jitter(0)
                .build();
        List<PermitSource> keys = new ArrayList<>();
        for (String key : List.of("a", "b", "c")) {
            keys.add(api.asking(demand -> demand.and("token", key)));
        }
        Fallback any = PermitSource.firstWithin(ZERO, keys.get(0), keys.get(1), keys.get(2));
        List<Integer> used = new ArrayList<>();
        List<Exchange> attempts = new ArrayList<>();
        Demand demand = Demand.one().cost("tokens", 300);
        for (int i = 0; i < 6; i++) {
            any.use(source -> demand, attempt -> {
                        attempts.add(attempt);
                        used.add(keys.indexOf(attempt.source()));
                        return Mono.just("answer");
                    })
                    .subscribe();
        }
        assertThat(used).as("two each, in the order preferred").containsExactly(0, 0, 1, 1, 2, 2);
        attempts.get(3).settle("tokens", 0);
        attempts.get(4).settle("tokens", 900);
        any.use(source -> demand, attempt -> Mono.fromRunnable(() -> used.add(keys.indexOf(attempt.source()))))
                .subscribe();
        assertThat(used).as("the one that got room back").endsWith(1).hasSize(7);
        time.advanceTimeBy(ofMinutes(2));
        api.pause(Demand.of("token", "a"), ofMinutes(1));
        attempts.clear();
        any.use(source -> demand, attempt -> {
                    attempts.add(attempt);
                    return Mono.just("answer");
                })
                .subscribe();
        assertThat(attempts.get(0).source()).as("the first is closed").isEqualTo(keys.get(1));
        assertThat(any.acquire(demand.cost("tokens", 700))
                        .map(permit -> "granted")
                        .onErrorReturn("never")
                        .block())
                .as("none ever has so much")
                .isEqualTo("never");
    }

    @Test
    void a_decision_says_of_a_spent_budget_that_no_time_helps() {
        RateLimiter spent = RateLimiter.of(Limit.total(1).unit("money"));
        spent.tryAcquire(Demand.one().cost("money", 1));
        assertThat(spent.tryAcquire(Demand.one().cost("money", 1)))
                .hasToString("refused for an unknown time, 0 left of 1 money in all");
    }

    @Test
    void a_refusal_for_good_does_not_speak_of_waiting_too() {
        RateLimitSignal signal = RateLimitSignal.of(429)
                .throttled(true)
                .terminal("insufficient_quota")
                .reason("refused without a hint: the limiter's own backoff decides")
                .build();
        TerminalThrottleException failure =
                new TerminalThrottleException("llm", List.of(), "insufficient_quota", signal, null);
        assertThat(failure).hasMessageContaining("Waiting does not help").hasMessageNotContaining("backoff decides");
        assertThat(failure.signal()).isEqualTo(signal);
    }
}
