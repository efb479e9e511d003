package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.Ticket.Stage;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Operators;
import reactor.core.scheduler.Scheduler;
import reactor.util.context.Context;

/**
 * Decides who may go. All state is plain and belongs to one short monitor. Every command is one pass: time moves on, what
 * is due runs, the command is carried out, permits are granted while there is room, at most {@value #PASS} at a time.
 * A pass calls no user code, no scheduler and no logger, and never waits: what it decided and when it wants to be woken
 * are carried out after it.
 */
final class Admission {

    private static final int PASS = 256;

    private final Object monitor = new Object();
    private final Settings settings;
    private final LimiterClock clock;
    private final Alarm alarm;
    private final Timers timers = new Timers();
    private final Tree tree;
    private final Turns turns;
    private final Cooldowns cooldowns;
    private volatile boolean disposed;

    // What the current pass has decided.
    private @Nullable Ticket firstOut;
    private @Nullable Ticket lastOut;
    // The last two are read after the monitor is left: whoever sees them does what is left to do.
    private volatile boolean more;
    private volatile boolean alarmWanted;

    // What the last look at a path found; read before the monitor is left.
    private @Nullable Limit decidedLimit;
    private long decidedRemaining;
    private long decidedAt;
    private long decidedFullAt;

    Admission(Settings settings, List<Limit> limits, List<Scope> scopes, Supplier<Scheduler> schedulers) {
        this.settings = settings;
        this.clock = new LimiterClock(schedulers);
        this.alarm = new Alarm(this::ring, this::rejected);
        this.tree = new Tree(limits, scopes, settings.lanes(), settings.idleNanos(), 0);
        this.turns = new Turns(tree.root, timers, settings.ageingNanos());
        this.cooldowns = new Cooldowns(settings);
    }

    Settings settings() {
        return settings;
    }

    LimiterClock clock() {
        return clock;
    }

    // ---------------------------------------------------------------------------------------------------- asking

    /**
     * Lets a ticket ask: it rests first if it must, then is granted at once, waits, or is refused. What is decided at once
     * is emitted before this returns.
     *
     * @throws IllegalArgumentException if the demand lacks an attribute or names an unknown lane; then nothing happened
     */
    void acquire(Ticket ticket, @Nullable String contextLane, long restNanos, long maxWaitNanos) {
        Demand demand = ticket.demand;
        int lane = settings.lanes().indexOf(demand.lane() == null ? contextLane : demand.lane());
        Object[] keys = null;
        List<List<Limit>> limits = null;
        while (true) {
            Scheduler scheduler = clock.scheduler();
            long raw = scheduler.now(TimeUnit.NANOSECONDS);
            Node leaf;
            boolean mine = false;
            Ticket out;
            synchronized (monitor) {
                long now = begin(scheduler, raw);
                leaf = leaf(now, demand, keys, limits);
                if (leaf != null) {
                    admit(now, ticket, leaf, lane, restNanos, maxWaitNanos);
                    mine = ticket.stage == Stage.HELD || ticket.refusal != null;
                }
                out = finish(now);
            }
            carryOut(out);
            if (leaf != null) {
                if (mine) {
                    ticket.emit();
                }
                return;
            }
            if (keys == null) {
                keys = tree.keys(demand);
            } else {
                limits = tree.limitsOf(keys);
            }
        }
    }

    private @Nullable Node leaf(long now, Demand demand, Object @Nullable [] keys, @Nullable List<List<Limit>> limits) {
        if (keys == null) {
            return tree.cached(now, demand);
        }
        Node leaf = limits == null ? tree.find(now, keys) : tree.grow(now, keys, limits);
        if (leaf != null) {
            demand.cachedLeaf = leaf;
        }
        return leaf;
    }

    private void admit(long now, Ticket ticket, Node leaf, int lane, long restNanos, long maxWaitNanos) {
        if (ticket.stage != Stage.NEW) {
            return; // Cancelled before it got here.
        }
        ticket.slot = leaf.slots[lane];
        ticket.joinedAt = now;
        if (disposed) {
            refuse(ticket, new LimiterDisposedException(settings.name(), Tree.labels(leaf), null));
            return;
        }
        for (Node node = leaf; node != null; node = node.parent) {
            Limit limit = node.forbids(ticket.demand, lane);
            if (limit != null) {
                refuse(ticket, Refusals.never(settings.name(), leaf, ticket.demand, limit));
                return;
            }
        }
        if (restNanos > 0) {
            rest(now, ticket, leaf, restNanos, maxWaitNanos);
        } else if (!turns.isTaken(now, leaf, lane) && readyAt(now, leaf, ticket.demand, lane) <= now) {
            grant(now, ticket, leaf, lane);
        } else {
            queue(now, ticket, leaf, lane, maxWaitNanos);
        }
    }

