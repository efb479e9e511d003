package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.RateLimitListener.Cause;
import io.github.reactorratelimit.RateLimitListener.Ending;
import io.github.reactorratelimit.RateLimitListener.Queue;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.Ticket.Stage;
import io.github.reactorratelimit.Tree.KeyLimits;
import io.github.reactorratelimit.WaitingRoom.Leaving;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Scheduler;
import reactor.util.context.Context;

/**
 * Decides who may go. All state is plain and belongs to one short monitor. Every command is one pass: time moves on, what
 * is due runs, the command is carried out, permits are granted while there is room. A pass calls no user code, no scheduler
 * and no logger, and never waits: what it decided, and when it wants to be woken, are carried out after it.
 */
final class Admission {

    private final Object monitor = new Object();
    private final Settings settings;
    private final LimiterClock clock;
    private final Alarm alarm;
    private final Timers timers = new Timers();
    private final Generations generations = new Generations();
    private final Tree tree;
    private final Turns turns;
    private final Outlook outlook = new Outlook();
    private final News news;
    private final WaitingRoom room;
    private final @Nullable Herald herald;
    /** Who calls the store that decides; null if nobody else has a say. */
    private final @Nullable StoreCaller caller;

    private volatile boolean disposed;
    // Read after the monitor is left: whoever sees them does what is left to do.
    private volatile boolean more;
    private volatile boolean alarmWanted;

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
        this.settings = settings;
        this.clock = new LimiterClock(schedulers);
        this.alarm = new Alarm(this::ring, this::rejected);
        this.tree = new Tree(limits, scopes, settings, generations, clock::wallMillis);
        this.turns = new Turns(tree.root, timers, settings.ageingNanos());
        this.news = new News(!settings.listeners().isEmpty(), timers);
        Cooldowns cooldowns = new Cooldowns(settings, generations, tree, news);
        this.room = new WaitingRoom(settings, tree, timers, turns, cooldowns, generations, outlook, news);
        this.herald = Herald.of(settings, tree);
        if (store == null) {
            this.caller = null;
        } else {
            Sharing.check(limits);
            Sharing sharing = new Sharing(store, settings, tree, timers, turns, room, generations);
            room.sharedBy(sharing);
            this.caller = new StoreCaller(this, sharing, limits, scopes);
        }
    }

    Settings settings() {
        return settings;
    }

    LimiterClock clock() {
        return clock;
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
            Scheduler scheduler = clock.scheduler();
            long raw = scheduler.now(TimeUnit.NANOSECONDS);
            Node leaf;
            boolean decided = false;
            boolean left = false;
            Queue queue = null;
            Ticket out;
            synchronized (monitor) {
                long now = begin(scheduler, raw);
                leaf = leaf(now, demand, keys, limits);
                // A ticket that was cancelled before it got here is done.
                left = leaf != null && ticket.stage() != Stage.NEW;
                if (leaf != null && !left) {
                    admit(now, ticket, leaf, lane, restNanos, maxWaitNanos);
                    decided = ticket.stage() == Stage.HELD || ticket.refusal() != null;
                    queue = decided || herald == null ? null : room.queue(now, ticket);
                }
                out = finish(now);
            }
            tell(ticket, queue, left);
            carryOut(out);
            if (leaf != null) {
                if (decided) {
                    ticket.emit();
                } else {
                    alarm.check();
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
            return shareable(tree.limitsOf(keys));
        } catch (RuntimeException e) {
            if (herald != null && asking != null) {
                herald.refused(asking, 0, e);
            }
            throw e;
        }
    }

    private KeyLimits shareable(KeyLimits limits) {
        if (caller != null) {
            limits.each().forEach(Sharing::check);
        }
        return limits;
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
        if (disposed) {
            room.refuse(ticket, Refusals.disposed(settings.name(), leaf, null));
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
                    disposed
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
            Scheduler scheduler = clock.scheduler();
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
            synchronized (monitor) {
                now = begin(scheduler, raw);
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
                out = finish(now);
            }
            carryOut(out);
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
        if (outlook.look(now, leaf, demand, lane) && !disposed && !turns.isTaken(now, leaf, lane)) {
            return 0;
        }
        Line line = leaf.slots[lane].line;
        long ahead = line == null ? 0 : line.requests();
        long at = Math.max(outlook.readyAt, Outlook.expectedAt(now, leaf, demand, lane, ahead));
        // A wait for others, or for calls to end, is not a matter of time.
        return disposed || at <= now || at == Exact.NEVER ? Exact.NEVER : at - now;
    }

    /** Takes what is asked for; the permit, if it holds something that somebody has to give back. */
    private @Nullable BarePermit grant(long now, Demand demand, Node leaf, int lane, @Nullable BarePermit told) {
        if (leaf.holds || told != null) {
            BarePermit permit = told == null ? new BarePermit(this, demand) : told;
            room.admit(now, permit, leaf, lane, 0, 0);
            return permit;
        }
        room.take(now, leaf, demand, lane, Phase.HEADED);
        return null;
    }

    // ---------------------------------------------------------------------------------------------------- hearing

    /** Writing the request begins: from here on the server may see it. */
    void sending(Ticket ticket) {
        inMonitor(() -> ticket.heardOf |= ticket.phase == Phase.UNSENT);
    }

    /** The request is written now; whether this is the first that is heard of it. */
    boolean sent(Ticket ticket) {
        boolean[] first = new boolean[1];
        pass(now -> {
            first[0] = ticket.stage() == Stage.HELD && ticket.phase == Phase.UNSENT;
            if (first[0]) {
                ticket.heardOf = true;
                room.move(now, ticket, Phase.SENT);
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
        pass(now -> {
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
        carryOut(heard(ticket, signal, pauseNanos, release));
    }

    /** As {@link #hear}; what it decided is left to the caller, who has an answer of its own to give first. */
    @Nullable
    Ticket heard(Ticket ticket, RateLimitSignal signal, long pauseNanos, boolean release) {
        boolean mayClose = signal.throttled() || (settings.breaker() && signal.status() >= 500);
        double random = mayClose ? settings.random().getAsDouble() : 0;
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        Throttle throttle = null;
        Others.Finding others;
        boolean counts;
        boolean free = false;
        long heldNanos = 0;
        Ending ending = null;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            counts = ticket.stage() == Stage.HELD || (!release && ticket.stage() == Stage.RELEASED);
            if (ticket.stage() == Stage.HELD || !release) {
                // The server did not count it, as GitHub doesn't count a 304.
                free = signal.cost() == 0 && room.correct(now, ticket, Limit.REQUESTS, 0);
                throttle = room.hear(now, ticket, signal, pauseNanos, random);
            }
            others = room.others().take();
            if (release) {
                heldNanos = now - ticket.sentAt;
                ending = room.end(now, ticket, Leaving.HEARD);
            }
            out = finish(now);
        }
        if (throttle != null) {
            throttle.log(settings.name());
        }
        if (others != null) {
            others.log(settings.name());
        }
        if (herald != null) {
            if (counts && signal.status() != 0) {
                herald.answered(ticket, signal, throttle == null ? 0 : throttle.waitNanos());
            }
            if (free) {
                herald.settled(ticket, Limit.REQUESTS, 0);
            }
            tellNews();
            tell(herald, ticket, heldNanos, ending);
        }
        return out;
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
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        boolean counts;
        boolean corrected = false;
        Ticket out;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            counts = ticket.stage() == Stage.HELD || ticket.stage() == Stage.RELEASED;
            if (counts && actual != ticket.demand.requests()) {
                corrected = room.correct(now, ticket, Limit.REQUESTS, actual);
            }
            if (counts) {
                room.hearAll(now, ticket, signals, throttles, pauseNanos, random);
            }
            out = finish(now);
        }
        Throttle.log(settings.name(), throttles);
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
        tellNews();
        carryOut(out);
    }

    /** The attempt was sent and not answered in time. */
    void timedOut(Ticket ticket) {
        if (settings.breaker()) {
            double random = settings.random().getAsDouble();
            @Nullable Throttle[] rest = new @Nullable Throttle[1];
            pass(now -> rest[0] = room.timedOut(now, ticket, random));
            if (rest[0] != null) {
                rest[0].log(settings.name());
            }
        }
    }

    private static void tell(Herald herald, Ticket ticket, long heldNanos, @Nullable Ending ending) {
        if (ending != null) {
            herald.released(ticket, heldNanos, ending);
        }
    }

    /** How long the scopes of a ticket stay closed, as far as listeners have to know. */
    long closedFor(Ticket ticket) {
        long[] closed = new long[1];
        pass(now -> {
            for (Node node = ticket.slot == null ? null : ticket.slot.node; node != null; node = node.parent) {
                closed[0] = Math.max(closed[0], Exact.subtract(node.gate.closedUntil, now));
            }
        });
        return closed[0];
    }

    void settle(Ticket ticket, String unit, long actual) {
        if (actual < 0) {
            throw new IllegalArgumentException("an actual cost in " + unit + " must not be negative, was " + actual);
        }
        boolean[] settled = new boolean[1];
        pass(now -> settled[0] = room.settle(now, ticket, unit, actual));
        if (settled[0] && herald != null) {
            herald.settled(ticket, unit, actual);
        }
    }

    // ---------------------------------------------------------------------------------------------------- leaving

    /** The attempt ended. */
    void release(Ticket ticket) {
        carryOut(end(ticket, Leaving.ENDED));
    }

    /** As {@link #release}; what it decided is left to the caller, who has an answer of its own to give first. */
    @Nullable
    Ticket released(Ticket ticket) {
        return end(ticket, Leaving.ENDED);
    }

    /** The attempt was cancelled while it ran: a permit that is known not to be sent yet is given back whole. */
    void abort(Ticket ticket) {
        carryOut(end(ticket, Leaving.CANCELLED));
    }

    /** The grant was told, and a cancel came before the permit was used: it is given back whole. */
    void withdraw(Ticket ticket) {
        carryOut(end(ticket, Leaving.WITHDRAWN));
    }

    /** Nobody wants it any more: a waiting ticket leaves its line, a permit that nobody got to use is given back whole. */
    void cancel(Ticket ticket) {
        carryOut(end(ticket, Leaving.UNUSED));
    }

    private @Nullable Ticket end(Ticket ticket, Leaving how) {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        long now;
        long heldNanos;
        Ending ending;
        boolean asked;
        synchronized (monitor) {
            now = begin(scheduler, raw);
            asked = ticket.stage() != Stage.NEW; // Else who asks for it sees that it has left.
            heldNanos = now - ticket.sentAt;
            ending = room.end(now, ticket, how);
            out = finish(now);
        }
        if (herald != null) {
            if (how == Leaving.UNUSED && asked) {
                herald.left(ticket, ticket.slot == null ? 0 : now - ticket.joinedAt);
            } else if (how != Leaving.UNUSED) {
                tell(herald, ticket, heldNanos, ending);
            }
        }
        return out;
    }

    // ---------------------------------------------------------------------------------------------------- by hand

    void pause(Demand whom, long nanos) {
        atKey(whom, (now, node) -> {
            news.closed(now, node, node.close(now, Exact.add(now, nanos)), Cause.BY_HAND);
            tellStore(now, node);
        });
    }

    void resume(Demand whom) {
        atKey(whom, (now, node) -> {
            node.open(now);
            if (node.parent != null) {
                turns.touchAll(now, node.parent); // It may have left others with whom it shared a quota.
            }
            news.opened(node);
            tellStore(now, node);
        });
    }

    private void tellStore(long now, Node node) {
        if (caller != null) {
            caller.closed(now, node);
        }
    }

    /** How a key stands, in the store if there is one. */
    Mono<ScopeState> status(Demand whom) {
        return caller != null && caller.decides() ? caller.status(whom) : Mono.fromSupplier(() -> statusHere(whom));
    }

    ScopeState statusHere(Demand whom) {
        ScopeState[] state = new ScopeState[1];
        atKey(whom, (now, node) -> state[0] = stateOf(now, node));
        return state[0];
    }

    ScopeState stateOf(long now, Node node) {
        return Snapshots.scope(settings, tree, node, now);
    }

    /** Forgets what is known of a key, in the store too if there is one. */
    Mono<Void> reset(Demand whom) {
        return caller != null && caller.decides() ? caller.reset(whom) : Mono.fromRunnable(() -> resetHere(whom));
    }

    void resetHere(Demand whom) {
        atKey(whom, (now, node) -> {
            node.reset(now, generations.next());
            if (node.parent != null) {
                turns.touchAll(now, node.parent); // It may have left others with whom it shared a quota.
            }
            news.opened(node);
            if (caller != null) {
                caller.forgot(node);
            }
        });
    }

    void atKey(Demand whom, KeyChange change) {
        Object[] keys = tree.keysNamed(whom);
        boolean[] changed = new boolean[1];
        while (!changed[0]) {
            KeyLimits limits = shareable(tree.limitsOf(keys));
            pass(now -> {
                Node node = tree.grow(now, keys, limits);
                if (node != null) {
                    change.at(now, node);
                    turns.touch(now, node);
                    changed[0] = true;
                }
            });
        }
    }

    interface KeyChange {
        void at(long now, Node node);
    }

    /** Changes the limits of every key. Waits are reckoned anew; those that can never pass any more fail. */
    void change(List<Limit> rootLimits, List<Scope> scopes) {
        if (caller == null) {
            changeTo(rootLimits, scopes);
        } else {
            caller.change(rootLimits, scopes);
        }
    }

    void changeTo(List<Limit> rootLimits, List<Scope> scopes) {
        Map<Node, List<Limit>> limits = new HashMap<>();
        boolean[] changed = new boolean[1];
        while (!changed[0]) {
            List<Node> nodes;
            synchronized (monitor) {
                nodes = tree.nodes();
            }
            for (Node node : nodes) {
                if (!limits.containsKey(node)) {
                    limits.put(node, scopes.get(node.depth - 1).limitsOf(node.key, tree.path(node)));
                }
            }
            pass(now -> changed[0] = change(now, rootLimits, scopes, limits));
        }
    }

    /** False, and nothing is changed, if keys came to be known meanwhile. */
    private boolean change(long now, List<Limit> rootLimits, List<Scope> scopes, Map<Node, List<Limit>> limits) {
        List<Node> nodes = tree.nodes();
        if (!limits.keySet().containsAll(nodes)) {
            return false;
        }
        // By the limits of before, which those of a narrower key are reckoned by too.
        tree.root.advance(now);
        nodes.forEach(node -> node.advance(now));
        tree.change(rootLimits, scopes);
        long generation = generations.next();
        tree.root.change(now, rootLimits, settings.lanes(), generation, clock::wallMillis);
        for (Node node : nodes) {
            node.change(now, limits.getOrDefault(node, List.of()), settings.lanes(), generation, clock::wallMillis);
        }
        turns.touchAll(now, tree.root);
        room.failForbidden(now, tree.root);
        return true;
    }

    void dispose() {
        disposed = true;
        pass(now -> {
            if (caller != null) {
                caller.dispose();
            }
            room.failAll(now, tree.root, null);
        });
    }

    boolean isDisposed() {
        return disposed;
    }

    /** The scheduler takes no timers any more, so nobody would ever be woken. */
    private void rejected(RejectedExecutionException e) {
        Throwable cause = Operators.onRejectedExecution(e, Context.empty());
        pass(now -> room.failAll(now, tree.root, cause));
    }

    RateLimiterSnapshot snapshot() {
        @Nullable Snapshots[] taking = new @Nullable Snapshots[1];
        boolean[] done = new boolean[1];
        while (!done[0]) {
            pass(now -> {
                Snapshots known = taking[0] == null ? new Snapshots(settings, tree, turns, timers, now) : taking[0];
                taking[0] = known;
                done[0] = known.more(now);
            });
        }
        return Objects.requireNonNull(taking[0]).taken();
    }

    long evaluations() {
        synchronized (monitor) {
            return turns.evaluations();
        }
    }

    /** Limiter time. */
    long now() {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        synchronized (monitor) {
            return clock.follow(scheduler, raw);
        }
    }

    // --------------------------------------------------------------------------------------------------- the pass

    void inMonitor(Runnable command) {
        synchronized (monitor) {
            command.run();
        }
    }

    void pass(LongConsumer command) {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            command.accept(now);
            out = finish(now);
        }
        carryOut(out);
    }

    private void ring(Alarm.Ring ring) {
        pass(now -> ring.heard());
    }

    private long begin(Scheduler scheduler, long raw) {
        long now = clock.follow(scheduler, raw);
        if (timers.firstDue() <= now) {
            room.runDue(now);
        }
        return now;
    }

    /** Grants while there is room, says when to be woken, and hands out what was decided. */
    private @Nullable Ticket finish(long now) {
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
        return room.takeOut();
    }

    /** What a pass decided, outside the monitor. */
    void carryOut(@Nullable Ticket out) {
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
        while (more) {
            Scheduler scheduler = clock.scheduler();
            long raw = scheduler.now(TimeUnit.NANOSECONDS);
            Ticket next;
            synchronized (monitor) {
                more = false;
                next = finish(begin(scheduler, raw));
            }
            if (alarmWanted) {
                alarm.set();
            }
            tellNews();
            if (next != null) {
                Emissions.emit(next);
            }
            if (caller != null) {
                caller.carryOut();
            }
        }
    }

    private void tellNews() {
        if (herald != null && news.isSome()) {
            List<News.Item> items;
            synchronized (monitor) {
                items = news.take();
            }
            herald.news(items);
        }
    }
}
