package io.github.reactorratelimit.test;

import static java.util.concurrent.TimeUnit.DAYS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.test.scheduler.VirtualTimeScheduler;

class WatchedSchedulerTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final WatchedScheduler scheduler = new WatchedScheduler(time);
    private final List<Long> ran = new ArrayList<>();

    private void note() {
        ran.add(scheduler.now(SECONDS));
    }

    @Test
    void a_task_is_left_over_until_it_ran() {
        scheduler.schedule(this::note, 5, SECONDS);

        time.advanceTimeBy(Duration.ofSeconds(4));
        assertThat(scheduler.leftOver()).singleElement().asString().contains("due at 1970-01-01T00:00:05Z, in PT1S");

        time.advanceTimeBy(Duration.ofSeconds(1));
        assertThat(scheduler.leftOver()).isEmpty();
        assertThat(ran).containsExactly(5L);
    }

    @Test
    void a_task_that_is_due_at_once_is_over_when_schedule_returns() {
        Disposable task = scheduler.schedule(this::note);

        assertThat(ran).containsExactly(0L);
        assertThat(task.isDisposed()).isTrue();
        assertThat(scheduler.leftOver()).isEmpty();
    }

    @Test
    void a_disposed_task_is_not_left_over_and_does_not_run() {
        scheduler.schedule(this::note, 5, SECONDS).dispose();

        assertThat(scheduler.leftOver()).isEmpty();
        time.advanceTimeBy(Duration.ofSeconds(5));
        assertThat(ran).isEmpty();
    }

    @Test
    void a_periodic_task_is_left_over_until_it_is_disposed() {
        Disposable task = scheduler.schedulePeriodically(this::note, 1, 2, SECONDS);

        time.advanceTimeBy(Duration.ofSeconds(5));
        assertThat(ran).containsExactly(1L, 3L, 5L);
        assertThat(scheduler.leftOver()).singleElement().asString().contains("periodic since 1970-01-01T00:00:01Z");

        task.dispose();
        assertThat(scheduler.leftOver()).isEmpty();
        time.advanceTimeBy(Duration.ofSeconds(5));
        assertThat(ran).hasSize(3);
    }

    @Test
    void a_task_that_failed_is_over_even_if_it_was_periodic() {
        scheduler.schedulePeriodically(
                () -> {
                    throw new IllegalStateException("broken");
                },
                1,
                1,
                SECONDS);

        assertThatThrownBy(() -> time.advanceTimeBy(Duration.ofSeconds(1))).hasMessageContaining("broken");
        assertThat(scheduler.leftOver()).isEmpty();
    }

    @Test
    void tasks_of_a_worker_are_over_when_it_is_disposed_and_others_are_not() {
        Scheduler.Worker worker = scheduler.createWorker();
        worker.schedule(this::note);
        worker.schedule(this::note, 1, SECONDS);
        worker.schedule(this::note, 3, SECONDS);
        worker.schedulePeriodically(this::note, 3, 1, SECONDS);
        scheduler.schedule(this::note, 4, SECONDS);
        time.advanceTimeBy(Duration.ofSeconds(2));
        assertThat(scheduler.leftOver()).hasSize(3);

        worker.dispose();

        assertThat(worker.isDisposed()).isTrue();
        assertThat(scheduler.leftOver()).hasSize(1);
        time.advanceTimeBy(Duration.ofSeconds(2));
        assertThat(ran).containsExactly(0L, 1L, 4L);
    }

    @Test
    void operators_leave_nothing_over_when_they_end_or_are_cancelled() {
        Disposable interval = Flux.interval(Duration.ofSeconds(1), scheduler).subscribe();
        Disposable paced = Flux.range(0, 3)
                .delayElements(Duration.ofSeconds(1), scheduler)
                .publishOn(scheduler)
                .subscribe(i -> note());
        Mono.never().timeout(Duration.ofMinutes(1), scheduler).subscribe().dispose();
        assertThat(scheduler.leftOver()).hasSize(2);

        time.advanceTimeBy(Duration.ofSeconds(3));
        assertThat(ran).containsExactly(1L, 2L, 3L);
        assertThat(paced.isDisposed()).isTrue();
        interval.dispose();

        assertThat(scheduler.leftOver()).isEmpty();
    }

    @Test
    void what_is_due_in_centuries_does_not_run_at_once() {
        time.advanceTimeBy(Duration.ofDays(20_000));

        scheduler.schedule(this::note, Long.MAX_VALUE, NANOSECONDS);
        scheduler.createWorker().schedule(this::note, 300 * 365, DAYS);

        assertThat(ran).isEmpty();
        assertThat(scheduler.leftOver()).hasSize(2);
    }

    @Test
    void a_rejected_task_is_not_left_over() {
        scheduler.schedule(this::note, 1, SECONDS);
        scheduler.dispose();
        assertThat(scheduler.isDisposed()).isTrue();

        assertThatThrownBy(() -> scheduler.schedule(this::note, 1, SECONDS))
                .isInstanceOf(RejectedExecutionException.class);

        assertThat(scheduler.leftOver()).isEmpty();
    }
}
