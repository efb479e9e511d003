package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.Departures.Leaving;
import io.github.reactorratelimit.Others.Finding;
import io.github.reactorratelimit.RateLimitListener.Ending;
import io.github.reactorratelimit.Ticket.Stage;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/** What attempts tell while they run: that they were sent, what was answered, what it cost. Each is a pass of its own. */
final class Answers {

    private final Settings settings;
    private final Passes passes;
    private final Timers timers;
    private final Hearing hearing;
    private final Entries entries;
    private final Departures departures;
    private final @Nullable Herald herald;

    Answers(
            Settings settings,
            Passes passes,
            Timers timers,
            Hearing hearing,
            Entries entries,
            Departures departures,
            @Nullable Herald herald) {
        this.settings = settings;
        this.passes = passes;
        this.timers = timers;
        this.hearing = hearing;
        this.entries = entries;
        this.departures = departures;
        this.herald = herald;
    }

    /** Writing the request begins: from here on the server may see it. */
    void sending(Ticket ticket) {
        passes.inMonitor(() -> ticket.heardOf |= ticket.phase == Phase.UNSENT);
    }

    /** The request is written now; whether this is the first that is heard of it. */
    boolean sent(Ticket ticket) {
        boolean[] first = new boolean[1];
        passes.pass(now -> {
            first[0] = ticket.stage() == Stage.HELD && ticket.phase == Phase.UNSENT;
            if (first[0]) {
                ticket.heardOf = true;
                entries.move(now, ticket, Phase.SENT);
                ticket.sentAt = now;
            }
        });
        if (first[0] && herald != null) {
            herald.sent(ticket);
        }
        return first[0];
    }

    /** From now on the attempt has {@code nanos} until its head, or until what follows it is over. */
    void watch(Ticket ticket, long nanos, boolean pastHead) {
        passes.pass(now -> {
            if (ticket.stage() == Stage.HELD && (pastHead || ticket.phase != Phase.HEADED)) {
                timers.set(ticket, Exact.add(now, nanos));
            }
        });
    }

    /**
     * Hears what a response said, marks its head, and releases if this was all.
     *
     * @param pauseNanos closes the narrowest scope for so long, for a failure that is not a limit; 0 for not
     */
    void hear(Ticket ticket, RateLimitSignal signal, long pauseNanos, boolean release) {
        passes.carryOut(heard(ticket, signal, pauseNanos, release));
    }

    /** As {@link #hear}; what it decided is left to the caller, who has an answer of its own to give first. */
    @Nullable
    Ticket heard(Ticket ticket, RateLimitSignal signal, long pauseNanos, boolean release) {
        boolean mayClose = signal.throttled() || (settings.breaker() && signal.status() >= 500);
        double random = mayClose ? settings.random().getAsDouble() : 0;
        Scheduler scheduler = passes.clock().scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        Throttle throttle = null;
        Finding others;
        boolean counts;
        boolean free = false;
        List<String> saved = List.of();
        long heldNanos = 0;
        Ending ending = null;
        synchronized (passes) {
            long now = passes.begin(scheduler, raw);
            counts = ticket.stage() == Stage.HELD || (!release && ticket.stage() == Stage.RELEASED);
            if (ticket.stage() == Stage.HELD || !release) {
                // The server did not count it, as GitHub doesn't count a 304.
                free = signal.cost() == 0 && entries.correct(now, ticket, Limit.REQUESTS, 0);
                saved = entries.save(now, ticket, signal);
                throttle = hearing.hear(now, ticket, signal, pauseNanos, random);
                if (!saved.isEmpty()) {
                    entries.notice(now, ticket);
                }
            }
            others = hearing.others().take();
            if (release) {
                heldNanos = now - ticket.sentAt;
                ending = departures.end(now, ticket, Leaving.HEARD);
            }
            out = passes.finish(now);
        }
        if (throttle != null) {
            throttle.log(settings.name());
        }
        log(others);
        if (herald != null) {
            if (counts && signal.status() != 0) {
                herald.answered(ticket, signal, throttle == null ? 0 : throttle.waitNanos());
            }
            if (free) {
                herald.settled(ticket, Limit.REQUESTS, 0);
            }
            for (String unit : saved) {
                herald.settled(ticket, unit, 0);
            }
            passes.tellNews();
            herald.released(ticket, heldNanos, ending);
        }
        return out;
    }

