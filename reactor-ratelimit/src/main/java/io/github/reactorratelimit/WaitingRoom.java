package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.RateLimitListener.Cause;
import io.github.reactorratelimit.RateLimitListener.Ending;
import io.github.reactorratelimit.RateLimitListener.Queue;
import io.github.reactorratelimit.StoreCall.Asked;
import io.github.reactorratelimit.Ticket.Stage;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where tickets are granted, wait, are turned away and leave; under the monitor. What has to be told to somebody is put on
 * a chain, and the pass hands it out.
 */
final class WaitingRoom {

    /** How many one pass grants, or lets fall due, before others get the monitor. */
    static final int PASS = 256;

    /** When to look again whether changed limits have come into force. */
    private static final long CHANGING_NANOS = 1_000_000;

    private final Settings settings;
    private final Timers timers;
    private final Turns turns;
    private final Cooldowns cooldowns;
    private final Generations generations;
    private final Breakers breakers;
    private final Buckets buckets;
    private final Outlook outlook;
    private final News news;
    /** Who asks a store about those who fit here; null if nobody else has a say. */
    private @Nullable Sharing sharing;

    private @Nullable Ticket firstOut;
    private @Nullable Ticket lastOut;

    WaitingRoom(
            Settings settings,
            Tree tree,
            Timers timers,
            Turns turns,
            Cooldowns cooldowns,
            Generations generations,
            Outlook outlook,
            News news) {
        this.settings = settings;
        this.buckets = new Buckets(tree, turns, generations, news);
        this.timers = timers;
        this.turns = turns;
        this.cooldowns = cooldowns;
        this.generations = generations;
        this.breakers = new Breakers(settings, generations, news);
        this.outlook = outlook;
        this.news = news;
    }

    /** From the start on, or never. */
    void sharedBy(Sharing with) {
        sharing = with;
    }

    // ------------------------------------------------------------------------------------------------- coming in

    /** Grants a new ticket, lets it rest or wait, or refuses it. */
    void admit(long now, Ticket ticket, Node leaf, int lane, long restNanos, long maxWaitNanos) {
        ticket.slot = leaf.slots[lane];
        ticket.joinedAt = now;
        Limit forbidding = forbidding(ticket.demand, leaf, lane);
        if (forbidding != null) {
            refuse(ticket, Refusals.never(settings.name(), leaf, ticket.demand, forbidding));
        } else if (sharing != null && sharing.mode() == Sharing.Mode.CLOSED) {
            refuse(ticket, Refusals.unavailable(settings.name(), leaf, sharing.failure()));
        } else if (restNanos > 0) {
            rest(now, ticket, leaf, restNanos, maxWaitNanos);
        } else if (!isHeldUp()
                && !turns.isTaken(now, leaf, lane)
                && Outlook.readyAt(now, leaf, ticket.demand, lane) <= now) {
            grantOrAsk(now, ticket, leaf, lane, Exact.add(now, maxWaitNanos));
        } else {
            RateLimitException refusal = cannotWait(now, ticket, leaf, lane, maxWaitNanos);
            if (refusal != null) {
                refuse(ticket, refusal);
            } else {
                count(ticket, leaf);
                wait(now, ticket, leaf.slots[lane], Exact.add(now, maxWaitNanos));
            }
        }
    }

    /** What a ticket that rests or waits now is waiting for. */
    Queue queue(long now, Ticket ticket) {
        Slot slot = slot(ticket);
        if (ticket.stage() == Stage.RESTING) {
            return new Queue(null, 0, Duration.ofNanos(ticket.dueAt - now));
        }
        Line line = slot.line;
        long ahead = line == null ? 0 : Math.max(0, line.ahead(ticket.front) - Line.weight(ticket));
        boolean fits = outlook.look(now, slot.node, ticket.demand, slot.lane);
        long at = Math.max(outlook.readyAt, Outlook.expectedAt(now, slot.node, ticket.demand, slot.lane, ahead));
        Duration expected = at == Exact.NEVER ? null : Duration.ofNanos(at - now);
        return new Queue(fits ? null : outlook.limit, ahead, expected);
    }

    private static @Nullable Limit forbidding(Demand demand, Node leaf, int lane) {
        for (Node node = leaf; node != null; node = node.parent) {
            Limit limit = node.forbids(demand, lane);
            if (limit != null) {
                return limit;
            }
        }
        return null;
    }

