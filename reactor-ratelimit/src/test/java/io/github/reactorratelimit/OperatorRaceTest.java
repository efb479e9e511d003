package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.Response;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;

/**
 * What happens in the same instant on two real threads: a grant, an answer, a timeout, a cancel, a disposal. 20,000 rounds
 * each; {@code -Dratelimit.race.rounds=100000} for more. No round may lose or double a permit.
 */
@Timeout(300)
class OperatorRaceTest { // B05, B20

    private static final int ROUNDS = Integer.getInteger("ratelimit.race.rounds", 20_000);
    private static final Demand GET = Demand.of("method", "GET");

    /** A timer that was set while virtual time jumped may be late by the jump. */
    private static final Duration LATER = ofMillis(20);

    private final OperatorClock time = new OperatorClock();
    private final List<Object> dropped = Collections.synchronizedList(new ArrayList<>());
    private final AtomicInteger values = new AtomicInteger();
    private final AtomicInteger errors = new AtomicInteger();

    @BeforeEach
    void watch_what_is_dropped() {
        Hooks.onNextDropped(dropped::add);
        Hooks.onErrorDropped(dropped::add);
    }

    @AfterEach
    void nothing_was_dropped() {
        Hooks.resetOnNextDropped();
        Hooks.resetOnErrorDropped();
        assertThat(dropped).hasSize(0);
    }

    private RateLimiter limiter() {
        return RateLimiter.named("api")
                .limit(Limit.inFlight(1), Limit.bucket(1_000_000_000, 1, ofSeconds(1)))
                .scheduler(() -> time)
                .build();
    }

    private static void assertWhole(RateLimiter limiter) {
        RateLimiterSnapshot snapshot = limiter.snapshot();
        assertThat(snapshot.root().limits().get(0).available()).isEqualTo(1);
        assertThat(snapshot.waiting()).isZero();
        assertThat(snapshot.timers()).isZero();
    }

    private Counting count(Flux<?> call) {
        Counting counting = new Counting();
        call.subscribe(counting);
        return counting;
    }

    /** Counts what still arrives after a cancel too, where a LambdaSubscriber would drop it. */
    private final class Counting extends BaseSubscriber<Object> {

        private volatile boolean completed;

        @Override
        protected void hookOnNext(Object value) {
            values.incrementAndGet();
        }

        @Override
        protected void hookOnError(Throwable error) {
            errors.incrementAndGet();
        }

        @Override
        protected void hookOnComplete() {
            completed = true;
        }
    }

    /** A waiting call is cancelled while the permit it waits for is released. */
    private void cancelAgainstRelease(Supplier<Flux<?>> call, RateLimiter limiter) {
        race(() -> {
            Permit held = limiter.tryAcquire().permit();
            Disposable waiting = count(call.get());
            return new Round(held::release, waiting::dispose, () -> assertWhole(limiter));
        });
        assertThat(errors).hasValue(0);
    }

    @Test
    void a_bare_permit_is_cancelled_or_arrives() {
        RateLimiter limiter = limiter();
        cancelAgainstRelease(
                () -> limiter.acquire(Demand.one()).doOnNext(Permit::release).flux(), limiter);
    }

    @Test
    void a_waiting_mono_is_cancelled_or_runs() {
        RateLimiter limiter = limiter();
        AtomicInteger subscribed = new AtomicInteger();
        Mono<Integer> call = Mono.fromSupplier(subscribed::incrementAndGet).transform(limiter.limit());
        cancelAgainstRelease(call::flux, limiter);
        assertThat(values.get()).isLessThanOrEqualTo(subscribed.get());
    }

    @Test
    void a_waiting_flux_is_cancelled_or_runs() {
        RateLimiter limiter = limiter();
        cancelAgainstRelease(() -> Flux.range(1, 3).transform(limiter.<Integer>limit()), limiter);
    }

    @Test
    void a_waiting_element_is_cancelled_or_handed_on() {
        RateLimiter limiter = limiter();
        AtomicInteger discarded = new AtomicInteger();
        cancelAgainstRelease(
                () -> Flux.just(1)
                        .hide()
                        .transform(limiter.<Integer>limitEach())
                        .doOnDiscard(Integer.class, n -> discarded.incrementAndGet()),
                limiter);
        assertThat(values.get() + discarded.get()).isGreaterThanOrEqualTo(ROUNDS);
    }

