package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Fallback.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** A choice among sources of which one is a user's own, which knows nothing of the longest wait. */
class ForeignSourceTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RateLimiter busy = limiter("busy");
    private final RateLimiter free = limiter("free");
    private final Permit held = busy.tryAcquire().permit();
    private final PermitSource deaf = demand -> Mono.defer(() -> busy.acquire(Demand.one()));

    private RateLimiter limiter(String name) {
        return RateLimiter.named(name)
                .limit(Limit.inFlight(1))
                .scheduler(() -> time)
                .build();
    }

    private TestSubscriber<String> ask(PermitSource source, Demand demand) {
        return source.use(asked -> demand, permit -> Mono.just(permit.source() == free ? "free" : "another"))
                .subscribeWith(TestSubscriber.create());
    }

    private void pass(Duration duration) {
        time.advanceTimeBy(duration);
    }

    @Test
    void one_that_waits_on_is_left_when_the_time_is_over() {
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ofSeconds(2), deaf, free), Demand.one());
        pass(ofMillis(1_999));
        assertThat(call.isTerminated()).isFalse();
        assertThat(busy.snapshot().waiting()).isOne();
        pass(ofMillis(1));
        assertThat(call.getReceivedOnNext()).containsExactly("free");
        assertThat(busy.snapshot().waiting()).as("and not waited for any more").isZero();
    }

    @Test
    void all_of_them_together_are_waited_for_no_longer_than_that() {
        PermitSource mute = demand -> Mono.never();
        PermitSource silent = demand -> Mono.never();
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ofSeconds(2), mute, silent, free), Demand.one());
        pass(ofSeconds(2));
        assertThat(call.getReceivedOnNext()).containsExactly("free");
    }

    @Test
    void one_that_does_not_answer_at_once_has_no_room() {
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ZERO, deaf, free), Demand.one());
        pass(ofMillis(1));
        assertThat(call.getReceivedOnNext()).containsExactly("free");
        held.release();
        assertThat(ask(PermitSource.firstWithin(ZERO, deaf, free), Demand.one()).getReceivedOnNext())
                .containsExactly("another");
    }

    @Test
    void one_that_answers_in_time_serves_and_no_timer_is_left() {
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ofSeconds(2), deaf, free), Demand.one());
        pass(ofSeconds(1));
        held.release();
        assertThat(call.getReceivedOnNext()).containsExactly("another");
        assertThat(time.getScheduledTaskCount()).isEqualTo(1);
        pass(ofSeconds(9));
        assertThat(call.expectTerminalSignal().isOnComplete()).isTrue();
    }

    @Test
    void a_permit_that_comes_too_late_goes_back() {
        Sinks.One<Permit> late = Sinks.one();
        PermitSource uncancellable = demand -> Mono.create(sink -> late.asMono().subscribe(sink::success));
        PermitSource stubborn = demand -> Mono.from(subscriber -> {
            uncancellable.acquire(demand).subscribe(permit -> {
                subscriber.onNext(permit);
                subscriber.onComplete();
            });
            subscriber.onSubscribe(new org.reactivestreams.Subscription() {
                @Override
                public void request(long n) {}

                @Override
                public void cancel() {}
            });
        });
        AtomicBoolean back = new AtomicBoolean();
        ask(PermitSource.firstWithin(ofSeconds(2), stubborn, free), Demand.one());
        pass(ofSeconds(2));
        late.tryEmitValue(new Returned(back));
        assertThat(back).isTrue();
    }

    @Test
    void switched_off_it_is_waited_for_without_an_end() {
        TestSubscriber<String> call =
                ask(PermitSource.firstWithin(ofSeconds(2), deaf, free).without(Reason.WAIT), Demand.one());
        pass(ofSeconds(100));
        assertThat(call.isTerminated()).isFalse();
        held.release();
        assertThat(call.getReceivedOnNext()).containsExactly("another");
    }

    @Test
    void as_the_last_resort_it_is_waited_for_as_long_as_the_demand_allows() {
        Permit other = free.tryAcquire().permit();
        TestSubscriber<String> call = ask(
                PermitSource.firstWithin(ofSeconds(2), deaf, free), Demand.one().maxWait(ofSeconds(5)));
        pass(ofMillis(6_999));
        assertThat(call.isTerminated()).isFalse();
        pass(ofMillis(1));
        assertThat(call.expectTerminalError())
                .isInstanceOf(RateLimitedException.class)
                .hasMessageContaining("PT5S, which is the longest allowed");
        other.release();
        assertThat(busy.snapshot().waiting()).isZero();
    }

    @Test
    void a_bare_permit_is_waited_for_no_longer_either_and_a_cancel_leaves_nothing() {
        List<Permit> permits = new ArrayList<>();
        PermitSource choice = PermitSource.firstWithin(ofSeconds(2), deaf, free);
        choice.acquire(Demand.one()).subscribe(permits::add);
        pass(ofSeconds(2));
        assertThat(permits).hasSize(1);
        choice.acquire(Demand.one()).subscribe().dispose();
        assertThat(busy.snapshot().waiting()).isZero();
        pass(ofSeconds(5));
        permits.get(0).release();
        assertThat(free.tryAcquire().allowed()).isTrue();
    }

    @Test
    void without_a_timer_it_is_waited_for_as_if_there_were_no_bound() {
        VirtualTimeScheduler gone = VirtualTimeScheduler.create();
        RateLimiter clock = RateLimiter.named("clock")
                .limit(Limit.inFlight(1))
                .scheduler(() -> gone)
                .build();
        gone.dispose();
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ofSeconds(2), deaf, clock), Demand.one());
        assertThat(call.isTerminated()).isFalse();
        held.release();
        assertThat(call.getReceivedOnNext()).containsExactly("another");
    }

    @Test
    void one_that_throws_instead_of_an_answer_is_told_as_an_error() {
        RejectedExecutionException own = new RejectedExecutionException("a bug");
        PermitSource broken = demand -> {
            throw own;
        };
        assertThat(ask(PermitSource.firstWithin(ofSeconds(2), broken, free), Demand.one())
                        .expectTerminalError())
                .isSameAs(own);
        PermitSource none = demand -> Mono.empty();
        assertThat(ask(PermitSource.firstWithin(ofSeconds(2), none, free), Demand.one())
                        .expectTerminalError())
                .hasMessageContaining("gave neither");
    }

    private record Returned(AtomicBoolean back) implements Permit {

        @Override
        public void sent() {}

        @Override
        public void settle(String unit, long actual) {}

        @Override
        public void hear(io.github.reactorratelimit.signal.RateLimitSignal signal) {}

        @Override
        public void complete(io.github.reactorratelimit.signal.RateLimitSignal signal) {}

        @Override
        public void release() {
            back.set(true);
        }
    }
}
