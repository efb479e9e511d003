package io.github.reactorratelimit;

import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Scheduler;
import reactor.util.context.Context;

/**
 * One pass after the other: time moves on, what is due runs, a command is carried out, permits are granted while there is
 * room. A pass calls no user code, no scheduler and no logger, and never waits: what it decided, and when it wants to be
 * woken, are carried out after it. Of a scheduler it reads the clock on the wall, at most once a second, where a limit
 * follows the calendar.
 *
 * <p>It is its own monitor, the one that all state of a limiter belongs to. Whoever has more to carry out of a pass than a
 * {@link #pass command} enters it by hand: {@link #begin}, the command and {@link #finish} inside, {@link #carryOut} after it.
 */
final class Passes {

    private final LimiterClock clock;
    private final Timers timers;
    private final Tree tree;
    private final Turns turns;
    private final WaitingRoom room;
    private final Departures departures;
    private final Outgoing outgoing;
    private final News news;
    private final @Nullable Herald herald;
    private final @Nullable StoreCaller caller;
    private final Alarm alarm;

    private volatile boolean disposed;
    // Read after the monitor is left: whoever sees them does what is left to do.
    private volatile boolean more;
    private volatile boolean alarmWanted;

    Passes(
            LimiterClock clock,
            Timers timers,
            Tree tree,
            Turns turns,
            WaitingRoom room,
            Departures departures,
            Outgoing outgoing,
            News news,
            @Nullable Herald herald,
            @Nullable StoreCaller caller) {
        this.clock = clock;
        this.timers = timers;
        this.tree = tree;
        this.turns = turns;
        this.room = room;
        this.departures = departures;
        this.outgoing = outgoing;
        this.news = news;
        this.herald = herald;
        this.caller = caller;
        this.alarm = new Alarm(this::ring, this::rejected);
    }

    LimiterClock clock() {
        return clock;
    }

    /** Limiter time. */
    long now() {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        synchronized (this) {
            return clock.follow(scheduler, raw);
        }
    }

    void pass(LongConsumer command) {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        synchronized (this) {
            long now = begin(scheduler, raw);
            command.accept(now);
            out = finish(now);
        }
        carryOut(out);
    }

    /** Looks at something, or changes what no pass is about. */
    void inMonitor(Runnable command) {
        synchronized (this) {
            command.run();
        }
    }

    private void ring(Alarm.Ring ring) {
        pass(now -> ring.heard());
    }

    /** Lets time move on, and runs what is due; under the monitor. */
    long begin(Scheduler scheduler, long raw) {
        long now = clock.follow(scheduler, raw);
        if (caller != null && clock.isStanding()) {
            caller.clockStands();
        }
        if (timers.firstDue() <= now) {
            room.runDue(now);
        }
        return now;
    }

    /** Grants while there is room, says when to be woken, and hands out what was decided; under the monitor. */
    @Nullable
    Ticket finish(long now) {
        boolean done = turns.waiting() == 0 || room.grantAll(now);
        if (!done || timers.firstDue() <= now) {
            more = true;
        }
        if (caller != null) {
            caller.prepare();
        }
        tree.forgetIdle(now);
        boolean wanted = alarm.want(more ? Exact.NEVER : timers.firstDue(), clock.anchor());
        if (alarmWanted != wanted) { // A volatile write costs as much as the look at a limit.
            alarmWanted = wanted;
        }
        return outgoing.take();
    }

    /** What a pass decided; outside the monitor. */
    void carryOut(@Nullable Ticket out) {
        carryOutOnce(out);
        while (more) {
            Scheduler scheduler = clock.scheduler();
            long raw = scheduler.now(TimeUnit.NANOSECONDS);
            Ticket next;
            synchronized (this) {
                more = false;
                next = finish(begin(scheduler, raw));
            }
            carryOutOnce(next);
        }
    }

    private void carryOutOnce(@Nullable Ticket out) {
        if (alarmWanted) {
            alarm.set();
        }
        tellNews();
        if (out != null) {
            Emissions.emit(out);
        }
        if (caller != null) {
            caller.carryOut();
        }
    }

    /** Tells listeners what passes noticed. */
    void tellNews() {
        if (herald != null && news.isSome()) {
            List<News.Item> items;
            synchronized (this) {
                items = news.take();
            }
            herald.news(items);
        }
    }

    /** Somebody waits now: a timer that can't ring any more is found out. */
    void checkAlarm() {
        alarm.check();
    }

    /** The scheduler takes no timers any more, so nobody would ever be woken. */
    private void rejected(RejectedExecutionException e) {
        Throwable cause = Operators.onRejectedExecution(e, Context.empty());
        pass(now -> departures.failAll(now, tree.root, cause));
    }

    boolean isDisposed() {
        return disposed;
    }

    void dispose() {
        disposed = true;
        pass(now -> {
            if (caller != null) {
                caller.dispose(now);
            }
            departures.failAll(now, tree.root, null);
        });
    }
}
