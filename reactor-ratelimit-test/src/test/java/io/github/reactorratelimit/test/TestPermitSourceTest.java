package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimitedException;
import io.github.reactorratelimit.signal.RateLimitSignal;
import io.github.reactorratelimit.test.PermitAsk.State;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Subscription;
import reactor.core.Disposable;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.util.RaceTestUtils;

class TestPermitSourceTest {

    private static final Demand SEARCH = Demand.of("endpoint", "/search");

    @Test
    void a_granting_source_grants_each_subscription_at_once_and_records_its_demand() {
        TestPermitSource source = TestPermitSource.granting();
        Mono<Permit> permit = source.acquire(SEARCH);
        assertThat(source.asks()).isEmpty();

        StepVerifier.create(permit).expectNextCount(1).verifyComplete();
        StepVerifier.create(permit).expectNextCount(1).verifyComplete();

        assertThat(source.asks()).extracting(PermitAsk::demand).containsExactly(SEARCH, SEARCH);
        assertThat(source.open()).hasSize(2);
    }

    @Test
    void nothing_is_asked_before_it_is_requested() {
        TestPermitSource source = TestPermitSource.granting();

        StepVerifier.create(source.acquire(SEARCH), 0)
                .expectSubscription()
                .then(() -> assertThat(source.asks()).isEmpty())
                .thenRequest(1)
                .expectNextCount(1)
                .verifyComplete();
        StepVerifier.create(source.acquire(SEARCH), 0)
                .expectSubscription()
                .thenCancel()
                .verify();

        assertThat(source.asks()).hasSize(1);
    }

    @Test
    void a_subscriber_that_cancels_first_does_not_ask_any_more() {
        TestPermitSource source = TestPermitSource.granting();
        AtomicInteger granted = new AtomicInteger();

        source.acquire(SEARCH).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                subscription.cancel();
                subscription.request(1);
            }