    private void rest(long now, Ticket ticket, Node leaf, long restNanos, long maxWaitNanos) {
        if (restNanos > maxWaitNanos) {
            refuse(ticket, Refusals.tooLong(settings.name(), leaf, restNanos, maxWaitNanos, null));
            return;
        }
        ticket.stage(Stage.RESTING);
        // While it rests this is its deadline.
        ticket.at = Exact.add(now, maxWaitNanos);
        count(ticket, leaf);
        timers.set(ticket, Exact.add(now, restNanos));
    }

    private void wait(long now, Ticket ticket, Slot slot, long deadline) {
        ticket.stage(Stage.WAITING);
        timers.set(ticket, deadline);
        turns.join(now, ticket, slot);
    }

    /** Why a demand may not wait, or null if it may: no room, or a wait that is known to be too long. */
    private @Nullable RateLimitException cannotWait(long now, Ticket ticket, Node leaf, int lane, long maxWaitNanos) {
        Line line = leaf.slots[lane].line;
        if (!ticket.front) {
            if (turns.waiting() >= settings.maxPending()) {
                return Refusals.full(settings.name(), leaf, settings.maxPending(), "all its lines together");
            }
            if (line != null && line.size() >= settings.maxPendingPerLine()) {
                return Refusals.full(settings.name(), leaf, settings.maxPendingPerLine(), "the line of this key");
            }
        }
        for (Node node = leaf; node != null; node = node.parent) {
            if (cooldowns.isTooLong(now, node)) {
                long left = node.gate.closedUntil - now;
                return Refusals.closed(settings.name(), leaf, left, settings.maxServerDelayNanos());
            }
        }
        long ahead = line == null ? 0 : line.ahead(ticket.front);
        long wait = Outlook.expectedAt(now, leaf, ticket.demand, lane, ahead) - now;
        if (wait > maxWaitNanos || maxWaitNanos == 0) {
            outlook.look(now, leaf, ticket.demand, lane);
            return Refusals.tooLong(settings.name(), leaf, wait, maxWaitNanos, outlook.limit);
        }
        return null;
    }

    // --------------------------------------------------------------------------------------------------- granting

    private boolean isHeldUp() {
        return sharing != null && sharing.isFull();
    }

    /** Grants whom this process's books would let go, unless a store has to be asked; whether it did. */
    private boolean grantOrAsk(long now, Ticket ticket, Node leaf, int lane, long deadline) {
        if (sharing == null || !sharing.decides()) {
            grant(now, ticket, leaf, lane);
            return true;
        }
        if (!ticket.counted) {
            count(ticket, leaf);
        }
        grant(now, ticket, leaf, lane); // Taken for here, so that no more is asked for than can be used.
        ticket.stage(Stage.ASKED);
        sharing.ask(ticket, deadline);
        return false;
    }

    /** Takes back what a ticket took here while it was asked for. */
    private Slot untake(long now, Ticket ticket) {
        Slot slot = slot(ticket);
        for (Node node = slot.node; node != null; node = node.parent) {
            node.refund(now, ticket, slot.lane);
            node.release(now, ticket, slot.lane, false);
        }
        touch(now, slot.node);
        return slot;
    }

    /** A store granted it: it counts from now on. */
    void grantAsked(long now, Ticket ticket, Standing standing) {
        Slot slot = untake(now, ticket);
        grant(now, ticket, slot.node, slot.lane);
        ticket.standing(standing);
        if (sharing != null) {
            sharing.news().holding(slot.node);
        }
        out(ticket);
    }

    /** A store refused it until a time: it stands in line again where it stood, or fails if it can't wait so long. */
    void refuseAsked(long now, Asked one, long until, boolean timed, @Nullable Limit limit) {
        Ticket ticket = one.ticket();
        Node leaf = slot(ticket).node;
        if (until < one.deadline()) {
            putBack(now, one);
        } else if (until == Exact.NEVER && limit != null) {
            untake(now, ticket);
            leave(ticket);
            turnAway(ticket, Refusals.never(settings.name(), leaf, ticket.demand, limit));
        } else {
            untake(now, ticket);
            leave(ticket);
            long allowed = Exact.subtract(one.deadline(), ticket.joinedAt);
            long wait = timed ? Exact.subtract(until, ticket.joinedAt) : 0;
            turnAway(ticket, Refusals.tooLong(settings.name(), leaf, wait, allowed, limit));
        }
    }

