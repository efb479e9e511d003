package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Calls whose real cost is known only at their end: requests, tokens and money in one demand. */
class EstimatedCostsTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter limiter(Limit... limits) {
        return RateLimiter.named("llm")
                .limit(limits)
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5)
                .build();
    }

    private static long available(RateLimiter limiter, int limit) {
        return limiter.snapshot().root().limits().get(limit).available();
    }

    private static Demand tokens(long tokens) {
        return Demand.one().cost("tokens", tokens);
    }

    @Test
    void one_demand_takes_requests_tokens_and_money_or_nothing() {
        RateLimiter limiter = limiter(
                Limit.of(60, ofMinutes(1)),
                Limit.of(100_000, ofMinutes(1)).unit("tokens"),
                Limit.total(10_000).unit(PriceTable.UNIT));
        Demand demand = tokens(1_200).cost(PriceTable.UNIT, 9_600);
        assertThat(limiter.tryAcquire(demand).allowed()).isTrue();
        Decision second = limiter.tryAcquire(demand);
        assertThat(second.allowed()).isFalse();
        assertThat(second.retryAfter()).isNull();
        assertThat(second.limit()).isEqualTo(Limit.total(10_000).unit(PriceTable.UNIT));
        assertThat(available(limiter, 0)).isEqualTo(59);
        assertThat(available(limiter, 1)).isEqualTo(98_800);
    }

    @Test
    void a_limit_that_a_demand_costs_nothing_has_no_say_and_is_not_shown() {
        Limit tokens = Limit.total(10).unit("tokens");
        RateLimiter limiter = limiter(Limit.of(60, ofMinutes(1)), tokens);
        assertThat(limiter.tryAcquire(tokens(10)).limit()).isEqualTo(tokens);
        Decision free = limiter.tryAcquire(Demand.one());
        assertThat(free.allowed()).isTrue();
        assertThat(free.limit()).isEqualTo(Limit.of(60, ofMinutes(1)));
        assertThat(free.remaining()).isEqualTo(58);
    }

    @Test
    void what_an_answer_used_less_serves_those_who_wait_at_once() {
        RateLimiter limiter = limiter(Limit.of(1_000, ofMinutes(1)).unit("tokens"));
        Sinks.One<String> answer = Sinks.one();
        limiter.use(source -> tokens(900), permit -> answer.asMono().doOnNext(text -> permit.settle("tokens", 100)))
                .subscribe();
        Disposable next =
                limiter.use(source -> tokens(900), permit -> Mono.never()).subscribe();
        assertThat(limiter.snapshot().waiting()).isOne();
        answer.tryEmitValue("short");
        assertThat(limiter.snapshot().waiting()).isZero();
        next.dispose();
    }

    @Test
    void a_stream_is_settled_by_its_last_piece_and_holds_its_place_until_then() {
        RateLimiter limiter =
                limiter(Limit.inFlight(1), Limit.of(1_000, ofMinutes(1)).unit("tokens"));
        Sinks.Many<Long> pieces = Sinks.many().unicast().onBackpressureBuffer();
        limiter.<Long>useMany(
                        source -> tokens(100),
                        permit -> pieces.asFlux().doOnNext(used -> {
                            if (used > 0) {
                                permit.settle("tokens", used);
                            }
                        }))
                .subscribe();
        pieces.tryEmitNext(0L);
        time.advanceTimeBy(ofSeconds(10));
        assertThat(available(limiter, 0)).isZero();
        pieces.tryEmitNext(700L);
        assertThat(available(limiter, 1)).isEqualTo(300);
        pieces.tryEmitComplete();
        assertThat(available(limiter, 0)).isOne();
    }

    @Test
    void an_overload_told_within_a_stream_stops_those_who_come_later() {
        RateLimiter limiter = limiter(Limit.inFlight(5));
        Sinks.Many<String> events = Sinks.many().unicast().onBackpressureBuffer();
        limiter.<String>useMany(
                        source -> Demand.one(),
                        permit -> events.asFlux().doOnNext(event -> {
                            if (event.equals("overloaded")) {
                                permit.hear(RateLimitSignal.of(529)
                                        .throttled(true)
                                        .delay(ofSeconds(7))
                                        .build());
                            }
                        }))
                .subscribe();
        events.tryEmitNext("hello");
        events.tryEmitNext("overloaded");
        assertThat(limiter.tryAcquire().retryAfter()).isEqualTo(ofSeconds(7));
        events.tryEmitComplete();
        time.advanceTimeBy(ofSeconds(7));
        assertThat(limiter.tryAcquire().allowed()).isTrue();
    }

    @Test
    void several_answers_in_one_that_cost_less_serve_those_who_wait_though_a_head_came_before() {
        RateLimiter limiter = limiter(Limit.bucket(5, 1, ofMinutes(1)));
        BarePermit batch = (BarePermit) limiter.tryAcquire(Demand.one().cost(5)).permit();
        Disposable next =
                limiter.use(source -> tokens(0), permit -> Mono.never()).subscribe();
        assertThat(limiter.snapshot().waiting()).isOne();
        batch.admission.answers().hearAll(batch, List.of(RateLimitSignal.none(200)), 3, 0);
        assertThat(limiter.snapshot().waiting()).isZero();
        next.dispose();
    }

    @Test
    void a_refused_attempt_counts_as_a_request_and_costs_nothing_else() {
        List<String> settled = new ArrayList<>();
        RateLimiter limiter = RateLimiter.named("llm")
                .limit(
                        Limit.of(60, ofMinutes(1)),
                        Limit.of(10_000, ofMinutes(1)).unit("tokens"),
                        Limit.total(10_000).unit(PriceTable.UNIT))
                .scheduler(() -> time)
                .jitter(0)
                .listener(new RateLimitListener() {
                    @Override
                    public void settled(Subject who, String unit, long asked, long actual) {
                        settled.add(unit + " " + asked + " -> " + actual);
                    }
                })
                .build();
        RetryScript server = new RetryScript(time)
                .then(429, "Retry-After", "1")
                .then(503, "Retry-After", "1")
                .then(200);
        server.on(limiter.calls())
                .use(source -> tokens(1_000).cost(PriceTable.UNIT, 4_000), permit -> server.call())
                .subscribe();
        time.advanceTimeBy(ofSeconds(5));
        assertThat(server.wire()).isEqualTo(3);
        assertThat(available(limiter, 0)).isEqualTo(57);
        assertThat(available(limiter, 1)).isEqualTo(9_000);
        assertThat(available(limiter, 2)).isEqualTo(6_000);
        assertThat(settled)
                .containsExactly(
                        "tokens 1000 -> 0", "micro-dollars 4000 -> 0", "tokens 1000 -> 0", "micro-dollars 4000 -> 0");
    }

    @Test
    void an_overload_that_a_stream_tells_after_its_first_piece_leaves_it_charged() {
        RateLimiter limiter = limiter(Limit.total(10_000).unit(PriceTable.UNIT));
        Sinks.Many<String> events = Sinks.many().unicast().onBackpressureBuffer();
        limiter.<String>useMany(
                        source -> Demand.one().cost(PriceTable.UNIT, 100),
                        permit -> events.asFlux().doOnNext(event -> {
                            if (event.equals("overloaded")) {
                                permit.hear(
                                        RateLimitSignal.of(529).throttled(true).build());
                            }
                        }))
                .subscribe();
        events.tryEmitNext("piece");
        events.tryEmitNext("overloaded");
        events.tryEmitComplete();
        assertThat(available(limiter, 0)).isEqualTo(9_900);
        time.advanceTimeBy(ofMinutes(1));
        Permit bare =
                limiter.tryAcquire(Demand.one().cost(PriceTable.UNIT, 100)).permit();
        bare.hear(RateLimitSignal.none(200));
        bare.complete(RateLimitSignal.of(529).throttled(true).build());
        assertThat(available(limiter, 0)).isEqualTo(9_800);
    }

    @Test
    void a_failure_that_is_no_refusal_stays_charged_and_so_does_an_overload_within_an_answer() {
        RateLimiter limiter = limiter(Limit.total(10_000).unit(PriceTable.UNIT), Limit.inFlight(9));
        Demand demand = Demand.one().cost(PriceTable.UNIT, 100);
        limiter.tryAcquire(demand).permit().complete(RateLimitSignal.none(500));
        limiter.tryAcquire(demand)
                .permit()
                .complete(RateLimitSignal.of(200).throttled(true).build());
        assertThat(available(limiter, 0)).isEqualTo(9_800);
    }

    @Test
    void a_call_that_breaks_off_after_it_was_sent_stays_charged() {
        RateLimiter limiter = limiter(Limit.of(1_000, ofMinutes(1)).unit("tokens"));
        limiter.use(source -> tokens(100), permit -> Mono.never()).subscribe().dispose();
        limiter.use(source -> tokens(100), permit -> Mono.error(new IllegalStateException("cut")))
                .subscribe(nothing -> {}, error -> {});
        assertThat(available(limiter, 0)).isEqualTo(800);
    }

    @Test
    void a_limit_of_money_is_passed_by_no_more_than_the_calls_in_flight_overran() {
        long budget = 1_000_000;
        RateLimiter limiter = limiter(Limit.inFlight(4), Limit.total(budget).unit(PriceTable.UNIT));
        Random random = new Random(7);
        AtomicLong spent = new AtomicLong();
        AtomicLong worstOverrun = new AtomicLong();
        AtomicLong refused = new AtomicLong();
        Flux.range(0, 2_000)
                .flatMap(
                        n -> {
                            long estimate = 500L + random.nextInt(1_000);
                            long actual = estimate * (1L + random.nextInt(4)) / 2;
                            worstOverrun.accumulateAndGet(actual - estimate, Math::max);
                            return limiter.use(
                                            source -> Demand.one().cost(PriceTable.UNIT, estimate),
                                            permit -> Mono.delay(ofMillis(100), time)
                                                    .doOnNext(tick -> {
                                                        permit.settle(PriceTable.UNIT, actual);
                                                        spent.addAndGet(actual);
                                                    }))
                                    .onErrorResume(RateLimitedException.class, no -> {
                                        refused.incrementAndGet();
                                        return Mono.empty();
                                    });
                        },
                        64)
                .subscribe();
        time.advanceTimeBy(ofMinutes(10));
        assertThat(spent.get()).isBetween(budget - 2_000, budget + 4 * worstOverrun.get());
        assertThat(available(limiter, 1)).isEqualTo(budget - spent.get());
        assertThat(refused).hasPositiveValue();
    }

    @Test
    void books_balance_after_a_hundred_thousand_calls_that_were_estimated_wrongly() {
        long budget = 1L << 50;
        RateLimiter limiter = limiter(
                Limit.inFlight(50),
                Limit.of(40_000_000, ofMinutes(1)).unit("tokens"),
                Limit.total(budget).unit("money"));
        Random random = new Random(42);
        AtomicLong charged = new AtomicLong();
        AtomicLong calls = new AtomicLong();
        Duration step = ofMillis(20);
        for (int i = 0; i < 100_000; i++) {
            one(limiter, random, charged, calls);
            if (i % 20 == 0) {
                time.advanceTimeBy(step);
            }
        }
        time.advanceTimeBy(ofMinutes(1));
        assertThat(calls.get()).isEqualTo(100_000);
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(available(limiter, 0)).isEqualTo(50);
        assertThat(available(limiter, 2)).as("each micro-dollar").isEqualTo(budget - charged.get());
        time.advanceTimeBy(ofMinutes(2));
        assertThat(available(limiter, 1)).isEqualTo(40_000_000);
        assertThat(limiter.snapshot().timers()).isZero();
    }

    /** One call that is off by up to ten times, and ends in one of the ways that calls end in. */
    private void one(RateLimiter limiter, Random random, AtomicLong charged, AtomicLong calls) {
        long estimate = 10L + random.nextInt(2_000);
        long actual = (long) (estimate * Math.pow(10, random.nextDouble() * 2 - 1));
        int end = random.nextInt(5);
        AtomicLong cost = new AtomicLong();
        Mono<String> call = limiter.use(
                source -> tokens(estimate).cost("money", estimate),
                permit -> Mono.delay(ofMillis(1 + random.nextInt(50)), time)
                        .flatMap(tick -> {
                            cost.set(estimate);
                            if (end == 0 || end == 3) {
                                permit.settle("tokens", actual);
                                permit.settle("money", actual);
                                permit.settle("money", 7); // Only the first correction counts.
                                cost.set(actual);
                            }
                            return end == 1 ? Mono.error(new IllegalStateException("cut off")) : Mono.just("answer");
                        })
                        .doOnSubscribe(subscription -> cost.set(estimate)));
        Disposable running = call.doFinally(how -> {
                    charged.addAndGet(cost.get());
                    calls.incrementAndGet();
                })
                .subscribe(answer -> {}, error -> {});
        if (end == 2) {
            running.dispose(); // Waiting, or sent already.
        } else if (end == 3) {
            time.schedule(running::dispose, random.nextInt(60), java.util.concurrent.TimeUnit.MILLISECONDS);
        }
    }
}