    @Test
    void an_element_that_comes_in_the_instant_of_the_cancel_is_handed_on_or_discarded() {
        RateLimiter limiter = RateLimiter.named("api").scheduler(() -> time).build();
        AtomicInteger discarded = new AtomicInteger();
        race(() -> {
            AtomicReference<CoreSubscriber<? super Integer>> source = new AtomicReference<>();
            Flux<Integer> heedless = new Flux<>() {
                @Override
                public void subscribe(CoreSubscriber<? super Integer> actual) {
                    source.set(actual);
                    actual.onSubscribe(Operators.emptySubscription());
                }
            };
            Disposable paced = count(heedless.transform(limiter.<Integer>limitEach())
                    .doOnDiscard(Integer.class, n -> discarded.incrementAndGet()));
            CoreSubscriber<? super Integer> pacing = Objects.requireNonNull(source.get());
            return new Round(() -> pacing.onNext(1), paced::dispose, () -> {});
        });
        assertThat(values.get() + discarded.get()).isEqualTo(ROUNDS);
    }

    @Test
    void a_call_is_cancelled_while_it_asks() {
        RateLimiter limiter = limiter();
        for (Supplier<Flux<?>> call : List.<Supplier<Flux<?>>>of(
                () -> limiter.acquire(Demand.one()).doOnNext(Permit::release).flux(),
                () -> Mono.never().transform(limiter.<Object>limit()).flux(),
                () -> Flux.never().transform(limiter.<Object>limit()))) {
            race(() -> {
                BaseSubscriber<Object> asking = new BaseSubscriber<>() {
                    @Override
                    protected void hookOnSubscribe(Subscription subscription) {
                        // It asks in the race.
                    }
                };
                call.get().subscribe(asking);
                return new Round(() -> asking.request(1), asking::cancel, () -> assertWhole(limiter));
            });
        }
    }

    @Test
    void a_running_call_is_cancelled_or_ends() {
        RateLimiter limiter = limiter();
        race(() -> {
            Answer<Integer> answer = new Answer<>();
            Disposable running =
                    count(answer.transform(limiter.<Integer>limit()).flux());
            return new Round(() -> answer.emit(1), running::dispose, () -> assertWhole(limiter));
        });
    }

    @Test
    void a_wait_is_over_or_the_permit_comes() {
        RateLimiter limiter = limiter();
        Demand patient = Demand.one().maxWait(ofMillis(5));
        for (Supplier<Flux<?>> call : List.<Supplier<Flux<?>>>of(
                () -> limiter.acquire(patient).doOnNext(Permit::release).flux(),
                () -> Mono.just(1).transform(limiter.<Integer>limit(patient)).flux(),
                () -> Flux.just(1).transform(limiter.<Integer>limit(patient)),
                () -> Flux.just(1).transform(limiter.<Integer>limitEach(patient)))) {
            race(() -> {
                values.set(0);
                errors.set(0);
                Permit held = limiter.tryAcquire().permit();
                count(call.get());
                return new Round(held::release, () -> time.advance(ofMillis(5)), () -> {
                    assertThat(values.get() + errors.get()).isEqualTo(1);
                    assertWhole(limiter);
                });
            });
        }
    }

    @Test
    void a_callers_timeout_is_over_or_the_permit_comes() {
        RateLimiter limiter = limiter();
        race(() -> {
            values.set(0);
            errors.set(0);
            Permit held = limiter.tryAcquire().permit();
            count(Mono.just(1)
                    .transform(limiter.<Integer>limit())
                    .timeout(ofMillis(5), time)
                    .flux());
            return new Round(held::release, () -> time.advance(ofMillis(5)), () -> {
                assertThat(values.get() + errors.get()).isEqualTo(1);
                assertWhole(limiter);
            });
        });
        // The answer of a call that lost is dropped by the caller's own timeout; a permit never is.
        assertThat(dropped).allMatch(Integer.class::isInstance);
        dropped.clear();
    }

