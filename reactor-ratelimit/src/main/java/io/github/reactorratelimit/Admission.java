package io.github.reactorratelimit;

import io.github.reactorratelimit.Departures.Leaving;
import io.github.reactorratelimit.RateLimitListener.Ending;
import io.github.reactorratelimit.RateLimitListener.Queue;
import io.github.reactorratelimit.Ticket.Stage;
import io.github.reactorratelimit.Tree.KeyLimits;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.Scheduler;

/**
 * Lets tickets in and out: all that asks for permits, may wait for them and gives them back, each in one
 * {@linkplain Passes pass}. What is asked without standing in line goes to {@link Decisions}, what attempts tell while they
 * run to {@link Answers}, what people do by hand to {@link Controls}.
 */
final class Admission {

    private final Settings settings;
    private final KeyFinder finder;
    private final Departures departures;
    private final WaitingRoom room;
    private final Passes passes;
    private final Decisions decisions;
    private final Answers answers;
    private final Controls controls;
    private final @Nullable Herald herald;
    private final @Nullable StoreCaller caller;
    /** Null if there is no store. */
    private final @Nullable Arrivals arrivals;

    Admission(Settings settings, List<Limit> limits, List<Scope> scopes, Supplier<Scheduler> schedulers) {
        this(settings, limits, scopes, schedulers, null);
    }

    /** With a store, all books of limits are there, and those here only say how much can be asked for. */
    Admission(
            Settings settings,
            List<Limit> limits,
            List<Scope> scopes,
            Supplier<Scheduler> schedulers,
            @Nullable LimitStore store) {
        LimiterClock clock = new LimiterClock(schedulers);
        Generations generations = new Generations();
        Timers timers = new Timers();
        News news = new News(!settings.listeners().isEmpty(), timers);
        StoreNews told = store == null ? null : new StoreNews();
        Outgoing outgoing = new Outgoing();
        this.settings = settings;
        Tree tree = new Tree(limits, scopes, settings, generations, clock::wallMillis, store != null);
        Turns turns = new Turns(tree.root, timers, settings.ageingNanos());
        Entries entries = new Entries(turns, generations, told);
        this.departures = new Departures(settings, timers, turns, entries, outgoing);
        Cooldowns cooldowns = new Cooldowns(settings, generations, tree, news, store != null);
        Sharing sharing = null;
        if (store != null && told != null) {
            Sharing.check(limits);
            Stocks stocks = new Stocks(timers, told);
            StoreVerdicts verdicts =
                    new StoreVerdicts(settings, timers, turns, entries, departures, outgoing, told, stocks);
            SharedKeys keys = new SharedKeys(told, news, cooldowns, turns, generations);
            sharing = new Sharing(store, settings, tree, timers, turns, verdicts, told, stocks, keys);
        }
        this.caller = sharing == null ? null : new StoreCaller(this, sharing, limits, scopes);
        Outlook outlook = new Outlook();
        this.room = new WaitingRoom(
                settings, timers, turns, cooldowns, outlook, news, entries, departures, outgoing, sharing);
        this.herald = Herald.of(settings, tree);
        this.finder = new KeyFinder(tree, herald);
        this.passes = new Passes(clock, timers, tree, turns, room, departures, outgoing, news, herald, caller);
        this.arrivals =
                sharing == null ? null : new Arrivals(this, finder, passes, outgoing, entries, sharing.stocks());
        this.decisions =
                new Decisions(this, tree, turns, generations, outlook, finder, entries, room, passes, herald, caller);
        Hearing hearing = new Hearing(
                settings, tree, timers, turns, generations, news, entries, departures, outgoing, cooldowns, told);
        this.answers = new Answers(settings, passes, timers, hearing, entries, departures, herald);
        this.controls = new Controls(settings, passes, tree, timers, turns, departures, generations, news, caller);
    }

    Settings settings() {
        return settings;
    }

    Passes passes() {
        return passes;
    }

    Decisions decisions() {
        return decisions;
    }

    Answers answers() {
        return answers;
    }

    Controls controls() {
        return controls;
    }

    LimiterClock clock() {
        return passes.clock();
    }

    /** Limiter time. */
    long now() {
        return passes.now();
    }

    /** Who tells the listeners; null if there are none. */
    @Nullable
    Herald herald() {
        return herald;
    }

    // ----------------------------------------------------------------------------------------------------- asking

    /**
     * Lets a ticket ask: it rests first if it must, then is granted at once, waits, or is refused. What is decided at once
     * is emitted before this returns, or in turn where this thread is emitting grants of a store.
     *
     * @throws IllegalArgumentException if the demand lacks an attribute or names an unknown lane; then nothing happened
     */
    void acquire(Ticket ticket, @Nullable String contextLane, long restNanos, long maxWaitNanos) {
        Demand demand = ticket.demand;
        int lane = settings.lanes().indexOf(demand.lane() == null ? contextLane : demand.lane());
        if (herald == null && restNanos == 0 && arrivals != null && arrivals.isWorthwhile()) {
            ticket.asks(lane, maxWaitNanos);
            if (Emissions.gather(arrivals, ticket)) {
                return;
            }
        }
        acquire(ticket, lane, restNanos, maxWaitNanos);
    }

