package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LimitStore.Ask;
import io.github.reactorratelimit.LimitStore.Part;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.test.scheduler.VirtualTimeScheduler;

/** Who is asked for with one call of a store. */
class AskedTogetherTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final HandStore store = new HandStore();
    private final List<Permit> permits = new ArrayList<>();

    private RateLimiter limiter() {
        return RateLimiter.named("together")
                .limit(Limit.of(100_000, ofSeconds(10)))
                .scope(Scope.by("user").limits(Limit.of(1_000, ofSeconds(10))))
                .scheduler(() -> time)
                .build(store);
    }

    private List<Integer> times() {
        return store.latest().asks().stream().map(Ask::times).toList();
    }

    @Test
    void so_many_keys_are_asked_for_with_one_call_that_others_are_served_too() {
        RateLimiter limiter = limiter();
        for (int i = 0; i < 2_000; i++) {
            limiter.acquire(Demand.of("user", "user-" + i)).subscribe(permits::add);
        }
        List<Integer> asked = new ArrayList<>();
        while (!store.open.isEmpty()) {
            asked.add(store.latest().asks().size());
            store.answer();
        }
        assertThat(asked).allMatch(count -> count <= 512).hasSizeLessThan(8);
        assertThat(permits).hasSize(2_000);
    }

    @Test
    void one_key_is_asked_for_with_one_call_whoever_asks_in_between() {
        RateLimiter limiter = limiter();
        limiter.acquire(Demand.of("user", "first")).subscribe(permits::add);
        for (int i = 0; i < 4_000; i++) {
            limiter.acquire(Demand.of("user", i % 2 == 0 ? "anna" : "ben")).subscribe(permits::add);
        }
        store.answer();
        assertThat(times()).containsExactly(1_000, 1_000);
    }

    @Test
    void demands_of_another_cost_are_asked_for_by_themselves() {
        RateLimiter limiter = limiter();
        limiter.acquire(Demand.of("user", "first")).subscribe(permits::add);
        for (long cost : new long[] {1, 3, 3, 1, 2}) {
            limiter.acquire(Demand.of("user", "anna").cost(cost)).subscribe(permits::add);
        }
        store.answer();
        assertThat(times()).containsExactly(2, 2, 1);
        assertThat(store.latest().asks())
                .extracting(
                        ask -> ask.parts().stream().map(Part::cost).distinct().toList())
                .containsExactly(List.of(1L), List.of(3L), List.of(2L));
    }

    /** Granted ahead of those who ask next: nobody who has left by then gets one of them. */
    @Test
    void who_left_before_the_answer_takes_nothing_of_what_came_ahead() {
        RateLimiter limiter = limiter();
        Demand anna = Demand.of("user", "anna");
        time.advanceTimeBy(ofMillis(2));
        limiter.acquire(anna).subscribe(permits::add);
        limiter.acquire(anna).subscribe(permits::add);
        store.answer();
        limiter.acquire(anna).subscribe(permits::add);
        limiter.acquire(anna).subscribe(permits::add);
        store.answer();
        assertThat(store.latest().asks()).extracting(Ask::ahead).containsExactly(2);
        Disposable left = limiter.acquire(anna).subscribe(permits::add);
        Disposable gone = limiter.acquire(anna).subscribe(permits::add);
        left.dispose();
        gone.dispose();
        store.answer();
        permits.clear();
        limiter.acquire(anna).subscribe(permits::add);
        limiter.acquire(anna).subscribe(permits::add);
        assertThat(permits).hasSize(2);
    }
}
