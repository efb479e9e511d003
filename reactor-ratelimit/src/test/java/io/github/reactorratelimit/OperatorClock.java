package io.github.reactorratelimit;

import java.time.Duration;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;

/**
 * Virtual time that several threads may use at once. A VirtualTimeScheduler may not: it looks at its next task and takes
 * the first one then, which is another one if the next was disposed meanwhile, and that one is lost.
 */
final class OperatorClock implements Scheduler {

    private final PriorityQueue<Task> tasks = new PriorityQueue<>(Comparator.comparingLong(Task::at));
    private long nanos;

    /** Runs on the calling thread what is due until then. */
    void advance(Duration by) {
        long target;
        synchronized (this) {
            target = nanos + by.toNanos();
        }
        for (Task task = next(target); task != null; task = next(target)) {
            task.run.run();
        }
    }

    private synchronized @Nullable Task next(long target) {
        Task first = tasks.peek();
        boolean due = first != null && first.at <= target;
        nanos = Math.max(nanos, first != null && due ? first.at : target);
        return due ? tasks.poll() : null;
    }

    @Override
    public synchronized long now(TimeUnit unit) {
        return unit.convert(nanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public Disposable schedule(Runnable run) {
        return schedule(run, 0, TimeUnit.NANOSECONDS);
    }

    @Override
    public synchronized Disposable schedule(Runnable run, long delay, TimeUnit unit) {
        Task task = new Task(nanos + unit.toNanos(delay), run);
        tasks.add(task);
        return () -> remove(task);
    }

    private synchronized void remove(Task task) {
        tasks.remove(task);
    }

    @Override
    public Worker createWorker() {
        throw new UnsupportedOperationException("a limiter needs no worker");
    }

    /** By identity: two settings of one alarm may look alike. */
    private static final class Task {

        private final long at;
        private final Runnable run;

        Task(long at, Runnable run) {
            this.at = at;
            this.run = run;
        }

        long at() {
            return at;
        }
    }
}