    /** It was asked for in vain, and stands in line again where it stood. */
    void putBack(long now, Asked one) {
        Ticket ticket = one.ticket();
        Slot slot = untake(now, ticket);
        if (sharing == null || sharing.isDisposed()) {
            leave(ticket);
            turnAway(ticket, Refusals.disposed(settings.name(), slot.node, null));
            return;
        }
        ticket.stage(Stage.WAITING);
        timers.set(ticket, one.deadline());
        turns.rejoin(now, ticket, slot);
    }

    /** Nobody can be asked for any more. */
    void failWaiting(long now, Node root, @Nullable Throwable why) {
        for (Ticket ticket : waitingBelow(root)) {
            Slot slot = leaveLine(now, ticket);
            turnAway(ticket, Refusals.unavailable(settings.name(), slot.node, why));
        }
    }

    /** Another process heard that a key is closed. */
    void closedElsewhere(long now, Node node, long nanos) {
        long longer = node.close(now, Exact.add(now, nanos));
        news.closed(now, node, longer, Cause.REFUSED);
        if (longer > 0) {
            touch(now, node);
        }
    }

    /** What several processes have learned of a key together. */
    void learnedTogether(long now, Node node, LimitStore.Quota shared) {
        cooldowns.learned(now, node, shared);
    }

    Slot place(Ticket ticket) {
        return slot(ticket);
    }

    private void grant(long now, Ticket ticket, Node leaf, int lane) {
        ticket.stage(Stage.HELD);
        ticket.phase = switch (ticket.tells()) {
            case NOTHING -> Phase.HEADED;
            case HEAD -> Phase.SENT;
            case SENDING, PERHAPS -> Phase.UNSENT;
        };
        ticket.at = now;
        ticket.sentAt = now;
        if (!ticket.counted && (leaf.holds || ticket.tells() != Ticket.Tells.NOTHING)) {
            count(ticket, leaf);
        }
        take(now, leaf, ticket.demand, lane, ticket.phase);
        ticket.generation = generations.current(); // After the books have noticed what is over by now.
    }

    /** Takes what a demand costs from every meter of a path. */
    void take(long now, Node leaf, Demand demand, int lane, Phase phase) {
        for (Node node = leaf; node != null; node = node.parent) {
            node.take(now, demand, lane, phase);
        }
        touch(now, leaf);
    }

    /** Grants while there is room; false if that takes another pass. */
    boolean grantAll(long now) {
        for (int i = 0; i < PASS; i++) {
            if (isHeldUp()) {
                return true;
            }
            Ticket ticket = turns.next(now);
            if (ticket == null) {
                ticket = turns.hopeless();
                if (ticket == null) {
                    return true;
                }
                failForbidden(now, ticket);
                continue;
            }
            Slot slot = slot(ticket);
            long deadline = ticket.place == Timed.NOWHERE ? Exact.NEVER : ticket.dueAt;
            timers.remove(ticket);
            boolean granted = grantOrAsk(now, ticket, slot.node, slot.lane, deadline);
            turns.touch(now, slot.node);
            if (granted) {
                out(ticket);
            }
        }
        return false;
    }

    // ------------------------------------------------------------------------------------------------ falling due

    void runDue(long now) {
        for (int i = 0; i < PASS; i++) {
            Timed due = timers.pollDue(now);
            if (due == null) {
                return;
            }
            if (due instanceof Slot slot) {
                turns.due(now, slot.node);
            } else if (due instanceof Reopening reopening) {
                news.due(reopening);
            } else if (due instanceof StoreCall call && sharing != null) {
                sharing.overdue(now, call);
            } else if (due instanceof Sharing.Round && sharing != null) {
                sharing.roundDue();
            } else if (due instanceof Ticket ticket) {
                if (!due(now, ticket)) {
                    return;
                }
            }
        }
    }

    /** False if it takes another pass. */
    private boolean due(long now, Ticket ticket) {
        switch (ticket.stage()) {
            case RESTING -> rested(now, ticket);
            case WAITING -> {
                return overdue(now, ticket);
            }
            case HELD -> out(ticket);
            default -> throw new IllegalStateException("nothing is due of a ticket that is " + ticket.stage());
        }
        return true;
    }

