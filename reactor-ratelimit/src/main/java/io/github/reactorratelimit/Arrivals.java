package io.github.reactorratelimit;

import io.github.reactorratelimit.Ticket.Stage;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;

/**
 * Those who ask on a thread that is telling others what a store granted them: they are let in together, in one pass for
 * many, where each would else read the clock and enter the monitor for itself.
 */
final class Arrivals {

    private final Admission admission;
    private final KeyFinder finder;
    private final Passes passes;
    private final Outgoing outgoing;
    private final Entries entries;
    private final Stocks stocks;

    Arrivals(Admission admission, KeyFinder finder, Passes passes, Outgoing outgoing, Entries entries, Stocks stocks) {
        this.admission = admission;
        this.finder = finder;
        this.passes = passes;
        this.outgoing = outgoing;
        this.entries = entries;
        this.stocks = stocks;
    }

    /** Whether there may be something that a store granted ahead; may be asked without the monitor. */
    boolean isWorthwhile() {
        return stocks.isSome();
    }

    /** As {@link Admission#acquire} for a chain of tickets, in their order. */
    void admit(Ticket chain) {
        Ticket next = chain;
        while (next != null) {
            next = admitMany(next);
        }
    }

    /** Lets as many in as a pass does; gives the rest. */
    private @Nullable Ticket admitMany(Ticket chain) {
        List<Ticket> strays = new ArrayList<>(0);
        @Nullable Ticket[] rest = {chain};
        passes.pass(now -> rest[0] = admitMany(now, chain, strays));
        passes.checkAlarm();
        strays.forEach(this::admitStray);
        return rest[0];
    }

    private @Nullable Ticket admitMany(long now, Ticket chain, List<Ticket> strays) {
        Ticket rest = chain;
        Ticket before = null;
        long alike = 0;
        for (int i = 0; i < WaitingRoom.PASS && rest != null; i++) {
            Ticket ticket = rest;
            rest = ticket.next;
            ticket.next = null;
            if (before != null && alike > 0) {
                alike--;
                ticket.grantedWith(before);
                outgoing.add(ticket);
            } else if (decides(now, ticket, strays)) {
                outgoing.add(ticket);
                before = ticket;
                alike = takeAlike(now, ticket, rest, WaitingRoom.PASS - 1 - i);
            }
        }
        return rest;
    }

    /**
     * Of those right behind one that got what a store granted ahead, and asked for the same, as many as there is enough
     * for: the books are looked at, and written, once for all of them. Nothing else can stand against them: where a key is
     * closed, or more is known of it than its books tell, nobody gets what was granted ahead.
     */
    private long takeAlike(long now, Ticket first, @Nullable Ticket behind, int most) {
        if (first.standing() == null) {
            return 0;
        }
        int alike = 0;
        for (Ticket next = behind; next != null && alike < most && next.asksAs(first); next = next.next) {
            alike++;
        }
        Slot slot = first.place();
        long count =
                alike == 0 ? 0 : stocks.takeMore(slot, slot.node.fittingOnPath(now, first.demand, slot.lane, alike));
        if (count > 0) {
            entries.take(now, slot.node, first.demand, slot.lane, first.phase, count);
        }
        return count;
    }

    /** Whether it is known at once what becomes of it; one whose key has to be looked for goes to the strays. */
    private boolean decides(long now, Ticket ticket, List<Ticket> strays) {
        Node leaf = finder.leaf(now, ticket.demand, null, null);
        if (leaf == null) {
            strays.add(ticket);
            return false;
        }
        if (ticket.stage() != Stage.NEW) {
            return false; // It was cancelled before it got here.
        }
        admission.admit(now, ticket, leaf, ticket.askingLane(), 0, ticket.askingPatience());
        return ticket.isDecided();
    }

    /** Its keys have to be looked for, which may call functions of the user's. */
    private void admitStray(Ticket ticket) {
        try {
            admission.acquire(ticket, ticket.askingLane(), 0, ticket.askingPatience());
        } catch (Throwable e) {
            Exceptions.throwIfJvmFatal(e);
            Emissions.failOne(ticket, e);
        }
    }
}