    private void rest(long now, Ticket ticket, Node leaf, long restNanos, long maxWaitNanos) {
        if (restNanos > maxWaitNanos) {
            refuse(ticket, Refusals.tooLong(settings.name(), leaf, restNanos, maxWaitNanos, null));
            return;
        }
        ticket.stage = Stage.RESTING;
        // Its deadline is looked at again when it joins the line.
        ticket.at = Exact.add(now, maxWaitNanos);
        count(ticket, leaf);
        timers.set(ticket, Exact.add(now, restNanos));
    }

    private void queue(long now, Ticket ticket, Node leaf, int lane, long maxWaitNanos) {
        RateLimitException refusal = cannotWait(now, ticket, leaf, lane, maxWaitNanos);
        if (refusal != null) {
            refuse(ticket, refusal);
            return;
        }
        ticket.stage = Stage.WAITING;
        count(ticket, leaf);
        timers.set(ticket, Exact.add(now, maxWaitNanos));
        turns.join(now, ticket, leaf.slots[lane]);
    }

    private @Nullable RateLimitException cannotWait(long now, Ticket ticket, Node leaf, int lane, long maxWaitNanos) {
        Line line = leaf.slots[lane].line;
        if (!ticket.front) {
            if (turns.waiting() >= settings.maxPending()) {
                return new QueueFullException(
                        settings.name(), Tree.labels(leaf), settings.maxPending(), "all its lines together");
            }
            if (line != null && line.size() >= settings.maxPendingPerLine()) {
                return new QueueFullException(
                        settings.name(), Tree.labels(leaf), settings.maxPendingPerLine(), "the line of this key");
            }
        }
        for (Node node = leaf; node != null; node = node.parent) {
            if (cooldowns.isTooLong(now, node)) {
                long left = node.gate.closedUntil - now;
                return Refusals.closed(settings.name(), leaf, left, settings.maxServerDelayNanos());
            }
        }
        long ahead = line == null ? 0 : line.ahead(ticket.front);
        long expected = now;
        for (Node node = leaf; node != null; node = node.parent) {
            expected = Math.max(expected, node.expectedAt(now, ticket.demand, lane, ahead));
        }
        long wait = expected - now;
        if (wait > maxWaitNanos || maxWaitNanos == 0) {
            look(now, leaf, ticket.demand, lane);
            return Refusals.tooLong(settings.name(), leaf, wait, maxWaitNanos, decidedLimit);
        }
        return null;
    }

    private static long readyAt(long now, Node leaf, Demand demand, int lane) {
        long at = now;
        for (Node node = leaf; node != null; node = node.parent) {
            at = Math.max(at, node.readyAt(now, demand, lane));
        }
        return at;
    }

    private void grant(long now, Ticket ticket, Node leaf, int lane) {
        ticket.stage = Stage.HELD;
        ticket.phase = switch (ticket.tells) {
            case NOTHING -> Phase.HEADED;
            case HEAD -> Phase.SENT;
            case SENDING -> Phase.UNSENT;
        };
        ticket.at = now;
        ticket.sentAt = now;
        ticket.generation = cooldowns.generation();
        if (!ticket.counted && (leaf.holds || ticket.tells != Ticket.Tells.NOTHING)) {
            count(ticket, leaf);
        }
        take(now, leaf, ticket.demand, lane, ticket.phase);
    }

    private void take(long now, Node leaf, Demand demand, int lane, Phase phase) {
        for (Node node = leaf; node != null; node = node.parent) {
            node.take(now, demand, lane, phase);
        }
        if (turns.waiting() > 0) {
            turns.touch(now, leaf);
        }
    }

    private static void count(Ticket ticket, Node leaf) {
        ticket.counted = true;
        leaf.users++;
    }

    private void refuse(Ticket ticket, RateLimitException refusal) {
        ticket.stage = Stage.DONE;
        ticket.refusal = refusal;
    }

    /** Answers at once; an allowed answer has taken its permit. */
    Decision tryAcquire(Demand demand) {
        int lane = settings.lanes().indexOf(demand.lane());
        return decide(demand, lane, true);
    }