    /** The attempt failed, and by what its failure says nothing reached the server; its end, which follows, is noticed. */
    void unsent(Ticket ticket) {
        List<String> saved = new ArrayList<>(0);
        passes.pass(now -> saved.addAll(entries.saveUnsent(now, ticket)));
        if (herald != null) {
            saved.forEach(unit -> herald.settled(ticket, unit, 0));
        }
    }

    /**
     * Hears an answer that is several responses in one, each for itself and all before anything else is decided. Listeners
     * are told the last of them first, so that what they know last of the attempt is the first.
     *
     * @param actual what the attempt costs, by what the server counts
     */
    void hearAll(Ticket ticket, List<RateLimitSignal> signals, long actual, long pauseNanos) {
        double random = settings.random().getAsDouble();
        @Nullable Throttle[] throttles = new @Nullable Throttle[signals.size()];
        Scheduler scheduler = passes.clock().scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        boolean counts;
        boolean corrected = false;
        Finding others;
        Ticket out;
        synchronized (passes) {
            long now = passes.begin(scheduler, raw);
            counts = ticket.stage() == Stage.HELD || ticket.stage() == Stage.RELEASED;
            if (counts && actual != ticket.demand.requests()) {
                corrected = entries.correct(now, ticket, Limit.REQUESTS, actual);
            }
            if (counts) {
                hearing.hearAll(now, ticket, signals, throttles, pauseNanos, random);
            }
            if (corrected) {
                entries.notice(now, ticket);
            }
            others = hearing.others().take();
            out = passes.finish(now);
        }
        Throttle.log(settings.name(), throttles);
        log(others);
        if (herald != null && counts) {
            for (int i = throttles.length - 1; i >= 0; i--) {
                Throttle throttle = throttles[i];
                if (signals.get(i).status() != 0) {
                    herald.answered(ticket, signals.get(i), throttle == null ? 0 : throttle.waitNanos());
                }
            }
            if (corrected) {
                herald.settled(ticket, Limit.REQUESTS, actual);
            }
        }
        passes.tellNews();
        passes.carryOut(out);
    }

    private void log(@Nullable Finding others) {
        if (others != null) {
            others.log(settings.name());
        }
    }

    /** The attempt was sent and not answered in time. */
    void timedOut(Ticket ticket) {
        if (settings.breaker()) {
            double random = settings.random().getAsDouble();
            @Nullable Throttle[] rest = new @Nullable Throttle[1];
            passes.pass(now -> rest[0] = hearing.timedOut(now, ticket, random));
            if (rest[0] != null) {
                rest[0].log(settings.name());
            }
        }
    }

    /** How long the scopes of a ticket stay closed, as far as listeners have to know. */
    long closedFor(Ticket ticket) {
        long[] closed = new long[1];
        passes.pass(now -> {
            for (Node node = ticket.slot == null ? null : ticket.slot.node; node != null; node = node.parent) {
                closed[0] = Math.max(closed[0], Exact.subtract(node.gate.closedUntil, now));
            }
        });
        return closed[0];
    }

    void settle(Ticket ticket, String unit, long actual) {
        Objects.requireNonNull(unit, "unit");
        if (actual < 0) {
            throw new IllegalArgumentException("an actual cost in " + unit + " must not be negative, was " + actual);
        }
        boolean[] settled = new boolean[1];
        passes.pass(now -> settled[0] = entries.settle(now, ticket, unit, actual));
        if (settled[0] && herald != null) {
            herald.settled(ticket, unit, actual);
        }
    }
}
