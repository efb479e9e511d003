package io.github.reactorratelimit.test;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Scope;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;
import reactor.test.scheduler.VirtualTimeScheduler;

class VirtualTimeTest {

    private static final Instant START = Instant.parse("2026-01-01T00:00:00Z");

    private final VirtualTime time = VirtualTime.startingAt(START);

    @Test
    void the_wall_clock_starts_where_it_is_set_and_moves_with_the_time() {
        assertThat(time.wallNow()).isEqualTo(START);
        assertThat(time.scheduler().now(MILLISECONDS)).isEqualTo(START.toEpochMilli());

        time.advance(Duration.ofNanos(1));
        assertThat(time.wallNow()).isEqualTo(START.plusNanos(1));

        time.advanceTo(START.plusSeconds(3600));
        assertThat(time.wallNow()).isEqualTo(START.plusSeconds(3600));
    }

    @Test
    void an_idle_clock_moves_timers_too() {
        time.advance(Duration.ofSeconds(10));
        List<Instant> ran = new ArrayList<>();

        Mono.delay(Duration.ofSeconds(5), time.scheduler()).subscribe(tick -> ran.add(time.wallNow()));

        assertThat(ran).isEmpty();
        time.advance(Duration.ofSeconds(20));
        assertThat(ran).containsExactly(START.plusSeconds(15));
    }

    @Test
    void the_scheduler_is_not_the_global_one() {
        assertThat(VirtualTimeScheduler.isFactoryEnabled()).isFalse();
        assertThat(Schedulers.parallel()).isNotSameAs(time.scheduler());

        time.scheduler().dispose();

        assertThat(Schedulers.parallel().isDisposed()).isFalse();
    }

    @Test
    void time_does_not_run_backwards_nor_past_its_end() {
        assertThatThrownBy(() -> time.advance(Duration.ofNanos(-1)))
                .hasMessage("the time to pass must not be negative, was PT-0.000000001S");
        assertThatThrownBy(() -> time.advanceTo(START.minusSeconds(1))).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> time.advance(Duration.ofDays(365 * 300)))
                .hasMessageContaining("virtual time ends at 2262-04-11T23:47:16.854775807Z");
        assertThat(time.wallNow()).isEqualTo(START);
    }

    @Test
    void a_wall_clock_before_1970_or_after_2262_is_refused() {
        assertThatThrownBy(() -> VirtualTime.startingAt(Instant.parse("1969-12-31T23:59:59Z")))
                .hasMessageContaining("must be between 1970-01-01T00:00:00Z and 2262-04-11T23:47:16.854775807Z");
        assertThatThrownBy(() -> VirtualTime.startingAt(Instant.MAX)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void twelve_calls_at_five_per_ten_seconds_reach_a_simulated_service_without_a_refusal() {
        RateLimiter limiter = time.limiter(RateLimiter.named("search").limit(Limit.of(5, Duration.ofSeconds(10))));
        SimulatedService service = time.simulate(ServiceRules.create().limit("/search", 5, Duration.ofSeconds(10)));
        StepVerifier calls = StepVerifier.create(Flux.range(0, 12)
                        .flatMap(i ->
                                service.call(SimulatedRequest.get("/search")).transform(limiter.limit())))
                .expectNextCount(12)
                .expectComplete()
                .verifyLater();

        time.advance(Duration.ofSeconds(21));

        calls.verify(Duration.ZERO);
        assertThat(service.log().countsByStatus()).containsOnlyKeys(200).containsEntry(200, 12);
        assertThat(service.log().entries().get(0).at()).isEqualTo(START);
        time.checkLeaks();
    }

    @Test
    void a_permit_that_is_still_held_is_a_leak_that_names_limiter_key_limit_and_count() {
        RateLimiter limiter = time.limiter(RateLimiter.named("partner")
                .limit(Limit.inFlight(100))
                .scope(Scope.by("endpoint").limit("/search", Limit.inFlight(5).unit("slots"))));
        Permit permit = limiter.tryAcquire(
                        Demand.of("endpoint", "/search").cost(1).cost("slots", 3))
                .permit();

        assertThatThrownBy(time::checkLeaks)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("Left over at 2026-01-01T00:00:00Z:")
                .hasMessageContaining("limiter 'partner', root, limit 100 requests in flight: 1 still held")
                .hasMessageContaining("limiter 'partner', key endpoint=/search, limit 5 slots in flight: 3 still held");

        permit.release();
        time.checkLeaks();
    }

    @Test
    void a_waiter_its_timer_and_its_alarm_are_leaks() {
        RateLimiter limiter = time.limiter(RateLimiter.named("slow").limit(Limit.of(1, Duration.ofSeconds(10))));
        limiter.tryAcquire();
        Disposable waiter = limiter.acquire(Demand.one()).subscribe();

        assertThatThrownBy(time::checkLeaks)
                .hasMessageContaining(
                        "limiter 'slow', root, lane interactive: 1 still waiting for 1 requests per PT10S")
                .hasMessageContaining("limiter 'slow': 1 still set of its timers")
                .hasMessageContaining("task on the private scheduler: io.github.reactorratelimit.Alarm$Ring, due at");

        waiter.dispose();
        time.checkLeaks();
    }

    @Test
    void a_task_that_is_still_to_run_is_a_leak() {
        Disposable delay = Mono.delay(Duration.ofSeconds(7), time.scheduler()).subscribe();

        assertThatThrownBy(time::checkLeaks).hasMessageContaining("due at 2026-01-01T00:00:07Z, in PT7S");

        delay.dispose();
        time.checkLeaks();
    }

    @Test
    void a_permit_of_a_pure_rate_limit_that_was_never_released_is_no_leak() {
        RateLimiter limiter = time.limiter(RateLimiter.named("pure").limit(Limit.of(5, Duration.ofSeconds(10))));

        limiter.tryAcquire();
        limiter.acquire(Demand.one()).subscribe();

        assertThatCode(time::checkLeaks).doesNotThrowAnyException();
    }

    @Test
    void a_limiter_that_was_built_elsewhere_can_be_watched() {
        RateLimiter limiter = time.watch(RateLimiter.of(Limit.inFlight(2)));
        limiter.tryAcquire();

        assertThatThrownBy(time::checkLeaks)
                .hasMessageContaining("limiter 'limiter', root, limit 2 requests in flight");
    }

    @Test
    void a_long_list_of_leaks_is_cut() {
        for (int i = 1; i <= 33; i++) {
            Mono.delay(Duration.ofSeconds(i), time.scheduler()).subscribe();
        }

        assertThatThrownBy(time::checkLeaks)
                .hasMessageContaining("in PT30S")
                .hasMessageNotContaining("in PT31S")
                .hasMessageEndingWith("  and 3 more");
    }
}