    /** As above, in a lane that is known. */
    void acquire(Ticket ticket, int lane, long restNanos, long maxWaitNanos) {
        Demand demand = ticket.demand;
        Object[] keys = herald == null ? null : finder.asked(ticket, lane);
        KeyLimits limits = null;
        while (true) {
            Scheduler scheduler = passes.clock().scheduler();
            long raw = scheduler.now(TimeUnit.NANOSECONDS);
            Node leaf;
            boolean decided = false;
            boolean left = false;
            Queue queue = null;
            Ticket out;
            synchronized (passes) {
                long now = passes.begin(scheduler, raw);
                leaf = finder.leaf(now, demand, keys, limits);
                // A ticket that was cancelled before it got here is done.
                left = leaf != null && ticket.stage() != Stage.NEW;
                if (leaf != null && !left) {
                    admit(now, ticket, leaf, lane, restNanos, maxWaitNanos);
                    decided = ticket.isDecided();
                    queue = decided || herald == null ? null : room.queue(now, ticket);
                }
                out = passes.finish(now);
            }
            tell(ticket, queue, left);
            passes.carryOut(out);
            if (leaf != null) {
                if (decided) {
                    tell(ticket);
                } else {
                    passes.checkAlarm();
                }
                return;
            }
            if (keys == null) {
                keys = finder.keys(demand);
            } else {
                limits = finder.limits(ticket, keys);
            }
        }
    }

    /** Whoever comes again as soon as it has its permit doesn't get before others what a store granted for all. */
    private void tell(Ticket decided) {
        if (decided.standing() == null || !Emissions.later(decided)) {
            decided.emit();
        }
    }

    /** What became of asking, if it isn't decided yet: it waits, or it had left by then. */
    private void tell(Ticket ticket, @Nullable Queue queue, boolean left) {
        if (herald != null && queue != null) {
            herald.waiting(ticket, queue);
        } else if (herald != null && left) {
            herald.left(ticket, 0);
        }
    }

    /** Its subscriber has the permit from here on, so now it is told. */
    void granted(Ticket ticket) {
        if (herald != null) {
            herald.granted(ticket, ticket.sentAt - ticket.joinedAt);
        }
    }

    /** Its subscriber gets the refusal. */
    void refused(Ticket ticket, Throwable why) {
        if (herald != null) {
            herald.refused(ticket, ticket.slot == null ? 0 : now() - ticket.joinedAt, why);
        }
    }

    /** Under the monitor. */
    void admit(long now, Ticket ticket, Node leaf, int lane, long restNanos, long maxWaitNanos) {
        if (passes.isDisposed()) {
            ticket.refuse(Refusals.disposed(settings.name(), leaf, null));
        } else {
            room.admit(now, ticket, leaf, lane, restNanos, maxWaitNanos);
        }
    }

    // ---------------------------------------------------------------------------------------------------- leaving

    /** The attempt ended. */
    void release(Ticket ticket) {
        passes.carryOut(end(ticket, Leaving.ENDED));
    }

    /** As {@link #release}; what it decided is left to the caller, who has an answer of its own to give first. */
    @Nullable
    Ticket released(Ticket ticket) {
        return end(ticket, Leaving.ENDED);
    }

    /** The attempt was cancelled while it ran: a permit that is known not to be sent yet is given back whole. */
    void abort(Ticket ticket) {
        passes.carryOut(end(ticket, Leaving.CANCELLED));
    }

    /** The grant was told, and a cancel came before the permit was used: it is given back whole. */
    void withdraw(Ticket ticket) {
        passes.carryOut(end(ticket, Leaving.WITHDRAWN));
    }

    /** Nobody wants it any more: a waiting ticket leaves its line, a permit that nobody got to use is given back whole. */
    void cancel(Ticket ticket) {
        passes.carryOut(end(ticket, Leaving.UNUSED));
    }

    private @Nullable Ticket end(Ticket ticket, Leaving how) {
        Scheduler scheduler = passes.clock().scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        long now;
        long heldNanos;
        Ending ending;
        boolean asked;
        synchronized (passes) {
            now = passes.begin(scheduler, raw);
            asked = ticket.stage() != Stage.NEW; // Else who asks for it sees that it has left.
            heldNanos = now - ticket.sentAt;
            ending = departures.end(now, ticket, how);
            out = passes.finish(now);
        }
        if (herald != null) {
            if (how == Leaving.UNUSED && asked) {
                herald.left(ticket, ticket.slot == null ? 0 : now - ticket.joinedAt);
            } else if (how != Leaving.UNUSED) {
                herald.released(ticket, heldNanos, ending);
            }
        }
        return out;
    }

    /** What a pass decided, outside the monitor. */
    void carryOut(@Nullable Ticket out) {
        passes.carryOut(out);
    }
}
