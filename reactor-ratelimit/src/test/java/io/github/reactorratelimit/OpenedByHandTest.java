package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LimitStore.Answer;
import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.Closing;
import io.github.reactorratelimit.LimitStore.KeyState;
import io.github.reactorratelimit.LimitStore.Reply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Sinks;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A key of a store that somebody opens by hand, here or elsewhere, while calls are under way. */
class OpenedByHandTest {

    private static final Duration OPENED = Duration.ofNanos(-1_000);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final HandStore store = new HandStore();
    private final RateLimiter limiter = RateLimiter.named("opened")
            .limit(Limit.of(1_000, ofSeconds(10)))
            .scheduler(() -> time)
            .build(store);
    private final List<Permit> permits = new ArrayList<>();

    private Permit permit() {
        limiter.acquire(Demand.one()).subscribe(permits::add);
        answer(Duration.ZERO);
        return permits.get(permits.size() - 1);
    }

    /** The store says for how long the key is closed; to the only call under way. */
    private void answer(Duration closed) {
        answer(store.open.remove(), store.latest(), closed);
    }

    private void answer(Sinks.One<Reply> call, Batch batch, Duration closed) {
        time.advanceTimeBy(ofMillis(1));
        KeyState state = new KeyState(closed.toNanos(), 0, 0, 0, 0, 0, List.of());
        List<KeyState> keys = Collections.nCopies(batch.keys().size(), state);
        List<Answer> answers = batch.asks().stream()
                .map(ask -> new Answer(ask.times(), 0, 0, -1, -1, -1, -1))
                .toList();
        call.tryEmitValue(new Reply(HandStore.AT, keys, answers));
    }

    private Duration closedFor() {
        return limiter.snapshot().root().closedFor();
    }

    private List<Long> closings() {
        return store.latest().closings().stream().map(Closing::nanos).toList();
    }

    @Test
    void a_pause_that_is_being_told_does_not_come_back_with_its_answer() {
        permit();
        limiter.pause(Demand.one(), ofHours(1));
        assertThat(closings()).containsExactly(ofHours(1).toNanos());
        time.advanceTimeBy(ofMillis(1));
        limiter.resume(Demand.one());
        answer(ofHours(1));
        assertThat(closedFor()).isZero();
        assertThat(closings()).containsExactly(Closing.OPEN);
    }

    @Test
    void a_pause_that_was_told_does_not_come_back_with_a_later_call() {
        Permit permit = permit();
        limiter.pause(Demand.one(), ofHours(1));
        answer(ofHours(1));
        permit.settle(Limit.REQUESTS, 0);
        time.advanceTimeBy(ofMillis(1));
        limiter.resume(Demand.one());
        answer(ofMinutes(59));
        assertThat(closedFor()).isZero();
        assertThat(closings()).containsExactly(Closing.OPEN);
    }

    @Test
    void what_was_decided_before_a_reset_closes_nothing_after_it() {
        Permit permit = permit();
        limiter.pause(Demand.one(), ofHours(1));
        answer(ofHours(1));
        permit.settle(Limit.REQUESTS, 0);
        Batch before = store.latest();
        time.advanceTimeBy(ofMillis(1));
        limiter.reset(Demand.one()).subscribe();
        answer(store.open.removeLast(), store.latest(), Duration.ZERO);
        answer(store.open.remove(), before, ofMinutes(59));
        assertThat(closedFor()).isZero();
    }

    @Test
    void what_was_paused_here_another_process_opens() {
        Permit permit = permit();
        Permit other = permit();
        limiter.pause(Demand.one(), ofHours(1));
        answer(ofHours(1));
        limiter.acquire(Demand.one()).subscribe(permits::add);
        assertThat(store.open).isEmpty();
        permit.settle(Limit.REQUESTS, 0);
        answer(ofHours(1));
        assertThat(closedFor()).isGreaterThan(ofMinutes(59));
        other.settle(Limit.REQUESTS, 0);
        answer(OPENED);
        assertThat(closedFor()).isZero();
        answer(Duration.ZERO);
        assertThat(permits).hasSize(3);
    }

    @Test
    void what_another_process_paused_it_opens_too() {
        Permit permit = permit();
        Permit other = permit();
        permit.settle(Limit.REQUESTS, 0);
        answer(ofHours(1));
        assertThat(closedFor()).isEqualTo(ofHours(1));
        other.settle(Limit.REQUESTS, 0);
        answer(OPENED);
        assertThat(closedFor()).isZero();
    }

    @Test
    void a_store_that_lost_what_it_knew_opens_nothing() {
        Permit permit = permit();
        Permit other = permit();
        permit.settle(Limit.REQUESTS, 0);
        answer(ofHours(1));
        other.settle(Limit.REQUESTS, 0);
        answer(Duration.ZERO);
        assertThat(closedFor()).isGreaterThan(ofMinutes(59));
    }

    @Test
    void what_the_store_was_never_told_it_does_not_open() {
        Permit permit = permit();
        permit.settle(Limit.REQUESTS, 0);
        limiter.pause(Demand.one(), ofHours(1));
        answer(OPENED);
        assertThat(closedFor()).isGreaterThan(ofMinutes(59));
        answer(OPENED); // Somebody opened it before anybody could hear that the store was told.
        assertThat(closedFor()).isGreaterThan(ofMinutes(59));
    }
}
