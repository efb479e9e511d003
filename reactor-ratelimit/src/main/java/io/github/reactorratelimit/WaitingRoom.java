package io.github.reactorratelimit;

import io.github.reactorratelimit.RateLimitListener.Queue;
import io.github.reactorratelimit.Ticket.Stage;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Where tickets come in, wait and are granted, and where what is due happens; under the monitor. */
final class WaitingRoom {

    /** How many one pass grants, or lets fall due, before others get the monitor. */
    static final int PASS = 256;

    /** When to look again whether changed limits have come into force. */
    private static final long CHANGING_NANOS = 1_000_000;

    private final Settings settings;
    private final Timers timers;
    private final Turns turns;
    private final Cooldowns cooldowns;
    private final Outlook outlook;
    private final News news;
    private final Entries entries;
    private final Departures departures;
    private final Outgoing outgoing;
    /** Who asks a store about those who fit here; null if nobody else has a say. */
    private final @Nullable Sharing sharing;

    WaitingRoom(
            Settings settings,
            Timers timers,
            Turns turns,
            Cooldowns cooldowns,
            Outlook outlook,
            News news,
            Entries entries,
            Departures departures,
            Outgoing outgoing,
            @Nullable Sharing sharing) {
        this.settings = settings;
        this.timers = timers;
        this.turns = turns;
        this.cooldowns = cooldowns;
        this.outlook = outlook;
        this.news = news;
        this.entries = entries;
        this.departures = departures;
        this.outgoing = outgoing;
        this.sharing = sharing;
    }

    // ------------------------------------------------------------------------------------------------- coming in

    /** Grants a new ticket, lets it rest or wait, or refuses it. */
    void admit(long now, Ticket ticket, Node leaf, int lane, long restNanos, long maxWaitNanos) {
        ticket.slot = leaf.slots[lane];
        ticket.joinedAt = now;
        Limit forbidding = Outlook.forbids(leaf, ticket.demand, lane);
        if (forbidding != null) {
            ticket.refuse(Refusals.never(settings.name(), leaf, ticket.demand, forbidding));
        } else if (sharing != null && sharing.mode() == Sharing.Mode.CLOSED) {
            ticket.refuse(Refusals.unavailable(settings.name(), leaf, sharing.failure()));
        } else if (restNanos > 0) {
            rest(now, ticket, leaf, restNanos, maxWaitNanos);
        } else if (!isHeldUp()
                && !turns.isTaken(now, leaf, lane)
                && Outlook.readyAt(now, leaf, ticket.demand, lane) <= now) {
            grantOrAsk(now, ticket, leaf, lane, Exact.add(now, maxWaitNanos));
        } else {
            RateLimitException refusal = cannotWait(now, ticket, leaf, lane, maxWaitNanos);
            if (refusal != null) {
                ticket.refuse(refusal);
            } else {
                ticket.use(leaf);
                wait(now, ticket, leaf.slots[lane], Exact.add(now, maxWaitNanos));
            }
        }
    }

    /** Grants a new ticket of which it is known that it may go; no store is asked. */
    void grant(long now, Ticket ticket, Node leaf, int lane) {
        ticket.slot = leaf.slots[lane];
        ticket.joinedAt = now;
        entries.grant(now, ticket, leaf, lane);
    }

    /** What a ticket that rests or waits now is waiting for. */
    Queue queue(long now, Ticket ticket) {
        Slot slot = ticket.place();
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

    private void rest(long now, Ticket ticket, Node leaf, long restNanos, long maxWaitNanos) {
        if (restNanos > maxWaitNanos) {
            ticket.refuse(Refusals.tooLong(settings.name(), leaf, restNanos, maxWaitNanos, null));
            return;
        }
        ticket.stage(Stage.RESTING);
        // While it rests this is its deadline.
        ticket.at = Exact.add(now, maxWaitNanos);
        ticket.use(leaf);
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
        Node broken = ticket.leavesBreakers() ? Outlook.broken(leaf) : null;
        if (broken != null) {
            return Refusals.breakerOpen(settings.name(), leaf, broken.gate.closedUntil - now);
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
            entries.grant(now, ticket, leaf, lane);
            return true;
        }
        entries.grant(now, ticket, leaf, lane); // Taken for here, so that no more is asked for than can be used.
        Standing ahead = sharing.stocks().take(now, ticket);
        if (ahead != null) {
            ticket.standing(ahead);
            return true;
        }
        ticket.use(leaf);
        ticket.stage(Stage.ASKED);
        sharing.ask(now, ticket, deadline);
        return false;
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
                departures.failForbidden(now, ticket);
                continue;
            }
            Slot slot = ticket.place();
            long deadline = ticket.place == Timed.NOWHERE ? Exact.NEVER : ticket.dueAt;
            timers.remove(ticket);
            boolean granted = grantOrAsk(now, ticket, slot.node, slot.lane, deadline);
            turns.notice(now, slot.node);
            if (granted) {
                outgoing.add(ticket);
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
            } else if (due instanceof Stock stock && sharing != null) {
                sharing.stocks().due(now, stock);
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
            case HELD -> outgoing.add(ticket);
            default -> throw new IllegalStateException("nothing is due of a ticket that is " + ticket.stage());
        }
        return true;
    }

    private void rested(long now, Ticket ticket) {
        Slot slot = ticket.place();
        long left = Math.max(1, Exact.subtract(ticket.at, now));
        Limit forbidding = Outlook.forbids(slot.node, ticket.demand, slot.lane);
        boolean closed = sharing != null && sharing.mode() == Sharing.Mode.CLOSED;
        RateLimitException refusal = forbidding != null
                ? Refusals.never(settings.name(), slot.node, ticket.demand, forbidding)
                : closed
                        ? Refusals.unavailable(settings.name(), slot.node, null)
                        : cannotWait(now, ticket, slot.node, slot.lane, left);
        if (refusal == null) {
            wait(now, ticket, slot, ticket.at);
        } else {
            ticket.leave();
            outgoing.turnAway(ticket, refusal);
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
            Slot slot = departures.leaveLine(now, ticket);
            outgoing.turnAway(ticket, Refusals.waitedTooLong(settings.name(), slot.node, now - ticket.joinedAt));
        }
        return all;
    }
}
