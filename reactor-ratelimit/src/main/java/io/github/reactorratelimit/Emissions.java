package io.github.reactorratelimit;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Exceptions;
import reactor.core.publisher.Operators;
import reactor.util.context.Context;

/**
 * A trampoline per thread: a grant may complete at once, release, and cause the next grant, a hundred thousand times over,
 * without one call standing on another.
 */
final class Emissions {

    private static final Logger LOG = LoggerFactory.getLogger(Emissions.class);
    private static final ThreadLocal<Emissions> OF_THREAD = ThreadLocal.withInitial(Emissions::new);

    private @Nullable Ticket first;
    private @Nullable Ticket last;
    /** Those who asked one limiter while this thread emitted, and the limiter. */
    private @Nullable Ticket firstAsking;

    private @Nullable Ticket lastAsking;
    private @Nullable Arrivals asked;
    private final ArrayDeque<Runnable> afterwards = new ArrayDeque<>(1);
    private boolean running;

    private Emissions() {}

    /** Emits a chain of decided tickets, after those that this thread has not come to yet. */
    static void emit(Ticket chain) {
        OF_THREAD.get().run(chain);
    }

    /** Leaves a decided ticket until this thread has emitted those before it; false if it emits nothing now. */
    static boolean later(Ticket ticket) {
        Emissions here = OF_THREAD.get();
        if (here.running) {
            here.append(ticket);
        }
        return here.running;
    }

    /**
     * Leaves a ticket that asks until this thread has emitted those before it, to be admitted with all that ask meanwhile;
     * false if it emits nothing now, or somebody asks another limiter.
     */
    static boolean gather(Arrivals where, Ticket ticket) {
        Emissions here = OF_THREAD.get();
        if (!here.running || (here.asked != null && here.asked != where)) {
            return false;
        }
        if (here.lastAsking == null) {
            here.asked = where;
            here.firstAsking = ticket;
        } else {
            here.lastAsking.next = ticket;
        }
        here.lastAsking = ticket;
        return true;
    }

    /** Leaves something to be done, once, when this thread has emitted all it has to; false if it emits nothing now. */
    static boolean afterwards(Runnable task) {
        Emissions here = OF_THREAD.get();
        if (here.running && !here.afterwards.contains(task)) {
            here.afterwards.add(task);
        }
        return here.running;
    }

    private void run(Ticket chain) {
        append(chain);
        if (running) {
            return;
        }
        running = true;
        try {
            runAll();
        } finally {
            running = false;
        }
        for (Runnable task = afterwards.poll(); task != null; task = afterwards.poll()) {
            task.run();
        }
    }

    private void runAll() {
        do {
            for (Ticket chain = take(); chain != null; chain = take()) {
                Ticket next = chain;
                while (next != null) {
                    Ticket ticket = next;
                    next = ticket.next;
                    ticket.next = null;
                    emitOne(ticket);
                }
            }
        } while (admitted());
    }

    /** Lets those in who asked meanwhile; false if nobody did. */
    private boolean admitted() {
        Arrivals where = asked;
        Ticket chain = firstAsking;
        asked = null;
        firstAsking = null;
        lastAsking = null;
        if (where == null || chain == null) {
            return false;
        }
        where.admit(chain);
        return true;
    }

    private static void emitOne(Ticket ticket) {
        try {
            ticket.emit();
        } catch (Throwable e) {
            thrown(e);
        }
    }

    /** Tells a ticket that it could not even ask; whatever its subscriber makes of that, others have their turn. */
    static void failOne(Ticket ticket, Throwable error) {
        try {
            if (!ticket.failAsking(error)) {
                Operators.onErrorDropped(error, Context.empty());
            }
        } catch (Throwable e) {
            thrown(e);
        }
    }

    private static void thrown(Throwable error) {
        Exceptions.throwIfJvmFatal(error);
        LOG.error("A subscriber threw from a signal, which the Reactive Streams specification forbids", error);
    }

    private void append(Ticket chain) {
        Ticket tail = chain;
        while (tail.next != null) {
            tail = tail.next;
        }
        if (last == null) {
            first = chain;
        } else {
            last.next = chain;
        }
        last = tail;
    }

    private @Nullable Ticket take() {
        Ticket chain = first;
        first = null;
        last = null;
        return chain;
    }
}
