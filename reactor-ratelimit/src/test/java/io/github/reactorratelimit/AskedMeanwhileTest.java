package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.github.reactorratelimit.RateLimiterSnapshot.LineState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Those who ask while a thread tells others of the permits that a store granted: they are let in together, after that. */
class AskedMeanwhileTest {

    private static final Limit WINDOW = Limit.of(100_000, ofSeconds(10));
    private static final Demand ANNA = Demand.of("user", "anna");

    private static final Demand MIGRATION = ANNA.lane("migration");
    private static final Demand IMPATIENT = ANNA.maxWait(ofMillis(1));

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final HandStore store = new HandStore();
    private final List<Permit> permits = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();
    private final RateLimiter limiter = RateLimiter.named("busy")
            .scope(Scope.by("user").limitsBy(AskedMeanwhileTest::limits))
            .lane("migration", Share.of(0.5))
            .scheduler(() -> time)
            .build(store);

    private static List<Limit> limits(Map<String, String> key) {
        if (key.containsValue("nobody")) {
            throw new IllegalStateException("nobody has no limits");
        }
        return List.of(WINDOW);
    }

    private void acquire(int count) {
        for (int i = 0; i < count; i++) {
            limiter.acquire(ANNA).subscribe(permits::add, failures::add);
        }
    }

    /** Of three calls the last asks for two, who are told together, and for two ahead; meanwhile this happens. */
    private void meanwhile(Runnable asking) {
        // Whose key is known is let in with the others, and anybody else after them.
        limiter.estimate(MIGRATION);
        limiter.estimate(IMPATIENT);
        acquire(1);
        acquire(3);
        store.answer();
        limiter.acquire(ANNA).doOnNext(permit -> asking.run()).subscribe(permits::add);
        acquire(1);
        store.answer();
        assertThat(permits).hasSize(4);
        store.answer();
    }

    @Test
    void they_get_what_is_there_and_no_call_is_made() {
        meanwhile(() -> {
            acquire(2);
            assertThat(permits).hasSize(4);
        });
        assertThat(permits).hasSize(8);
        assertThat(store.batches).hasSize(3);
    }

    @Test
    void those_for_whom_nothing_is_left_share_a_call() {
        meanwhile(() -> acquire(5));
        assertThat(permits).hasSize(8);
        assertThat(store.latest().asks()).extracting(LimitStore.Ask::times).containsExactly(3);
        store.answer();
        assertThat(permits).hasSize(11);
    }

    @Test
    void many_more_than_one_pass_lets_in_are_let_in() {
        meanwhile(() -> acquire(3 * WaitingRoom.PASS + 7));
        store.answer();
        assertThat(permits).hasSize(6 + 3 * WaitingRoom.PASS + 7);
    }

    @Test
    void who_leaves_before_that_takes_nothing() {
        meanwhile(() -> {
            Disposable leaving = limiter.acquire(ANNA).subscribe(permits::add);
            acquire(1);
            leaving.dispose();
        });
        assertThat(permits).hasSize(7);
        acquire(1);
        assertThat(permits).hasSize(8);
        assertThat(store.batches).hasSize(3);
    }

    @Test
    void a_key_that_is_closed_before_that_is_closed_to_them() {
        meanwhile(() -> {
            acquire(1);
            limiter.acquire(IMPATIENT).subscribe(permits::add, failures::add);
            limiter.pause(ANNA, ofSeconds(30));
        });
        assertThat(permits).hasSize(6);
        assertThat(failures).hasSize(1).first().isInstanceOf(RateLimitedException.class);
        assertThat(limiter.snapshot().waiting()).isEqualTo(1);
    }

    @Test
    void they_wait_in_their_lanes() {
        meanwhile(() -> {
            limiter.acquire(MIGRATION).subscribe(permits::add, failures::add);
            acquire(1);
            limiter.pause(ANNA, ofSeconds(30));
        });
        assertThat(limiter.snapshot().scopes())
                .flatExtracting(ScopeState::lines)
                .extracting(LineState::lane, LineState::waiting)
                .contains(tuple("interactive", 1), tuple("migration", 1));
    }

    @Test
    void another_limiter_in_memory_answers_at_once() {
        RateLimiter other = RateLimiter.of(WINDOW);
        meanwhile(() -> {
            acquire(1);
            int before = permits.size();
            other.acquire(Demand.one()).subscribe(permits::add);
            assertThat(permits).hasSize(before + 1);
        });
        assertThat(permits).hasSize(8);
    }

    @Test
    void those_of_another_limiter_with_a_store_are_let_in_there() {
        HandStore elsewhere = new HandStore();
        RateLimiter other =
                RateLimiter.named("other").limit(WINDOW).scheduler(() -> time).build(elsewhere);
        Runnable asksThere = () -> other.acquire(ANNA).subscribe(permits::add, failures::add);
        asksThere.run();
        asksThere.run();
        elsewhere.answer();
        asksThere.run();
        asksThere.run();
        elsewhere.answer();
        elsewhere.answer();
        assertThat(elsewhere.latest().asks())
                .extracting(LimitStore.Ask::ahead)
                .first()
                .isNotEqualTo(0);
        permits.clear();
        meanwhile(() -> {
            acquire(1);
            asksThere.run();
        });
        assertThat(permits).hasSize(8);
        assertThat(other.snapshot().root().limits().get(0).available()).isEqualTo(100_000 - 5);
        assertThat(elsewhere.batches).hasSize(3);
    }

    private enum Entry {
        PERMIT,
        CALL,
        EACH
    }

    @ParameterizedTest
    @EnumSource
    void an_error_in_a_function_of_the_users_reaches_who_asked(Entry entry) {
        Demand nobody = Demand.of("user", "nobody");
        meanwhile(() -> {
            switch (entry) {
                case PERMIT -> limiter.acquire(nobody).subscribe(permits::add, failures::add);
                case CALL ->
                    Mono.just("call").transform(limiter.calls().limit(nobody)).subscribe(answer -> {}, failures::add);
                case EACH ->
                    Flux.just("element")
                            .transform(limiter.calls().limitEach(nobody))
                            .subscribe(element -> {}, failures::add);
            }
            acquire(1);
        });
        assertThat(failures).hasSize(1).first().isInstanceOf(IllegalStateException.class);
        assertThat(permits).hasSize(7);
    }

    @Test
    void who_throws_from_its_error_keeps_nobody_else_out() {
        meanwhile(() -> {
            limiter.acquire(Demand.of("user", "nobody")).subscribe(permits::add, failure -> {
                throw new IllegalArgumentException("thrown from onError");
            });
            limiter.acquire(Demand.of("user", "berta")).subscribe(permits::add, failures::add);
            acquire(WaitingRoom.PASS);
        });
        store.answer();
        assertThat(permits).hasSize(6 + 1 + WaitingRoom.PASS);
    }

    @Test
    void calls_of_attempts_and_elements_are_let_in_too() {
        List<Object> answers = new ArrayList<>();
        meanwhile(() -> {
            Mono.just("call").transform(limiter.calls().limit(ANNA)).subscribe(answers::add, failures::add);
            Flux.just("element").transform(limiter.calls().limitEach(ANNA)).subscribe(answers::add, failures::add);
            assertThat(answers).isEmpty();
        });
        store.answer();
        time.advanceTimeBy(Duration.ZERO);
        assertThat(failures).isEmpty();
        assertThat(answers).containsExactlyInAnyOrder("call", "element");
    }
}
