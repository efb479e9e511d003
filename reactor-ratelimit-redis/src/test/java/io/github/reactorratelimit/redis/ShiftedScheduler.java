package io.github.reactorratelimit.redis;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import reactor.core.Disposable;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** A real scheduler whose clock can be put forward and back. */
final class ShiftedScheduler implements Scheduler {

    private final Scheduler real = Schedulers.parallel();
    private final AtomicLong shiftNanos = new AtomicLong();

    void shift(Duration by) {
        shiftNanos.addAndGet(by.toNanos());
    }

    @Override
    public long now(TimeUnit unit) {
        return unit.convert(real.now(TimeUnit.NANOSECONDS) + shiftNanos.get(), TimeUnit.NANOSECONDS);
    }

    @Override
    public Disposable schedule(Runnable task) {
        return real.schedule(task);
    }

    @Override
    public Disposable schedule(Runnable task, long delay, TimeUnit unit) {
        return real.schedule(task, delay, unit);
    }

    @Override
    public Worker createWorker() {
        return real.createWorker();
    }
}
