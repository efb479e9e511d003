package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Fallback.Reason;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.test.subscriber.TestSubscriber;

/** Who serves a call that several sources could serve, and when. */
class FallbackTest extends TwoModels {

    @Test
    void the_preferred_source_serves_as_long_as_it_has_room_and_then_the_next() {
        for (int i = 0; i < 5; i++) {
            ask(llm);
        }
        pass(ofSeconds(1));
        assertThat(served).containsExactly("gpt", "gpt", "cheap", "cheap", "cheap");
    }

    @Test
    void when_nobody_has_room_the_one_with_the_shortest_wait_serves() {
        for (int i = 0; i < 6; i++) {
            ask(llm);
        }
        pass(ofSeconds(31));
        assertThat(served).hasSize(5);
        pass(ofSeconds(2));
        assertThat(served).hasSize(6).last().isEqualTo("cheap");
    }

    @Test
    void a_wait_that_is_short_enough_is_waited_for() {
        ask(llm);
        ask(llm);
        pass(ofSeconds(59)); // The window of gpt opens again in little more than two seconds, counted from the heads.
        TestSubscriber<String> late = ask(llm);
        pass(ofMillis(400));
        TestSubscriber<String> patient = ask(PermitSource.firstWithin(ofSeconds(3), gpt, cheap));
        pass(ofSeconds(4));
        assertThat(late.getReceivedOnNext()).containsExactly("cheap");
        assertThat(patient.getReceivedOnNext()).containsExactly("gpt");
    }

    @Test
    void waits_of_unknown_length_are_borne_for_the_longest_wait_in_all_and_no_longer() {
        RateLimiter one = limiter("one", Limit.inFlight(1));
        RateLimiter two = limiter("two", Limit.inFlight(1));
        Sinks.Empty<String> never = Sinks.empty();
        one.use(source -> Demand.one(), permit -> never.asMono()).subscribe();
        two.use(source -> Demand.one(), permit -> never.asMono()).subscribe();
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ofSeconds(2), one, two, cheap));
        pass(ofSeconds(2));
        assertThat(cheap.snapshot().root().limits().get(1).available()).isEqualTo(4);
        pass(ofSeconds(1));
        assertThat(call.getReceivedOnNext()).containsExactly("cheap");
        never.tryEmitEmpty();
        assertThat(one.snapshot().waiting() + two.snapshot().waiting()).isZero();
    }

    @Test
    void a_demands_own_bound_holds_at_the_last_resort_too() {
        for (int i = 0; i < 5; i++) {
            ask(llm);
        }
        TestSubscriber<String> call = ask(llm, Demand.one().maxWait(ofSeconds(5)));
        assertThat(call.expectTerminalError()).isInstanceOfSatisfying(RateLimitedException.class, refused -> {
            assertThat(refused.limiter()).isEqualTo("cheap");
            assertThat(refused.retryAfter()).isGreaterThan(ofSeconds(29));
            assertThat(refused.getSuppressed()).hasSize(3);
        });
        pass(ofSeconds(1));
    }

    @Test
    void without_that_reason_the_preferred_source_is_waited_for() {
        ask(gpt);
        ask(gpt);
        TestSubscriber<String> call = ask(llm.without(Reason.WAIT));
        pass(ofSeconds(63));
        assertThat(call.getReceivedOnNext()).containsExactly("gpt");
    }

    @Test
    void a_full_queue_is_a_reason_to_go_on() {
        RateLimiter narrow = RateLimiter.named("narrow")
                .limit(Limit.of(1, ofMinutes(1)))
                .maxPending(1, 1)
                .scheduler(() -> time)
                .build();
        narrow.tryAcquire();
        narrow.acquire(Demand.one()).subscribe();
        TestSubscriber<String> call = ask(PermitSource.firstWithin(ofMinutes(5), narrow, cheap));
        pass(ofSeconds(1));
        assertThat(call.getReceivedOnNext()).containsExactly("cheap");
    }

    @Test
    void each_source_is_asked_for_what_the_call_costs_there() {
        List<PermitSource> asked = new ArrayList<>();
        TestSubscriber<String> call = llm.use(
                        source -> {
                            asked.add(source);
                            return Demand.one().cost(source == gpt ? 3 : 2); // gpt never has 3
                        },
                        permit -> Mono.just(name(permit.source())))
                .subscribeWith(TestSubscriber.create());
        assertThat(call.getReceivedOnNext()).containsExactly("cheap");
        assertThat(asked).containsExactly(gpt, cheap);
        assertThat(cheap.snapshot().root().limits().get(0).available()).isEqualTo(1);
    }

    @Test
    void a_source_that_never_waits_goes_on_at_once() {
        ask(gpt);
        ask(gpt);
        List<Permit> permits = new ArrayList<>();
        PermitSource.firstWithin(ofMinutes(5), gpt.calls().failFast(), cheap)
                .acquire(Demand.one())
                .subscribe(permits::add);
        assertThat(permits).hasSize(1);
        assertThat(cheap.snapshot().root().limits().get(1).available()).isEqualTo(4);
        permits.get(0).release();
        pass(ofSeconds(1));
    }

    @Test
    void what_is_no_choice_is_told_at_once() {
        assertThatThrownBy(() -> PermitSource.firstWithin(ofSeconds(-1), gpt, cheap))
                .hasMessageContaining("must not be negative, was PT-1S");
        assertThatThrownBy(() -> PermitSource.firstWithin(ofSeconds(1), gpt, cheap, gpt))
                .hasMessageContaining("must be named once");
    }

    @Test
    void a_demand_that_is_none_is_told_with_its_rule() {
        for (PermitSource source : List.of(gpt, gpt.asking(demand -> null), llm)) {
            TestSubscriber<String> call = source.<String>use(
                            asked -> source instanceof AskingSource ? Demand.one() : null,
                            permit -> Mono.just("served"))
                    .subscribeWith(TestSubscriber.create());
            assertThat(call.expectTerminalError()).hasMessageContaining("must give a demand, gave null");
        }
    }
}