            @Override
            protected void hookOnNext(Permit permit) {
                granted.incrementAndGet();
            }
        });

        assertThat(granted).hasValue(0);
        assertThat(source.asks()).isEmpty();
    }

    @Test
    void a_holding_source_lets_demands_wait_until_they_are_answered_in_any_order() {
        TestPermitSource source = TestPermitSource.holding();
        StepVerifier first = StepVerifier.create(source.acquire(Demand.of("n", "1")))
                .expectNextCount(1)
                .expectComplete()
                .verifyLater();
        StepVerifier second = StepVerifier.create(source.acquire(Demand.of("n", "2")))
                .expectErrorMessage("no")
                .verifyLater();
        assertThat(source.waiting()).hasSize(2);

        assertThat(source.waiting().get(1).refuse(new IllegalStateException("no")))
                .isTrue();
        assertThat(source.next().demand().attribute("n")).isEqualTo("1");
        assertThat(source.next().grant()).isTrue();

        first.verify(Duration.ZERO);
        second.verify(Duration.ZERO);
        assertThat(source.asks()).extracting(PermitAsk::state).containsExactly(State.GRANTED, State.REFUSED);
        assertThat(source.waiting()).isEmpty();
        assertThatThrownBy(source::next)
                .isInstanceOf(AssertionError.class)
                .hasMessageStartingWith("No demand waits for a permit; there were 2: ");
    }

    @Test
    void an_answer_counts_once() {
        TestPermitSource source = TestPermitSource.holding();
        StepVerifier permit = StepVerifier.create(source.acquire(SEARCH))
                .expectNextCount(1)
                .expectComplete()
                .verifyLater();
        PermitAsk ask = source.next();

        assertThat(ask.grant()).isTrue();
        assertThat(ask.grant()).isFalse();
        assertThat(ask.refuse(new IllegalStateException())).isFalse();

        permit.verify(Duration.ZERO);
        assertThat(ask.state()).isEqualTo(State.GRANTED);
    }

    @Test
    void what_is_told_counts_for_later_demands() {
        TestPermitSource source = TestPermitSource.holding();
        source.acquire(SEARCH).subscribe();
        source.grant().acquire(SEARCH).subscribe();
        source.refuse(() -> new IllegalStateException("no"))
                .acquire(SEARCH)
                .as(StepVerifier::create)
                .verifyErrorMessage("no");
        source.hold().acquire(SEARCH).subscribe();

        assertThat(source.asks())
                .extracting(PermitAsk::state)
                .containsExactly(State.WAITING, State.GRANTED, State.REFUSED, State.WAITING);
    }

    @Test
    void a_refusal_with_a_time_is_that_of_a_closed_limiter() {
        TestPermitSource source = TestPermitSource.granting().refuse(Duration.ofSeconds(30));

        StepVerifier.create(source.acquire(SEARCH))
                .verifyErrorSatisfies(error -> assertThat(error)
                        .asInstanceOf(type(RateLimitedException.class))
                        .returns(Duration.ofSeconds(30), RateLimitedException::retryAfter)
                        .returns(false, refusal -> refusal.mayHaveBeenSent()));
        source.hold().acquire(SEARCH).subscribe(permit -> {}, error -> {});
        assertThatThrownBy(() -> source.next().refuse(Duration.ZERO))
                .hasMessage("the time to retry after must be positive, was PT0S");
        assertThat(source.next().refuse(Duration.ofDays(1))).isTrue();
    }

    @Test
    @InVirtualTime
    void a_delayed_grant_comes_in_the_time_of_its_scheduler(VirtualTime time) {
        TestPermitSource source = TestPermitSource.granting().grantAfter(Duration.ofSeconds(3), time::scheduler);
        StepVerifier permit = StepVerifier.create(source.acquire(SEARCH))
                .expectNextCount(1)
                .expectComplete()
                .verifyLater();

        time.advance(Duration.ofMillis(2_999));
        assertThat(source.waiting()).hasSize(1);
        time.advance(Duration.ofMillis(1));

        permit.verify(Duration.ZERO);
    }

    @Test
    void a_delayed_grant_works_under_the_global_virtual_time_too() {
        TestPermitSource source = TestPermitSource.granting().grantAfter(Duration.ofHours(1), Schedulers::parallel);

        StepVerifier.withVirtualTime(() -> source.acquire(SEARCH))
                .expectSubscription()
                .expectNoEvent(Duration.ofHours(1))
                .expectNextCount(1)
                .verifyComplete();
    }

    @Test
    @InVirtualTime
    void a_demand_that_is_answered_before_its_delay_leaves_no_timer(VirtualTime time) {
        TestPermitSource source = TestPermitSource.granting().grantAfter(Duration.ofSeconds(3), time::scheduler);
        source.acquire(SEARCH).subscribe();
        source.acquire(SEARCH).subscribe(permit -> {}, error -> {});
        Disposable third = source.acquire(SEARCH).subscribe();

        source.next().grant();
        source.next().refuse(new IllegalStateException());
        third.dispose();

        time.checkLeaks();
        assertThat(source.asks())
                .extracting(PermitAsk::state)
                .containsExactly(State.GRANTED, State.REFUSED, State.CANCELLED);
        assertThat(source.asks().get(2).grant()).isFalse();
    }

    @Test
    void it_records_what_became_of_a_permit() {
        TestPermitSource source = TestPermitSource.granting();
        Permit permit = Objects.requireNonNull(source.acquire(SEARCH).block());
        PermitAsk ask = source.asks().get(0);
        RateLimitSignal head = RateLimitSignal.none(200);
        RateLimitSignal end = RateLimitSignal.none(429);
        assertThat(ask.isSent()).isFalse();
        assertThat(ask.settled()).isEmpty();

        permit.sent();
        permit.settle("tokens", 120);
        permit.settle("tokens", 7);
        permit.hear(head);
        assertThat(ask.isSent()).isTrue();
        assertThat(ask.settled()).containsOnlyKeys("tokens").containsEntry("tokens", 120L);
        assertThat(ask.heard()).containsExactly(head);
        assertThat(ask.isReleased()).isFalse();
        assertThat(source.open()).containsExactly(ask);

        permit.complete(end);
        permit.complete(end);
        assertThat(ask.heard()).containsExactly(head, end);
        assertThat(ask.isCompleted()).isTrue();
        assertThat(ask.isReleased()).isTrue();
        assertThat(source.open()).isEmpty();
        assertThatThrownBy(() -> permit.settle("tokens", -1))
                .hasMessage("an actual cost in tokens must not be negative, was -1");
    }

    @Test
    void a_permit_that_was_only_released_is_not_completed() {
        TestPermitSource source = TestPermitSource.granting();
        Permit permit = Objects.requireNonNull(source.acquire(SEARCH).block());

        permit.release();
        permit.complete(RateLimitSignal.none(200));

        PermitAsk ask = source.asks().get(0);
        assertThat(ask.isReleased()).isTrue();
        assertThat(ask.isCompleted()).isFalse();
        assertThat(ask.heard()).isEmpty();
        assertThat(ask).hasToString("Demand{1 requests by endpoint} GRANTED, released");
    }

    @Test
    void a_negative_delay_and_a_refusal_without_a_time_are_refused_where_they_are_said() {
        assertThatThrownBy(() -> TestPermitSource.granting().refuse(Duration.ZERO))
                .hasMessage("the time to retry after must be positive, was PT0S");
        assertThatThrownBy(() -> TestPermitSource.granting().refuse(Duration.ofSeconds(-1)))
                .hasMessage("the time to retry after must be positive, was PT-1S");
        assertThatThrownBy(() -> TestPermitSource.granting().grantAfter(Duration.ofSeconds(-1), Schedulers::parallel))
                .hasMessage("the delay of a grant must not be negative, was PT-1S");
    }

    @Test
    void of_grant_and_cancel_one_wins() {
        for (int i = 0; i < 1_000; i++) {
            TestPermitSource source = TestPermitSource.holding();
            AtomicInteger granted = new AtomicInteger();
            Disposable caller = source.acquire(SEARCH).doOnNext(permit -> {}).subscribe();
            PermitAsk ask = source.next();

            RaceTestUtils.race(() -> granted.addAndGet(ask.grant() ? 1 : 0), caller::dispose);

            assertThat(ask.state()).isEqualTo(granted.get() == 1 ? State.GRANTED : State.CANCELLED);
        }
    }

    @Test
    @SuppressWarnings("NullAway") // What callers without it may do.
    void a_correction_names_its_unit_like_one_of_a_real_permit() {
        TestPermitSource permits = TestPermitSource.granting();
        permits.acquire(Demand.one()).subscribe();
        Permit permit = permits.acquire(Demand.one()).blockOptional().orElseThrow();
        assertThatThrownBy(() -> permit.settle(null, 1)).hasMessage("unit");
        assertThatThrownBy(() -> permit.settle("tokens", -1))
                .hasMessageContaining("tokens must not be negative, was -1");
    }
}