    private void rested(long now, Ticket ticket) {
        Slot slot = slot(ticket);
        long left = Math.max(1, Exact.subtract(ticket.at, now));
        Limit forbidding = forbidding(ticket.demand, slot.node, slot.lane);
        boolean closed = sharing != null && sharing.mode() == Sharing.Mode.CLOSED;
        RateLimitException refusal = forbidding != null
                ? Refusals.never(settings.name(), slot.node, ticket.demand, forbidding)
                : closed
                        ? Refusals.unavailable(settings.name(), slot.node, null)
                        : cannotWait(now, ticket, slot.node, slot.lane, left);
        if (refusal == null) {
            wait(now, ticket, slot, ticket.at);
        } else {
            leave(ticket);
            turnAway(ticket, refusal);
        }
    }

    private boolean overdue(long now, Ticket ticket) {
        if (sharing != null && sharing.isChanging()) {
            // It gets its answer from the limits that come into force, by the thread that may stand above this pass.
            timers.set(ticket, Exact.add(now, CHANGING_NANOS));
            return true;
        }
        // Who could go at this very instant goes, in as many passes as it takes.
        boolean all = grantAll(now);
        if (ticket.stage() == Stage.WAITING && !all) {
            timers.set(ticket, now);
        } else if (ticket.stage() == Stage.WAITING) {
            Slot slot = leaveLine(now, ticket);
            turnAway(ticket, Refusals.waitedTooLong(settings.name(), slot.node, now - ticket.joinedAt));
        }
        return all;
    }

    // ---------------------------------------------------------------------------------------------------- hearing

    /** The attempt went on to its next phase. */
    void move(long now, Ticket ticket, Phase to) {
        enter(now, ticket, to);
        touch(now, slot(ticket).node);
    }

    /** As {@link #move}, by somebody who has more to change before anybody's turn is looked at. */
    private void enter(long now, Ticket ticket, Phase to) {
        Slot slot = slot(ticket);
        for (Node node = slot.node; node != null; node = node.parent) {
            node.moved(now, ticket, slot.lane, to);
        }
        if (ticket.phase == Phase.UNSENT) {
            ticket.sentAt = now; // Nobody told: it counts as if it had been sent with its head, or at its end.
        }
        if (sharing != null) {
            sharing.news().moved(now, ticket, to);
        }
        ticket.phase = to;
        ticket.at = now;
    }

    /** What a signal is of an answer. */
    enum Word {
        /** All that it says. */
        ALL,
        /** What one of several responses in it says. */
        ONE,
        /** What the last of them says. */
        LAST
    }

    /** Hears a response: its head, what it says about limits, and a pause that its failure calls for. */
    @Nullable
    Throttle hear(long now, Ticket ticket, RateLimitSignal signal, long pauseNanos, double random) {
        return hear(now, ticket, signal, Word.ALL, List.of(), pauseNanos, random);
    }

    /** Hears an answer that is several responses in one; each one's throttle goes to its place in {@code throttles}. */
    void hearAll(
            long now,
            Ticket ticket,
            List<RateLimitSignal> signals,
            @Nullable Throttle[] throttles,
            long pauseNanos,
            double random) {
        int last = signals.size() - 1;
        for (int i = 0; i < last; i++) {
            throttles[i] = hear(now, ticket, signals.get(i), Word.ONE, signals, 0, random);
        }
        throttles[last] = hear(now, ticket, signals.get(last), Word.LAST, signals, pauseNanos, random);
    }

    private @Nullable Throttle hear(
            long now,
            Ticket ticket,
            RateLimitSignal signal,
            Word word,
            List<RateLimitSignal> all,
            long pauseNanos,
            double random) {
        boolean granted = ticket.stage() == Stage.HELD || ticket.stage() == Stage.RELEASED;
        if (!granted || slot(ticket).node.forgotten) {
            return null;
        }
        Node leaf = slot(ticket).node;
        boolean first = ticket.stage() == Stage.HELD && ticket.phase != Phase.HEADED;
        if (first) {
            enter(now, ticket, Phase.HEADED);
            timers.remove(ticket);
        }
        ticket.heardOf |= ticket.tells() == Ticket.Tells.NOTHING;
        if (signal.bucket() != null) {
            leaf = joined(now, leaf, ticket.demand, signal.bucket());
        }
        Throttle throttle = cooldowns.hear(now, leaf, ticket, signal, random, first, word != Word.ONE);
        Throttle rest = switch (word) {
            case ALL ->
                first || ticket.tells() == Ticket.Tells.NOTHING
                        ? breakers.answered(now, leaf, ticket.generation, signal, random)
                        : null;
            case ONE -> null;
            case LAST -> breakers.answered(now, leaf, ticket.generation, all, random);
        };
        throttle = rest != null ? rest : throttle;
        if (pauseNanos > 0) {
            news.closed(now, leaf, leaf.close(now, Exact.add(now, pauseNanos)), Cause.UNAVAILABLE);
        }
        if (throttle != null || pauseNanos > 0) {
            for (Node node = leaf; node != null; node = node.parent) {
                turnAwayBelow(now, node);
            }
        }
        Node regrouped = cooldowns.regrouped();
        if (regrouped != null) {
            turns.touchAll(now, regrouped);
        }
        if (first || signal.cost() == 0 || pauseNanos > 0 || rest != null || cooldowns.changed()) {
            touch(now, leaf);
        }
        if (sharing != null) {
            sharing.heard(now, ticket, leaf, throttle != null || pauseNanos > 0);
        }
        return throttle;
    }

