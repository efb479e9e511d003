package io.github.reactorratelimit.test.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.PermitSource;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * What a {@link PermitSource} keeps, whatever it decides by. A test of an own one extends this class and gives a source with
 * room for one permit at a time. Real time; what should come is waited for with {@link #patience}.
 */
public abstract class PermitSourceContract {

    private static final int RACES = 500;

    /** For subclasses. */
    protected PermitSourceContract() {}

    /**
     * The source under test.
     *
     * @return a fresh source that has one permit, which is there again for the next when it was released
     */
    protected abstract PermitSource oneAtATime();

    /**
     * How long an answer may take before it counts as missing; 10 s unless said.
     *
     * @return positive
     */
    protected Duration patience() {
        return Duration.ofSeconds(10);
    }

    /**
     * What is asked for.
     *
     * @return the same demand each time; {@link Demand#one()} unless overridden
     */
    protected Demand demand() {
        return Demand.one();
    }

    private CompletableFuture<Permit> ask(PermitSource source) {
        return source.acquire(demand()).toFuture();
    }

    private Permit take(PermitSource source) {
        return Objects.requireNonNull(source.acquire(demand()).block(patience()), "a permit");
    }

    private Permit granted(CompletableFuture<Permit> asked) {
        return Objects.requireNonNull(Mono.fromFuture(asked).block(patience()), "a permit");
    }

    @Test
    void nothing_is_asked_before_it_is_subscribed() {
        PermitSource source = oneAtATime();
        source.acquire(demand());

        assertThat(ask(source)).succeedsWithin(patience());
    }

    @Test
    void nothing_is_asked_before_it_is_requested() {
        PermitSource source = oneAtATime();
        source.acquire(demand()).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {}
        });

        assertThat(ask(source)).succeedsWithin(patience());
    }

    @Test
    void each_subscription_is_one_act() {
        PermitSource source = oneAtATime();
        Mono<Permit> permit = source.acquire(demand());
        Permit first = granted(permit.toFuture());
        CompletableFuture<Permit> second = permit.toFuture();
        assertThat(second).isNotDone();

        first.release();

        assertThat(granted(second)).isNotSameAs(first);
    }

    @Test
    void those_who_wait_are_subscribed_at_once() {
        PermitSource source = oneAtATime();
        take(source);
        AtomicInteger subscribed = new AtomicInteger();

        source.acquire(demand())
                .doOnSubscribe(own -> subscribed.incrementAndGet())
                .subscribe();

        assertThat(subscribed).hasValue(1);
    }

    @Test
    void a_released_permit_goes_to_one_who_waits_and_releasing_it_twice_frees_it_once() {
        PermitSource source = oneAtATime();
        Permit first = take(source);
        CompletableFuture<Permit> second = ask(source);
        CompletableFuture<Permit> third = ask(source);
        assertThat(second).isNotDone();

        first.release();
        first.release();
        first.complete(RateLimitSignal.none(200));

        granted(second);
        assertThat(third).isNotDone();
    }

    @Test
    void a_completed_permit_is_free_again() {
        PermitSource source = oneAtATime();
        Permit first = take(source);
        CompletableFuture<Permit> second = ask(source);

        first.sent();
        first.complete(RateLimitSignal.none(200));
        first.release();

        granted(second).release();
    }

    @Test
    void one_who_leaves_while_waiting_leaves_no_trace() {
        PermitSource source = oneAtATime();
        Permit first = take(source);
        CompletableFuture<Permit> leaving = ask(source);
        CompletableFuture<Permit> staying = ask(source);

        leaving.cancel(true);
        first.release();

        granted(staying).release();
        take(source);
    }

    /** A choice among sources counts on it: it goes on to the next when this one says that it would take too long. */
    @Test
    void one_who_will_not_wait_is_told_so_and_leaves_no_trace() {
        PermitSource source = oneAtATime();
        Permit first = take(source);

        CompletableFuture<Permit> impatient =
                source.acquire(demand().maxWait(Duration.ZERO)).toFuture();

        assertThat(impatient).failsWithin(patience());
        first.release();
        take(source);
    }

    @Test
    void a_negative_correction_is_refused_and_what_is_told_late_or_twice_is_borne() {
        Permit permit = take(oneAtATime());
        assertThatIllegalArgumentException().isThrownBy(() -> permit.settle(Limit.REQUESTS, -1));

        permit.release();

        assertThatCode(() -> {
                    permit.settle(Limit.REQUESTS, 1);
                    permit.settle(Limit.REQUESTS, 1);
                    permit.sent();
                    permit.hear(RateLimitSignal.none(200));
                    permit.complete(RateLimitSignal.none(200));
                })
                .doesNotThrowAnyException();
    }

    @Test
    void leaving_while_the_permit_is_on_its_way_loses_none() {
        PermitSource source = oneAtATime();
        for (int i = 0; i < RACES; i++) {
            Permit first = take(source);
            AtomicInteger got = new AtomicInteger();
            BaseSubscriber<Permit> leaving = new BaseSubscriber<>() {
                @Override
                protected void hookOnNext(Permit permit) {
                    got.incrementAndGet();
                    permit.release();
                }

                @Override
                protected void hookOnError(Throwable error) {} // The next one to ask is told.
            };
            source.acquire(demand()).subscribe(leaving);

            Mono<Void> releasing = Mono.<Void>fromRunnable(first::release).subscribeOn(Schedulers.parallel());
            Mono<Void> cancelling = Mono.<Void>fromRunnable(leaving::cancel).subscribeOn(Schedulers.parallel());
            Mono.when(releasing, cancelling).block(patience());

            assertThat(got).hasValueLessThanOrEqualTo(1);
            take(source).release();
        }
    }
}