    /** Answers what {@link #tryAcquire} would, and takes nothing. */
    Decision estimate(Demand demand) {
        return decide(demand, settings.lanes().indexOf(demand.lane()), false);
    }

    private Decision decide(Demand demand, int lane, boolean take) {
        Object[] keys = null;
        List<List<Limit>> limits = null;
        while (true) {
            Scheduler scheduler = clock.scheduler();
            long raw = scheduler.now(TimeUnit.NANOSECONDS);
            Decision decision = null;
            Ticket out;
            synchronized (monitor) {
                long now = begin(scheduler, raw);
                Node leaf = leaf(now, demand, keys, limits);
                if (leaf != null) {
                    decision = decide(now, demand, leaf, lane, take);
                }
                out = finish(now);
            }
            carryOut(out);
            if (decision != null) {
                return decision;
            }
            if (keys == null) {
                keys = tree.keys(demand);
            } else {
                limits = tree.limitsOf(keys);
            }
        }
    }

    private Decision decide(long now, Demand demand, Node leaf, int lane, boolean take) {
        boolean fits = look(now, leaf, demand, lane);
        boolean taken = turns.isTaken(now, leaf, lane);
        if (!fits || taken || disposed) {
            long at = decidedAt;
            if (fits) {
                Line line = leaf.slots[lane].line;
                long ahead = line == null ? 0 : line.requests();
                for (Node node = leaf; node != null; node = node.parent) {
                    at = Math.max(at, node.expectedAt(now, demand, lane, ahead));
                }
            }
            long wait = disposed || at <= now ? Exact.NEVER : Exact.subtract(at, now);
            return new Decision(
                    false, decidedRemaining, at == Exact.NEVER ? Exact.NEVER : wait, since(now), decidedLimit, null);
        }
        if (!take) {
            return new Decision(true, decidedRemaining, 0, since(now), decidedLimit, null);
        }
        BarePermit permit = new BarePermit(this, demand);
        permit.slot = leaf.slots[lane];
        permit.joinedAt = now;
        grant(now, permit, leaf, lane);
        return new Decision(true, decidedRemaining, 0, since(now), decidedLimit, permit);
    }

    private long since(long now) {
        return decidedFullAt == Exact.NEVER ? Exact.NEVER : Math.max(0, decidedFullAt - now);
    }

    /** Looks at every meter of a path for the one that decides: it refuses longest, or else has the least left. */
    private boolean look(long now, Node leaf, Demand demand, int lane) {
        decidedLimit = null;
        decidedRemaining = Long.MAX_VALUE;
        decidedAt = now;
        decidedFullAt = now;
        for (Node node = leaf; node != null; node = node.parent) {
            look(now, node.meters, demand);
            look(now, node.shares[lane], demand);
            if (node.gate.closedUntil > decidedAt) {
                decidedAt = node.gate.closedUntil;
                decidedFullAt = decidedAt;
                decidedLimit = null;
                decidedRemaining = 0;
            }
        }
        return decidedAt <= now;
    }

    private void look(long now, Meter[] meters, Demand demand) {
        for (Meter meter : meters) {
            long cost = demand.costFor(meter);
            long at = meter.canEver(cost) ? meter.readyAt(now, cost) : Exact.NEVER;
            long available = meter.available(now);
            long left = at <= now ? available - cost : available;
            if (at > decidedAt || (at == decidedAt && left < decidedRemaining)) {
                decidedAt = at;
                decidedRemaining = left;
                decidedLimit = meter.limit;
                decidedFullAt = meter.fullAt(now);
            }
        }
    }

    // -------------------------------------------------------------------------------------------------- hearing

