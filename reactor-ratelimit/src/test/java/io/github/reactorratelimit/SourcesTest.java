package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** How each kind of source is asked. */
class SourcesTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final RateLimiter limiter = RateLimiter.named("api")
            .limit(Limit.of(1, ofMinutes(1)), Limit.inFlight(1))
            .scheduler(() -> time)
            .build();
    private final List<Demand> asked = new ArrayList<>();
    /** Somebody else's, which takes a second for a permit. */
    private final PermitSource others = demand -> {
        asked.add(demand);
        return Mono.delay(ofSeconds(1), time).thenReturn(new Kept());
    };

    private static final class Kept implements Permit {
        @Override
        public void sent() {}

        @Override
        public void settle(String unit, long actual) {}

        @Override
        public void hear(RateLimitSignal signal) {}

        @Override
        public void complete(RateLimitSignal signal) {}

        @Override
        public void release() {}
    }

    private Patience patience() {
        Patience patience = new Patience(Exact.nanos(ofSeconds(2)), () -> Exact.nanos(limiter.time()), () -> time);
        patience.turnTo(true, true);
        return patience;
    }

    @Test
    void a_limiter_and_its_operator_refuse_at_once_what_would_take_longer_than_there_is_patience() {
        limiter.tryAcquire();
        for (PermitSource source : List.of(limiter, limiter.calls(), limiter.asking(demand -> demand))) {
            TestSubscriber<Permit> call =
                    Sources.acquire(source, Demand.one(), patience()).subscribeWith(TestSubscriber.create());
            assertThat(call.expectTerminalError()).as("of %s", source).isInstanceOf(RateLimitedException.class);
        }
        assertThat(limiter.snapshot().waiting()).isZero();
    }

    @Test
    void another_source_is_told_how_long_it_may_take_and_charged_for_what_it_took() {
        Patience patience = patience();
        Sources.acquire(others, Demand.one(), patience).subscribe();
        assertThat(asked).containsExactly(Demand.one().maxWait(ofSeconds(2)));
        time.advanceTimeBy(ofSeconds(1));
        assertThat(patience.leftNanos()).isEqualTo(Exact.nanos(ofSeconds(1)));
    }

    @Test
    void a_demand_that_is_less_patient_keeps_its_own_bound() {
        Sources.acquire(others, Demand.one().maxWait(ofMillis(5)), patience()).subscribe();
        assertThat(asked).containsExactly(Demand.one().maxWait(ofMillis(5)));
    }

    @Test
    void without_patience_another_source_is_asked_for_the_demand_as_it_is() {
        Sources.acquire(others, Demand.one(), null).subscribe();
        assertThat(asked).containsExactly(Demand.one());
    }

    @Test
    void a_view_of_a_view_is_asked_for_what_both_make_of_the_demand_from_the_outside_in() {
        PermitSource view = others.asking(demand -> demand.and("inner", "" + demand.attribute("outer")))
                .asking(demand -> demand.and("outer", "o"));
        Sources.acquire(view, Demand.one(), null).subscribe();
        assertThat(asked).containsExactly(Demand.of("outer", "o").and("inner", "o"));
        view.use(source -> Demand.one(), permit -> Mono.just("answer")).subscribe();
        assertThat(asked.get(1)).isEqualTo(asked.get(0));
    }

    @Test
    void the_call_is_shown_the_source_that_was_handed_over_whatever_stands_behind_it() {
        PermitSource view = limiter.asking(demand -> demand);
        List<PermitSource> shown = new ArrayList<>();
        view.<String>use(
                        source -> {
                            shown.add(source);
                            return Demand.one();
                        },
                        permit -> {
                            shown.add(permit.source());
                            return Mono.just("answer");
                        })
                .block();
        assertThat(shown).containsExactly(view, view);
    }

    @Test
    void one_answer_is_a_mono_and_many_are_a_flux_whatever_the_source() {
        for (PermitSource source : List.of(limiter, others, PermitSource.firstWithin(ofSeconds(1), limiter))) {
            Publisher<String> one = Sources.use(
                    source, source, new Sources.Use<>(any -> Demand.one(), permit -> Mono.just("a"), true), null);
            Publisher<String> many = Sources.use(
                    source, source, new Sources.Use<>(any -> Demand.one(), permit -> Flux.just("a"), false), null);
            assertThat(one).isInstanceOf(Mono.class);
            assertThat(many).isInstanceOf(Flux.class);
        }
    }

    @Test
    void nothing_is_asked_before_the_call_is_subscribed_and_each_time_that_it_is() {
        AtomicInteger demands = new AtomicInteger();
        Mono<String> call = others.use(
                source -> {
                    demands.incrementAndGet();
                    return Demand.one();
                },
                permit -> Mono.just("answer"));
        assertThat(demands).hasValue(0);
        call.subscribe();
        call.subscribe();
        assertThat(demands).hasValue(2);
        assertThat(asked).hasSize(2);
    }

    @Test
    void of_no_permit_in_time_there_is_no_permit_left_behind() {
        limiter.acquire(Demand.one()).subscribe();
        time.advanceTimeBy(ofMinutes(2));
        TestSubscriber<Permit> call =
                Sources.acquire(limiter, Demand.one(), patience()).subscribeWith(TestSubscriber.create());
        time.advanceTimeBy(ofSeconds(2));
        assertThat(requireNonNull(call.expectTerminalError())).isInstanceOf(RateLimitedException.class);
        assertThat(limiter.snapshot().waiting()).isZero();
    }
}