    Others others() {
        return cooldowns.others();
    }

    /** An attempt was sent and not answered in time; that its key rests for it, or null. */
    @Nullable
    Throttle timedOut(long now, Ticket ticket, double random) {
        if (ticket.stage() != Stage.HELD || ticket.phase != Phase.SENT) {
            return null;
        }
        Node leaf = slot(ticket).node;
        Throttle rest = breakers.timedOut(now, leaf, ticket.generation, random);
        if (rest != null) {
            touch(now, leaf);
        }
        return rest;
    }

    /** Where demands of this route count, now that its bucket is told. */
    private Node joined(long now, Node leaf, Demand demand, String bucket) {
        boolean shares = leaf.learned != null && !leaf.learned.sharing().isEmpty();
        Node joined = buckets.told(now, leaf, demand, bucket);
        if (joined != leaf) {
            if (shares && joined.parent != null) {
                turns.touchAll(now, joined.parent); // It left others with whom it shared a quota.
            }
            turnAwayBelow(now, joined);
            failForbidden(now, joined);
        }
        return joined;
    }

    /** Those who wait at a gate that is closed for longer than is obeyed fail now, with the time that is left. */
    private void turnAwayBelow(long now, Node closed) {
        if (!cooldowns.isTooLong(now, closed)) {
            return;
        }
        long left = closed.gate.closedUntil - now;
        for (Ticket ticket : waitingBelow(closed)) {
            Slot slot = leaveLine(now, ticket);
            turnAway(ticket, Refusals.closed(settings.name(), slot.node, left, settings.maxServerDelayNanos()));
        }
    }

    /** Whether the cost was corrected: once per unit, and only of what was granted. */
    boolean settle(long now, Ticket ticket, String unit, long actual) {
        boolean first = correct(now, ticket, unit, actual);
        if (first) {
            touch(now, slot(ticket).node);
        }
        return first;
    }

    /** As {@link #settle}, by somebody who has more to change before anybody's turn is looked at. */
    boolean correct(long now, Ticket ticket, String unit, long actual) {
        boolean charged = ticket.stage() == Stage.HELD || ticket.stage() == Stage.RELEASED;
        boolean first = charged && ticket.noteSettled(unit, actual);
        if (first) {
            Slot slot = slot(ticket);
            long delta = actual - ticket.demand.cost(unit);
            if (sharing != null) {
                sharing.news().settled(ticket, unit, delta);
            }
            for (Node node = slot.node; node != null; node = node.parent) {
                node.settle(now, ticket, slot.lane, unit, delta);
            }
        }
        return first;
    }

    // ---------------------------------------------------------------------------------------------------- leaving

    /** How a ticket leaves. */
    enum Leaving {
        /** Its response was heard in the same step. */
        HEARD,
        /** The attempt is over. */
        ENDED,
        /** Nobody wants it any more: a permit that is known not to be sent yet is given back whole. */
        CANCELLED,
        /** Its grant was told, and a cancel came before it was used: it is given back whole. */
        WITHDRAWN,
        /** Nobody got to use it: its permit is given back in any case. */
        UNUSED
    }

