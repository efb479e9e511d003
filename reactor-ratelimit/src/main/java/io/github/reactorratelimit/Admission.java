package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.Departures.Leaving;
import io.github.reactorratelimit.RateLimitListener.Ending;
import io.github.reactorratelimit.RateLimitListener.Queue;
import io.github.reactorratelimit.Ticket.Stage;
import io.github.reactorratelimit.Tree.KeyLimits;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/**
 * Decides who may go: all that asks for permits and gives them back, each in one {@linkplain Passes pass}. What runs
 * attempts tell goes to {@link Answers}, what people do by hand to {@link Controls}.
 */
final class Admission {

    private final Settings settings;
    private final Tree tree;
    private final Turns turns;
    private final Generations generations = new Generations();
    private final Outlook outlook = new Outlook();
    private final Entries entries;
    private final Departures departures;
    private final WaitingRoom room;
    private final Passes passes;
    private final Answers answers;
    private final Controls controls;
    private final @Nullable Herald herald;
    /** Who calls the store that decides; null if nobody else has a say. */
    private final @Nullable StoreCaller caller;

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
        Timers timers = new Timers();
        News news = new News(!settings.listeners().isEmpty(), timers);
        StoreNews told = store == null ? null : new StoreNews();
        Outgoing outgoing = new Outgoing();
        this.settings = settings;
        this.tree = new Tree(limits, scopes, settings, generations, clock::wallMillis, store != null);
        this.turns = new Turns(tree.root, timers, settings.ageingNanos());
        this.entries = new Entries(turns, generations, told);
        this.departures = new Departures(settings, timers, turns, entries, outgoing);
        Cooldowns cooldowns = new Cooldowns(settings, generations, tree, news, store != null);
        Sharing sharing = null;
        if (store != null && told != null) {
            Sharing.check(limits);
            StoreVerdicts verdicts = new StoreVerdicts(settings, timers, turns, entries, departures, outgoing);
            SharedKeys keys = new SharedKeys(told, news, cooldowns, turns, generations);
            sharing = new Sharing(store, settings, tree, timers, turns, verdicts, told, keys);
        }
        this.caller = sharing == null ? null : new StoreCaller(this, sharing, limits, scopes);
        this.room = new WaitingRoom(
                settings, timers, turns, cooldowns, outlook, news, entries, departures, outgoing, sharing);
        this.herald = Herald.of(settings, tree);
        this.passes = new Passes(clock, timers, tree, turns, room, departures, outgoing, news, herald, caller);
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
     * is emitted before this returns.
     *
     * @throws IllegalArgumentException if the demand lacks an attribute or names an unknown lane; then nothing happened
     */
    void acquire(Ticket ticket, @Nullable String contextLane, long restNanos, long maxWaitNanos) {
        Demand demand = ticket.demand;
        int lane = settings.lanes().indexOf(demand.lane() == null ? contextLane : demand.lane());
        Object[] keys = herald == null ? null : asked(ticket, lane);
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
                leaf = leaf(now, demand, keys, limits);
                // A ticket that was cancelled before it got here is done.
                left = leaf != null && ticket.stage() != Stage.NEW;
                if (leaf != null && !left) {
                    admit(now, ticket, leaf, lane, restNanos, maxWaitNanos);
                    decided = ticket.stage() == Stage.HELD || ticket.refusal() != null;
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
                keys = tree.keys(demand);
            } else {
                limits = limitsOf(ticket, keys);
            }
        }
    }

    /** Whoever comes again as soon as it has its permit doesn't get before others what a store granted for all. */
    private void tell(Ticket decided) {
        if (decided.standing() == null || !Emissions.later(decided)) {
            decided.emit();
        }
    }

    private Object[] asked(Ticket ticket, int lane) {
        Object[] keys = tree.keys(ticket.demand);
        if (herald != null) {
            herald.asked(ticket, lane, keys);
        }
        return keys;
    }

    /** What became of asking, if it isn't decided yet: it waits, or it had left by then. */
    private void tell(Ticket ticket, @Nullable Queue queue, boolean left) {
        if (herald != null && queue != null) {
            herald.waiting(ticket, queue);
        } else if (herald != null && left) {
            herald.left(ticket, 0);
        }
    }

    private KeyLimits limitsOf(@Nullable Ticket asking, Object[] keys) {
        try {
            return tree.limitsOf(keys);
        } catch (RuntimeException e) {
            if (herald != null && asking != null) {
                herald.refused(asking, 0, e);
            }
            throw e;
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

    private void admit(long now, Ticket ticket, Node leaf, int lane, long restNanos, long maxWaitNanos) {
        if (passes.isDisposed()) {
            ticket.refuse(Refusals.disposed(settings.name(), leaf, null));
        } else {
            room.admit(now, ticket, leaf, lane, restNanos, maxWaitNanos);
        }
    }

    /** The leaf of a demand; null if its keys have to be reckoned, or the limits of new keys asked for, outside. */
    private @Nullable Node leaf(long now, Demand demand, Object @Nullable [] keys, @Nullable KeyLimits limits) {
        if (keys == null) {
            return tree.cached(now, demand);
        }
        Node leaf = limits == null ? tree.find(now, keys) : tree.grow(now, keys, limits);
        if (leaf != null) {
            demand.cachedLeaf = leaf;
        }
        return leaf;
    }

    /** Answers at once; an allowed answer has taken its permit. */
    Decision tryAcquire(Demand demand) {
        if (caller != null && caller.decides()) {
            return caller.unasked(decide(demand, false, null));
        }
        return herald == null ? decide(demand, true, null) : decideAndTell(demand, herald);
    }

    private Decision decideAndTell(Demand demand, Herald told) {
        BarePermit permit = new BarePermit(this, demand);
        Object[] keys = asked(permit, settings.lanes().indexOf(demand.lane()));
        Decision decision = decide(demand, true, permit);
        if (decision.allowed()) {
            told.granted(permit, 0);
        } else {
            List<String> labels = tree.labels(keys);
            told.refused(
                    permit,
                    0,
                    passes.isDisposed()
                            ? new LimiterDisposedException(settings.name(), labels, null)
                            : Refusals.now(settings.name(), labels, decision));
        }
        return decision;
    }

    /** As {@link #tryAcquire}, as soon as it is known. */
    Mono<Decision> ask(Demand demand) {
        return Mono.defer(
                () -> caller != null && caller.decides() ? Inquiry.of(this, demand) : Mono.just(tryAcquire(demand)));
    }

    /** Answers what {@link #tryAcquire} would, and takes nothing. */
    Decision estimate(Demand demand) {
        return decide(demand, false, null);
    }

    /**
     * All figures leave the monitor as plain values, so that an answer nobody keeps costs no memory.
     *
     * @param told the permit that listeners are told of, which it is to be; null if there are none
     */
    private Decision decide(Demand demand, boolean take, @Nullable BarePermit told) {
        int lane = settings.lanes().indexOf(demand.lane());
        Object[] keys = null;
        KeyLimits limits = null;
        while (true) {
            Scheduler scheduler = passes.clock().scheduler();
            long raw = scheduler.now(TimeUnit.NANOSECONDS);
            Node leaf;
            long wait = 0;
            long remaining = 0;
            long fullAfter = 0;
            long now;
            Limit limit = null;
            BarePermit permit = null;
            long generation = 0;
            Ticket out;
            synchronized (passes) {
                now = passes.begin(scheduler, raw);
                leaf = leaf(now, demand, keys, limits);
                if (leaf != null) {
                    wait = refusal(now, demand, leaf, lane);
                    remaining = outlook.remaining;
                    fullAfter = outlook.fullAfter(now);
                    limit = outlook.limit;
                    generation = generations.current();
                    if (wait == 0 && take) {
                        permit = grant(now, demand, leaf, lane, told);
                    }
                }
                out = passes.finish(now);
            }
            passes.carryOut(out);
            if (leaf != null) {
                Slot slot = wait == 0 && take ? leaf.slots[lane] : null;
                return new Decision(wait, remaining, fullAfter, limit, this, demand, slot, now, generation, permit);
            }
            if (keys == null) {
                keys = tree.keys(demand);
            } else {
                limits = limitsOf(told, keys);
            }
        }
    }

    /** How long a demand would wait as far as it is known, 0 if it may go now. */
    private long refusal(long now, Demand demand, Node leaf, int lane) {
        if (outlook.look(now, leaf, demand, lane) && !passes.isDisposed() && !turns.isTaken(now, leaf, lane)) {
            return 0;
        }
        Line line = leaf.slots[lane].line;
        long ahead = line == null ? 0 : line.requests();
        long at = Math.max(outlook.readyAt, Outlook.expectedAt(now, leaf, demand, lane, ahead));
        // A wait for others, or for calls to end, is not a matter of time.
        return passes.isDisposed() || at <= now || at == Exact.NEVER ? Exact.NEVER : at - now;
    }

    /** Takes what is asked for; the permit, if it holds something that somebody has to give back. */
    private @Nullable BarePermit grant(long now, Demand demand, Node leaf, int lane, @Nullable BarePermit told) {
        if (leaf.holds || told != null) {
            BarePermit permit = told == null ? new BarePermit(this, demand) : told;
            room.admit(now, permit, leaf, lane, 0, 0);
            return permit;
        }
        entries.take(now, leaf, demand, lane, Phase.HEADED);
        return null;
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
