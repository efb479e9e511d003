package io.github.reactorratelimit;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.core.scheduler.Scheduler;

/** A scheduler that knows how many of its tasks have neither run nor been disposed. */
final class PendingScheduler implements Scheduler {

    private final Scheduler real;
    private final AtomicInteger pending = new AtomicInteger();

    PendingScheduler(Scheduler real) {
        this.real = real;
    }

    int pending() {
        return pending.get();
    }

    @Override
    public long now(TimeUnit unit) {
        return real.now(unit);
    }

    @Override
    public Disposable schedule(Runnable task) {
        return schedule(task, 0, TimeUnit.NANOSECONDS);
    }

    @Override
    public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
        pending.incrementAndGet();
        Disposable once = Disposables.composite(pending::decrementAndGet);
        Disposable scheduled = real.schedule(
                () -> {
                    once.dispose();
                    task.run();
                },
                delay,
                unit);
        return Disposables.composite(once, scheduled);
    }

    @Override
    public Worker createWorker() {
        throw new UnsupportedOperationException("a limiter needs no worker");
    }

    @Override
    public void dispose() {
        throw new UnsupportedOperationException("a limiter disposes nobody's scheduler");
    }
}
