package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/** Who is to be told what a pass decided, in order; under the monitor. The pass hands the chain out when it is over. */
final class Outgoing {

    private @Nullable Ticket first;
    private @Nullable Ticket last;

    /** Tells a ticket that waited, rested or was asked for that it is refused. */
    void turnAway(Ticket ticket, RateLimitException refusal) {
        ticket.refuse(refusal);
        add(ticket);
    }

    void add(Ticket ticket) {
        if (last == null) {
            first = ticket;
        } else {
            last.next = ticket;
        }
        last = ticket;
    }

    /** The chain is handed over. */
    @Nullable
    Ticket take() {
        Ticket chain = first;
        first = null;
        last = null;
        return chain;
    }
}