    @Test
    void two_threads_that_give_one_permit_back_free_one_place() {
        RateLimiter limiter = RateLimiter.named("api")
                .limit(Limit.inFlight(3))
                .scheduler(() -> time)
                .build();
        AtomicInteger round = new AtomicInteger();
        race(() -> {
            Permit permit = limiter.tryAcquire().permit();
            boolean completes = round.incrementAndGet() % 2 == 0;
            Runnable other = completes ? () -> permit.complete(RateLimitSignal.none(200)) : permit::release;
            return new Round(permit::release, other, () -> {
                assertThat(limiter.snapshot().root().limits().get(0).available())
                        .isEqualTo(3);
                assertThat(limiter.tryAcquire(Demand.one().cost(4)).allowed()).isFalse();
            });
        });
    }

    @Test
    void a_limiter_is_disposed_or_the_permit_comes() {
        race(() -> {
            values.set(0);
            errors.set(0);
            RateLimiter limiter = limiter();
            Permit held = limiter.tryAcquire().permit();
            count(Mono.just(1).transform(limiter.<Integer>limit()).flux());
            return new Round(held::release, limiter::dispose, () -> {
                assertThat(values.get() + errors.get()).isEqualTo(1);
                assertWhole(limiter);
            });
        });
    }

    @Test
    void an_attempt_times_out_or_is_answered() {
        RateLimiter limiter = limiter();
        RetryPolicy policy = RetryPolicy.none().attemptTimeout(ofMillis(5));
        race(() -> {
            values.set(0);
            errors.set(0);
            Answer<Integer> answer = new Answer<>();
            count(answer.transform(limiter.calls().retry(policy).<Integer>limit())
                    .flux());
            return new Round(() -> answer.emit(1), () -> time.advance(ofMillis(5)), () -> {
                assertThat(values.get() + errors.get()).isEqualTo(1);
                assertWhole(limiter);
            });
        });
    }

    @Test
    void an_attempt_times_out_or_is_answered_badly_and_is_tried_again_once() {
        RateLimiter limiter = limiter();
        RetryScript readers = new RetryScript(time);
        race(() -> {
            values.set(0);
            errors.set(0);
            RetryBudget budget = RetryBudget.of(100, 1, 1);
            RetryPolicy policy = RetryPolicy.attempts(2)
                    .attemptTimeout(ofMillis(5))
                    .backoff(Backoff.exponential(ofMillis(1), ofMillis(1)).jitter(0))
                    .budget(budget);
            Answer<Response> answer = new Answer<>();
            AtomicInteger subscribed = new AtomicInteger();
            Mono<Response> source =
                    Mono.defer(() -> subscribed.incrementAndGet() == 1 ? answer : Mono.<Response>empty());
            Counting call = count(
                    source.transform(readers.on(limiter.calls()).retry(policy).<Response>limit(GET))
                            .flux());
            return new Round(() -> answer.emit(Response.of(500)), () -> time.advance(ofMillis(5)), () -> {
                time.advance(LATER);
                assertThat(errors).hasValue(0);
                assertThat(values).hasValue(0);
                assertThat(call.completed).isTrue();
                assertThat(subscribed).hasValue(2);
                assertThat(budget.left()).isEqualTo(100);
                assertWhole(limiter);
            });
        });
    }

    @Test
    void a_call_is_cancelled_or_tried_again() {
        RateLimiter limiter = limiter();
        RetryScript readers = new RetryScript(time);
        RetryPolicy policy = RetryPolicy.attempts(2)
                .backoff(Backoff.exponential(ofMillis(1), ofMillis(1)).jitter(0))
                .budget(RetryBudget.of(1_000_000, 1, 1));
        AtomicLong subscribedAfterwards = new AtomicLong();
        race(() -> {
            Answer<Response> answer = new Answer<>();
            AtomicInteger subscribed = new AtomicInteger();
            Mono<Response> source =
                    Mono.defer(() -> subscribed.incrementAndGet() == 1 ? answer : Mono.<Response>never());
            Disposable call = count(
                    source.transform(readers.on(limiter.calls()).retry(policy).<Response>limit(GET))
                            .flux());
            return new Round(() -> answer.emit(Response.of(500)), call::dispose, () -> {
                time.advance(LATER);
                subscribedAfterwards.addAndGet(subscribed.get() - 1);
                assertWhole(limiter);
            });
        });
        assertThat(subscribedAfterwards).hasValue(0);
    }

