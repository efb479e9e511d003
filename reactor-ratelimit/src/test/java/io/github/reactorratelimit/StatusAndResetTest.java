package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RateLimiterSnapshot.LimitState;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.publisher.TestPublisher;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What operators ask of one key, and the question that is answered as soon as the answer is known. */
class StatusAndResetTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    private RateLimiter limiter(Limit... limits) {
        return RateLimiter.named("status")
                .limit(limits)
                .scope(Scope.by("user").limits(Limit.of(2, ofSeconds(10))))
                .scheduler(() -> time)
                .build();
    }

    private static Demand user(String name) {
        return Demand.of("user", name);
    }

    private static <T> T now(Mono<T> mono) {
        List<T> values = new ArrayList<>();
        mono.subscribe(values::add);
        assertThat(values).hasSize(1);
        return values.get(0);
    }

    @Test
    void a_question_is_answered_like_a_try_each_time_it_is_asked() {
        RateLimiter limiter = limiter(Limit.of(9, ofSeconds(10)));
        Mono<Decision> question = limiter.ask(user("a"));
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(9);
        assertThat(now(question).allowed()).isTrue();
        assertThat(now(question).remaining()).isZero();
        Decision refused = now(question);
        assertThat(refused.allowed()).isFalse();
        assertThat(refused.retryAfter()).isEqualTo(limiter.tryAcquire(user("a")).retryAfter());
    }

    @Test
    void the_status_of_a_key_is_that_of_the_narrowest_scope_that_is_named() {
        RateLimiter limiter = limiter(Limit.of(9, ofSeconds(10)));
        limiter.tryAcquire(user("a"));
        Mono<ScopeState> status = limiter.status(user("a"));
        limiter.pause(user("a"), ofSeconds(7));
        assertThat(now(status).keys()).containsExactly("user=a");
        assertThat(now(status).closedFor()).isEqualTo(ofSeconds(7));
        assertThat(now(status).limits()).extracting(LimitState::available).containsExactly(1L);
        assertThat(now(limiter.status(Demand.one())).limits())
                .extracting(LimitState::available)
                .containsExactly(8L);
    }

    @Test
    void a_key_that_is_reset_is_full_and_open_and_whoever_waits_goes_at_once() {
        RateLimiter limiter = limiter(Limit.of(9, ofSeconds(10)));
        limiter.tryAcquire(user("a"));
        limiter.tryAcquire(user("a"))
                .permit()
                .complete(RateLimitSignal.of(429)
                        .throttled(true)
                        .delay(ofSeconds(60))
                        .build());
        List<Permit> granted = new ArrayList<>();
        limiter.acquire(user("a")).subscribe(granted::add);
        assertThat(granted).isEmpty();
        assertThat(limiter.reset(user("a")).block()).isNull();
        assertThat(granted).hasSize(1);
        ScopeState state = now(limiter.status(user("a")));
        assertThat(state.closedFor()).isZero();
        assertThat(state.waves()).isZero();
        assertThat(state.limits()).extracting(LimitState::available).containsExactly(1L);
        // What the key above counted stays counted.
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(6);
    }

    @Test
    void permits_that_were_out_when_their_key_was_reset_give_nothing_back() {
        RateLimiter limiter = RateLimiter.named("held")
                .limit(Limit.inFlight(1))
                .scheduler(() -> time)
                .build();
        Permit before = limiter.tryAcquire().permit();
        limiter.reset(Demand.one()).subscribe();
        Permit after = limiter.tryAcquire().permit();
        before.release();
        assertThat(limiter.tryAcquire().allowed()).isFalse();
        after.release();
        assertThat(limiter.tryAcquire().allowed()).isTrue();
    }

    @Test
    void nothing_is_reset_before_somebody_subscribes() {
        RateLimiter limiter = limiter(Limit.of(1, ofSeconds(10)));
        limiter.tryAcquire(user("a"));
        Mono<Void> reset = limiter.reset(Demand.one());
        assertThat(limiter.tryAcquire(user("b")).allowed()).isFalse();
        reset.subscribe();
        assertThat(limiter.tryAcquire(user("b")).allowed()).isTrue();
    }

    @Test
    void calls_that_run_while_their_key_is_reset_end_as_they_would() {
        RateLimiter limiter = limiter(Limit.inFlight(1), Limit.of(5, ofSeconds(10)));
        TestPublisher<String> call = TestPublisher.create();
        List<String> values = new ArrayList<>();
        call.mono().transform(limiter.<String>limit(user("a"))).subscribe(values::add);
        limiter.reset(Demand.one()).subscribe();
        call.emit("x");
        assertThat(values).containsExactly("x");
        assertThat(limiter.tryAcquire(user("a")).allowed()).isTrue();
        assertThat(limiter.snapshot().root().limits().get(0).held()).isEqualTo(1);
    }
}
