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

    Arrivals(Admission admission, KeyFinder finder, Passes passes, Outgoing outgoing) {
        this.admission = admission;
        this.finder = finder;
        this.passes = passes;
        this.outgoing = outgoing;
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
        for (int i = 0; i < WaitingRoom.PASS && rest != null; i++) {
            Ticket ticket = rest;
            rest = ticket.next;
            ticket.next = null;
            if (decides(now, ticket, strays)) {
                outgoing.add(ticket);
            }
        }
        return rest;
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