    /**
     * A ticket leaves, wherever it stands.
     *
     * @return how its permit ended; null if it held none
     */
    @Nullable
    Ending end(long now, Ticket ticket, Leaving how) {
        switch (ticket.stage()) {
            case NEW -> ticket.stage(Stage.DONE);
            case RESTING -> {
                timers.remove(ticket);
                leave(ticket);
            }
            case WAITING -> leaveLine(now, ticket);
            case ASKED -> {
                untake(now, ticket);
                leave(ticket);
            }
            case HELD -> {
                release(now, ticket, how);
                return ticket.stage() == Stage.DONE
                        ? Ending.REFUNDED
                        : how == Leaving.CANCELLED ? Ending.CANCELLED : Ending.DONE;
            }
            case RELEASED, DONE -> {}
        }
        return null;
    }

    private void release(long now, Ticket ticket, Leaving how) {
        Slot slot = slot(ticket);
        boolean refund = how == Leaving.UNUSED
                || how == Leaving.WITHDRAWN
                || (how == Leaving.CANCELLED && ticket.isSurelyUnsent());
        timers.remove(ticket);
        if (!refund && ticket.phase != Phase.HEADED) {
            enter(now, ticket, Phase.ENDED);
        }
        for (Node node = slot.node; node != null; node = node.parent) {
            if (refund) {
                node.refund(now, ticket, slot.lane);
            }
            node.release(now, ticket, slot.lane, how == Leaving.ENDED);
        }
        if (sharing != null) {
            sharing.released(ticket, slot.node, refund);
        }
        leave(ticket);
        ticket.stage(refund ? Stage.DONE : Stage.RELEASED);
        touch(now, slot.node);
    }

    private Slot leaveLine(long now, Ticket ticket) {
        Slot slot = slot(ticket);
        timers.remove(ticket);
        turns.leave(now, ticket, slot);
        leave(ticket);
        return slot;
    }

    private static void leave(Ticket ticket) {
        ticket.stage(Stage.DONE);
        if (ticket.counted) {
            ticket.counted = false;
            slot(ticket).node.users--;
        }
    }

    /** Fails all who can never pass any more. */
    void failForbidden(long now, Node root) {
        for (Ticket ticket : waitingBelow(root)) {
            failForbidden(now, ticket);
        }
    }

    private void failForbidden(long now, Ticket ticket) {
        Slot slot = slot(ticket);
        Limit limit = forbidding(ticket.demand, slot.node, slot.lane);
        if (limit != null) {
            leaveLine(now, ticket);
            turnAway(ticket, Refusals.never(settings.name(), slot.node, ticket.demand, limit));
        }
    }

    /** Fails all who wait or rest; with a cause, forgets every timer too. */
    void failAll(long now, Node root, @Nullable Throwable cause) {
        List<Ticket> all = waitingBelow(root);
        for (Timed timed : timers.all()) {
            if (timed instanceof Ticket ticket && ticket.stage() == Stage.RESTING) {
                all.add(ticket);
            }
        }
        for (Ticket ticket : all) {
            Slot slot = slot(ticket);
            end(now, ticket, Leaving.UNUSED);
            turnAway(ticket, Refusals.disposed(settings.name(), slot.node, cause));
        }
        if (cause != null) {
            timers.clear(); // Nobody would ring for the timeouts of those who run.
        }
    }

    private static List<Ticket> waitingBelow(Node node) {
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

    // ------------------------------------------------------------------------------------------------ telling it

    /** Refuses a ticket that is told by whoever asked. */
    void refuse(Ticket ticket, RateLimitException refusal) {
        ticket.refuse(refusal);
    }

    private void turnAway(Ticket ticket, RateLimitException refusal) {
        refuse(ticket, refusal);
        out(ticket);
    }

    private void out(Ticket ticket) {
        if (lastOut == null) {
            firstOut = ticket;
        } else {
            lastOut.next = ticket;
        }
        lastOut = ticket;
    }

    /** Who is to be told something, in order; the chain is handed over. */
    @Nullable
    Ticket takeOut() {
        Ticket chain = firstOut;
        firstOut = null;
        lastOut = null;
        return chain;
    }

    private void touch(long now, Node leaf) {
        if (turns.waiting() > 0) {
            turns.touch(now, leaf);
        }
    }

    private static void count(Ticket ticket, Node leaf) {
        ticket.counted = true;
        leaf.users++;
    }

    private static Slot slot(Ticket ticket) {
        Slot slot = ticket.slot;
        if (slot == null) {
            throw new IllegalStateException("a ticket has its place before anything is decided about it");
        }
        while (slot.node.sharedWith != null) {
            slot = slot.node.sharedWith.slots[slot.lane];
            ticket.slot = slot;
        }
        return slot;
    }
}
