package io.github.reactorratelimit.test;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;

/**
 * A scheduler that knows which of its tasks are still to run: a virtual time scheduler only counts all that ever were.
 * A task is live from scheduling until it has run, failed, or been disposed, by itself or with its worker.
 */
final class WatchedScheduler implements Scheduler {

    private final Scheduler delegate;
    private final Set<Task> live = ConcurrentHashMap.newKeySet();

    WatchedScheduler(Scheduler delegate) {
        this.delegate = delegate;
    }

    /** The tasks that are still to run, those due first in front, as text. */
    List<String> leftOver() {
        return live.stream()
                .sorted(Comparator.comparingLong((Task task) -> task.dueNanos))
                .map(Task::toString)
                .toList();
    }

    @Override
    public long now(TimeUnit unit) {
        return delegate.now(unit);
    }

    @Override
    public Disposable schedule(Runnable task) {
        Task own = new Task(task, 0, false, null);
        return own.start(() -> delegate.schedule(own));
    }

    @Override
    public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
        long nanos = fitting(delay, unit);
        Task own = new Task(task, nanos, false, null);
        return own.start(() -> delegate.schedule(own, nanos, NANOSECONDS));
    }

    @Override
    public Disposable schedulePeriodically(Runnable task, long initialDelay, long period, TimeUnit unit) {
        long nanos = fitting(initialDelay, unit);
        Task own = new Task(task, nanos, true, null);
        return own.start(() -> delegate.schedulePeriodically(own, nanos, unit.toNanos(period), NANOSECONDS));
    }

    /** Virtual time adds without a look at overflow, and what is due in 292 years would run at once. */
    private long fitting(long delay, TimeUnit unit) {
        return Math.min(unit.toNanos(delay), Long.MAX_VALUE - delegate.now(NANOSECONDS));
    }

    @Override
    public Worker createWorker() {
        return new WatchedWorker(delegate.createWorker());
    }

    @Override
    public void dispose() {
        delegate.dispose();
        live.clear();
    }

    @Override
    public boolean isDisposed() {
        return delegate.isDisposed();
    }

    private final class WatchedWorker implements Worker {

        private final Worker worker;

        WatchedWorker(Worker worker) {
            this.worker = worker;
        }

        @Override
        public Disposable schedule(Runnable task) {
            Task own = new Task(task, 0, false, this);
            return own.start(() -> worker.schedule(own));
        }

        @Override
        public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
            long nanos = fitting(delay, unit);
            Task own = new Task(task, nanos, false, this);
            return own.start(() -> worker.schedule(own, nanos, NANOSECONDS));
        }

        @Override
        public Disposable schedulePeriodically(Runnable task, long initialDelay, long period, TimeUnit unit) {
            long nanos = fitting(initialDelay, unit);
            Task own = new Task(task, nanos, true, this);
            return own.start(() -> worker.schedulePeriodically(own, nanos, unit.toNanos(period), NANOSECONDS));
        }

        @Override
        public void dispose() {
            worker.dispose();
            live.removeIf(task -> task.worker == this);
        }

        @Override
        public boolean isDisposed() {
            return worker.isDisposed();
        }
    }

    private final class Task implements Runnable, Disposable {

        private final Runnable task;
        private final long dueNanos;
        private final boolean periodic;
        private final @Nullable WatchedWorker worker;
        private volatile boolean over;
        private volatile @Nullable Disposable handle;

        Task(Runnable task, long delayNanos, boolean periodic, @Nullable WatchedWorker worker) {
            this.task = task;
            this.dueNanos = now(NANOSECONDS) + Math.max(0, delayNanos);
            this.periodic = periodic;
            this.worker = worker;
        }

        /** It is live before it is scheduled, because it may run before {@code schedule} returns. */
        Disposable start(Supplier<Disposable> schedule) {
            live.add(this);
            try {
                handle = schedule.get();
            } catch (RuntimeException e) {
                end();
                throw e;
            }
            return this;
        }

        @Override
        public void run() {
            boolean goesOn = false;
            try {
                task.run();
                goesOn = periodic;
            } finally {
                if (!goesOn) {
                    end();
                }
            }
        }

        private void end() {
            over = true;
            live.remove(this);
        }

        @Override
        public void dispose() {
            end();
            Disposable known = handle;
            if (known != null) {
                known.dispose();
            }
        }

        @Override
        public boolean isDisposed() {
            return over;
        }

        @Override
        public String toString() {
            Instant due = Instant.EPOCH.plusNanos(dueNanos);
            return task.getClass().getName() + ", "
                    + (periodic
                            ? "periodic since " + due
                            : "due at " + due + ", in " + Duration.ofNanos(dueNanos - now(NANOSECONDS)));
        }
    }
}