    /** The request is written now. */
    void sent(Ticket ticket) {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            if (ticket.stage == Stage.HELD && !ticket.sentTold && ticket.phase != Phase.HEADED) {
                ticket.sentTold = true;
                move(now, ticket, Phase.SENT);
                ticket.sentAt = now;
            }
            out = finish(now);
        }
        carryOut(out);
    }

    /** From now on the attempt has {@code nanos} until its head, or until what follows it is over. */
    void watch(Ticket ticket, long nanos, boolean pastHead) {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            if (ticket.stage == Stage.HELD && (pastHead || (!ticket.timedOut && ticket.phase != Phase.HEADED))) {
                ticket.timedOut = false;
                timers.set(ticket, Exact.add(now, nanos));
            }
            out = finish(now);
        }
        carryOut(out);
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
        double random = settings.random().getAsDouble();
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        Throttle throttle;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            throttle = ticket.stage == Stage.DONE && release ? null : hear(now, ticket, signal, pauseNanos, random);
            if (release) {
                release(now, ticket, false);
            }
            out = finish(now);
        }
        if (throttle != null) {
            throttle.log(settings.name());
        }
        return out;
    }

    private @Nullable Throttle hear(long now, Ticket ticket, RateLimitSignal signal, long pauseNanos, double random) {
        Slot slot = ticket.slot;
        if (slot == null || slot.node.forgotten || ticket.stage == Stage.NEW || ticket.stage == Stage.WAITING) {
            return null;
        }
        Node leaf = slot.node;
        if (ticket.stage == Stage.HELD && ticket.phase != Phase.HEADED) {
            move(now, ticket, Phase.HEADED);
            timers.remove(ticket);
        }
        Throttle throttle = cooldowns.hear(now, leaf, ticket.generation, signal, random);
        if (pauseNanos > 0) {
            leaf.close(now, Exact.add(now, pauseNanos));
        }
        if (throttle != null || pauseNanos > 0) {
            turnAway(now, leaf);
        }
        if (turns.waiting() > 0) {
            turns.touch(now, leaf);
        }
        return throttle;
    }

    /** Those who wait at a gate that is closed for longer than is obeyed fail now, with the time that is left. */
    private void turnAway(long now, Node closed) {
        if (!cooldowns.isTooLong(now, closed)) {
            return;
        }
        long left = closed.gate.closedUntil - now;
        for (Ticket ticket : waitingBelow(closed)) {
            Slot slot = leaveLine(now, ticket);
            refuse(ticket, Refusals.closed(settings.name(), slot.node, left, settings.maxServerDelayNanos()));
            out(ticket);
        }
    }

    private List<Ticket> waitingBelow(Node node) {
        List<Ticket> all = new ArrayList<>();
        collect(node, all);
        return all;
    }

    private static void collect(Node node, List<Ticket> into) {
        for (Slot slot : node.slots) {
            if (slot.line != null) {
                for (Ticket ticket = slot.line.first; ticket != null; ticket = ticket.next) {
                    into.add(ticket);
                }
            }
        }
        if (node.children != null) {
            for (Node child : node.children.values()) {
                collect(child, into);
            }
        }
    }

    private void move(long now, Ticket ticket, Phase to) {
        Slot slot = slot(ticket);
        for (Node node = slot.node; node != null; node = node.parent) {
            node.moved(now, ticket, slot.lane, to);
        }
        ticket.phase = to;
        ticket.at = now;
        if (turns.waiting() > 0) {
            turns.touch(now, slot.node);
        }
    }

    private static Slot slot(Ticket ticket) {
        Slot slot = ticket.slot;
        if (slot == null) {
            throw new IllegalStateException("a ticket has its place before it is granted");
        }
        return slot;
    }

    void settle(Ticket ticket, String unit, long actual) {
        if (actual < 0) {
            throw new IllegalArgumentException("an actual cost in " + unit + " must not be negative, was " + actual);
        }
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            boolean charged = ticket.stage == Stage.HELD || (ticket.stage == Stage.DONE && ticket.charged);
            if (charged && ticket.slot != null && ticket.noteSettled(unit, actual)) {
                Slot slot = ticket.slot;
                long delta = actual - ticket.demand.cost(unit);
                for (Node node = slot.node; node != null; node = node.parent) {
                    node.settle(now, ticket, slot.lane, unit, delta);
                }
                turns.touch(now, slot.node);
            }
            out = finish(now);
        }
        carryOut(out);
    }

    // -------------------------------------------------------------------------------------------------- leaving

    /** The attempt ended. */
    void release(Ticket ticket) {
        carryOut(end(ticket, false, false));
    }

    /** As {@link #release}; what it decided is left to the caller, who has an answer of its own to give first. */
    @Nullable
    Ticket released(Ticket ticket) {
        return end(ticket, false, false);
    }

    /** The attempt was cancelled while it ran: a permit that is known not to be sent yet is given back whole. */
    void abort(Ticket ticket) {
        carryOut(end(ticket, true, false));
    }

    /** Nobody wants it any more: a waiting ticket leaves its line, a permit that nobody got to use is as if never granted. */
    void cancel(Ticket ticket) {
        carryOut(end(ticket, true, true));
    }

    private @Nullable Ticket end(Ticket ticket, boolean cancelled, boolean unused) {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            switch (ticket.stage) {
                case NEW -> ticket.stage = Stage.DONE;
                case RESTING -> {
                    timers.remove(ticket);
                    leave(ticket);
                }
                case WAITING -> leaveLine(now, ticket);
                case HELD -> release(now, ticket, unused || (cancelled && ticket.phase == Phase.UNSENT));
                case DONE -> {}
            }
            out = finish(now);
        }
        return out;
    }

    private Slot leaveLine(long now, Ticket ticket) {
        Slot slot = slot(ticket);
        timers.remove(ticket);
        turns.leave(now, ticket, slot);
        leave(ticket);
        return slot;
    }

    private static void leave(Ticket ticket) {
        ticket.stage = Stage.DONE;
        if (ticket.counted) {
            ticket.counted = false;
            slot(ticket).node.users--;
        }
    }

    private void release(long now, Ticket ticket, boolean refund) {
        if (ticket.stage != Stage.HELD) {
            return;
        }
        Slot slot = slot(ticket);
        timers.remove(ticket);
        if (!refund && ticket.phase != Phase.HEADED) {
            move(now, ticket, Phase.ENDED);
        }
        for (Node node = slot.node; node != null; node = node.parent) {
            if (refund) {
                node.refund(now, ticket, slot.lane);
            }
            node.release(ticket, slot.lane);
        }
        ticket.charged = !refund;
        leave(ticket);
        if (turns.waiting() > 0) {
            turns.touch(now, slot.node);
        }
    }

    // ----------------------------------------------------------------------------------------------- by hand

    void pause(Demand whom, long nanos) {
        gate(whom, nanos);
    }

    void resume(Demand whom) {
        gate(whom, -1);
    }

    private void gate(Demand whom, long nanos) {
        Object[] keys = tree.keysNamed(whom);
        List<List<Limit>> limits = tree.limitsOf(keys);
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            Node node = tree.grow(now, keys, limits);
            if (nanos < 0) {
                node.open(now);
            } else {
                node.close(now, Exact.add(now, nanos));
            }
            turns.touch(now, node);
            out = finish(now);
        }
        carryOut(out);
    }

    /** Changes the limits of every key. Waits are reckoned anew; those that can never pass any more fail. */
    void change(List<Limit> rootLimits, List<Scope> scopes) {
        List<Node> nodes;
        synchronized (monitor) {
            nodes = tree.nodes();
        }
        tree.scopes(scopes);
        List<List<Limit>> limits = new ArrayList<>(nodes.size());
        for (Node node : nodes) {
            limits.add(scopes.get(node.depth - 1).limitsOf(node.key, tree.path(node)));
        }
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            tree.root.change(now, rootLimits, settings.lanes());
            for (int i = 0; i < nodes.size(); i++) {
                nodes.get(i).change(now, limits.get(i), settings.lanes());
            }
            for (Ticket ticket : waitingBelow(tree.root)) {
                failIfForbidden(now, ticket);
            }
            for (int i = nodes.size() - 1; i >= 0; i--) {
                turns.touch(now, nodes.get(i));
            }
            turns.touch(now, tree.root);
            out = finish(now);
        }
        carryOut(out);
    }

    private void failIfForbidden(long now, Ticket ticket) {
        Slot slot = slot(ticket);
        for (Node node = slot.node; node != null; node = node.parent) {
            Limit limit = node.forbids(ticket.demand, slot.lane);
            if (limit != null) {
                leaveLine(now, ticket);
                refuse(ticket, Refusals.never(settings.name(), slot.node, ticket.demand, limit));
                out(ticket);
                return;
            }
        }
    }

    void dispose() {
        disposed = true;
        failAll(null);
    }

    boolean isDisposed() {
        return disposed;
    }

    private void rejected(RejectedExecutionException e) {
        failAll(Operators.onRejectedExecution(e, Context.empty()));
    }

    private void failAll(@Nullable Throwable cause) {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            List<Ticket> all = waitingBelow(tree.root);
            for (Timed timed : timers.all()) {
                if (timed instanceof Ticket ticket && ticket.stage == Stage.RESTING) {
                    all.add(ticket);
                }
            }
            for (Ticket ticket : all) {
                Slot slot = slot(ticket);
                if (ticket.stage == Stage.WAITING) {
                    leaveLine(now, ticket);
                } else {
                    timers.remove(ticket);
                    leave(ticket);
                }
                refuse(ticket, new LimiterDisposedException(settings.name(), Tree.labels(slot.node), cause));
                out(ticket);
            }
            if (cause != null || disposed) {
                timers.clear();
            }
            out = finish(now);
        }
        carryOut(out);
    }

    RateLimiterSnapshot snapshot() {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        RateLimiterSnapshot snapshot;
        Ticket out;
        synchronized (monitor) {
            long now = begin(scheduler, raw);
            snapshot = Snapshots.of(settings, tree, turns, timers, now);
            out = finish(now);
        }
        carryOut(out);
        return snapshot;
    }

    /** Limiter time. */
    long now() {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        synchronized (monitor) {
            return clock.follow(scheduler, raw);
        }
    }

    // -------------------------------------------------------------------------------------------------- the pass

    private void ring(Alarm.Ring ring) {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        synchronized (monitor) {
            ring.heard();
            out = finish(begin(scheduler, raw));
        }
        carryOut(out);
    }

    private long begin(Scheduler scheduler, long raw) {
        long now = clock.follow(scheduler, raw);
        if (timers.firstDue() <= now) {
            runDue(now);
        }
        return now;
    }

    private void runDue(long now) {
        for (int i = 0; i < PASS; i++) {
            Timed due = timers.pollDue(now);
            if (due == null) {
                return;
            }
            if (due instanceof Slot slot) {
                turns.touch(now, slot.node);
            } else if (due instanceof Ticket ticket) {
                due(now, ticket);
            }
        }
    }

    private void due(long now, Ticket ticket) {
        switch (ticket.stage) {
            case RESTING -> rested(now, ticket);
            case WAITING -> {
                // Who could go at this very instant goes.
                grantAll(now);
                if (ticket.stage == Stage.WAITING) {
                    Slot slot = leaveLine(now, ticket);
                    refuse(ticket, Refusals.waitedTooLong(settings.name(), slot.node, now - ticket.joinedAt));
                    out(ticket);
                }
            }
            case HELD -> {
                ticket.timedOut = true;
                out(ticket);
            }
            default -> throw new IllegalStateException("nothing is due of a ticket that is " + ticket.stage);
        }
    }

    private void rested(long now, Ticket ticket) {
        Slot slot = slot(ticket);
        long left = Exact.subtract(ticket.at, now);
        RateLimitException refusal = cannotWait(now, ticket, slot.node, slot.lane, Math.max(1, left));
        if (refusal != null) {
            leave(ticket);
            refuse(ticket, refusal);
            out(ticket);
            return;
        }
        ticket.stage = Stage.WAITING;
        timers.set(ticket, ticket.at);
        turns.join(now, ticket, slot);
    }

    private void grantAll(long now) {
        for (int i = 0; i < PASS; i++) {
            Ticket ticket = turns.next(now);
            if (ticket == null) {
                return;
            }
            Slot slot = slot(ticket);
            timers.remove(ticket);
            grant(now, ticket, slot.node, slot.lane);
            turns.touch(now, slot.node);
            out(ticket);
        }
        more = true;
    }

    private void out(Ticket ticket) {
        if (lastOut == null) {
            firstOut = ticket;
        } else {
            lastOut.next = ticket;
        }
        lastOut = ticket;
    }

    /** Grants while there is room, and hands out what the pass decided. */
    private @Nullable Ticket finish(long now) {
        if (turns.waiting() > 0) {
            grantAll(now);
        }
        tree.forgetIdle(now);
        if (timers.firstDue() <= now) {
            more = true;
        }
        alarmWanted = alarm.want(more ? Exact.NEVER : timers.firstDue(), clock.anchor());
        Ticket chain = firstOut;
        firstOut = null;
        lastOut = null;
        return chain;
    }

    /** What a pass decided, outside the monitor. */
    void carryOut(@Nullable Ticket out) {
        if (alarmWanted) {
            alarm.set();
        }
        if (out != null) {
            Emissions.emit(out);
        }
        while (more) {
            Ticket next = continuePass();
            if (next != null) {
                Emissions.emit(next);
            }
        }
    }

    private @Nullable Ticket continuePass() {
        Scheduler scheduler = clock.scheduler();
        long raw = scheduler.now(TimeUnit.NANOSECONDS);
        Ticket out;
        boolean set;
        synchronized (monitor) {
            more = false;
            out = finish(begin(scheduler, raw));
            set = alarmWanted;
        }
        if (set) {
            alarm.set();
        }
        return out;
    }
}