    @Test
    void a_call_is_cancelled_or_its_retry_is_granted() {
        RateLimiter limiter = limiter();
        RetryScript readers = new RetryScript(time);
        RetryPolicy policy = RetryPolicy.attempts(2)
                .backoff(Backoff.exponential(ofMillis(1), ofMillis(1)).jitter(0))
                .budget(RetryBudget.of(1_000_000, 1, 1));
        race(() -> {
            AtomicInteger running = new AtomicInteger();
            AtomicInteger subscribed = new AtomicInteger();
            Mono<Response> source = Mono.defer(() -> subscribed.incrementAndGet() == 1
                    ? Mono.just(Response.of(500))
                    : Mono.<Response>never()
                            .doOnSubscribe(s -> running.incrementAndGet())
                            .doOnCancel(running::decrementAndGet));
            Disposable call = count(
                    source.transform(readers.on(limiter.calls()).retry(policy).<Response>limit(GET))
                            .flux());
            return new Round(() -> time.advance(ofMillis(1)), call::dispose, () -> {
                assertThat(running).hasValue(0);
                assertWhole(limiter);
            });
        });
    }

    @Test
    void a_permit_of_another_source_comes_or_its_call_is_cancelled() {
        RateLimiter limiter = limiter();
        race(() -> {
            Permit permit = limiter.tryAcquire().permit();
            Answer<Permit> grant = new Answer<>();
            AtomicInteger granted = new AtomicInteger();
            PermitSource source = demand -> grant.doOnNext(given -> granted.incrementAndGet());
            Disposable call = count(source.<Integer>use(asked -> Demand.one(), exchange -> Mono.never())
                    .flux());
            return new Round(() -> grant.emit(permit), call::dispose, () -> {
                if (granted.get() == 0) {
                    permit.release(); // It never left its source.
                }
                assertWhole(limiter);
            });
        });
    }

    // -------------------------------------------------------------------------------------------------- the race

    private record Round(Runnable one, Runnable other, Runnable check) {}

    /** Runs both sides of every round at once, each a random moment early or late. */
    private static void race(Supplier<Round> prepare) {
        Opponent opponent = new Opponent();
        Thread thread = new Thread(opponent, "opponent");
        thread.setDaemon(true);
        thread.start();
        SplittableRandom random = new SplittableRandom(1);
        try {
            for (int i = 0; i < ROUNDS; i++) {
                Round round = prepare.get();
                opponent.begin(round.other, random.nextInt(60));
                pause(random.nextInt(60));
                round.one.run();
                opponent.awaitEnd();
                round.check.run();
            }
        } finally {
            opponent.over = true;
        }
    }

    private static void pause(int spins) {
        for (int i = 0; i < spins; i++) {
            Thread.onSpinWait();
        }
    }

    private static final class Opponent implements Runnable {

        private volatile @Nullable Runnable next;
        private volatile int spins;
        private volatile boolean over;
        private volatile @Nullable Throwable failure;

        void begin(Runnable action, int spinsBefore) {
            spins = spinsBefore;
            next = action;
        }

        void awaitEnd() {
            for (int i = 0; next != null; i++) {
                idle(i);
            }
            Throwable failed = failure;
            if (failed != null) {
                throw new AssertionError(failed);
            }
        }

        @Override
        public void run() {
            for (int i = 0; !over; i++) {
                Runnable action = next;
                if (action == null) {
                    idle(i);
                    continue;
                }
                pause(spins);
                try {
                    action.run();
                } catch (Throwable e) {
                    failure = e;
                }
                next = null;
                i = 0;
            }
        }

        private static void idle(int i) {
            if (i % 200 == 199) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** A source that answers when it is told, and not to those who have cancelled before. */
    private static final class Answer<T> extends Mono<T> {

        private volatile Operators.@Nullable MonoSubscriber<T, T> subscriber;

        @Override
        public void subscribe(CoreSubscriber<? super T> actual) {
            Operators.MonoSubscriber<T, T> deferred = new Operators.MonoSubscriber<>(actual);
            subscriber = deferred;
            actual.onSubscribe(deferred);
        }

        void emit(T value) {
            Operators.MonoSubscriber<T, T> deferred = subscriber;
            assert deferred != null;
            deferred.complete(value);
        }
    }
}
