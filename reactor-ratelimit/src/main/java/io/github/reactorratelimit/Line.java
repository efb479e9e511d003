package io.github.reactorratelimit;

import org.jspecify.annotations.Nullable;

/** Those who wait for one key in one lane, first come first served; retries before everybody else, in their own order. */
final class Line {

    @Nullable
    Ticket first;

    private @Nullable Ticket last;
    private @Nullable Ticket lastOfFront;
    private int size;
    private long requests;

    int size() {
        return size;
    }

    /** What they cost together, in requests. */
    long requests() {
        return requests;
    }

    void join(Ticket ticket) {
        Ticket before = ticket.front ? lastOfFront : last;
        if (ticket.front) {
            lastOfFront = ticket;
        }
        insert(ticket, before);
    }

    private void insert(Ticket ticket, @Nullable Ticket before) {
        Ticket after = before == null ? first : before.next;
        ticket.previous = before;
        ticket.next = after;
        if (before == null) {
            first = ticket;
        } else {
            before.next = ticket;
        }
        if (after == null) {
            last = ticket;
        } else {
            after.previous = ticket;
        }
        size++;
        requests += weight(ticket);
    }

    /** Before all others of its kind: it stood first already. */
    void rejoin(Ticket ticket) {
        Ticket before = ticket.front ? null : lastOfFront;
        if (ticket.front && lastOfFront == null) {
            lastOfFront = ticket;
        }
        insert(ticket, before);
    }

    /** Two lines in one, those at the front of either before all others. Neither is used any more. */
    static Line merged(@Nullable Line one, Line other) {
        if (one == null) {
            return other;
        }
        Line both = new Line();
        while (one.first != null || other.first != null) {
            Line next = other.first == null || (one.first != null && isBefore(one.first, other.first)) ? one : other;
            Ticket ticket = next.first;
            assert ticket != null;
            next.leave(ticket);
            both.join(ticket);
        }
        return both;
    }

    private static boolean isBefore(Ticket one, Ticket other) {
        return one.front == other.front ? one.joinedAt <= other.joinedAt : one.front;
    }

    void leave(Ticket ticket) {
        Ticket before = ticket.previous;
        Ticket after = ticket.next;
        if (before == null) {
            first = after;
        } else {
            before.next = after;
        }
        if (after == null) {
            last = before;
        } else {
            after.previous = before;
        }
        if (ticket == lastOfFront) {
            lastOfFront = before;
        }
        ticket.previous = null;
        ticket.next = null;
        size--;
        requests -= weight(ticket);
        assert size >= 0 && requests >= size : size + " wait for " + requests;
    }

    /** How many requests stand before one that joins now. */
    long ahead(boolean front) {
        if (!front) {
            return requests;
        }
        long before = 0;
        for (Ticket ticket = first; ticket != null && ticket.front; ticket = ticket.next) {
            before += weight(ticket);
        }
        return before;
    }

    /** Bounded, so that the sum of all is one that can be taken apart again; it is a lower bound of a wait anyway. */
    static long weight(Ticket ticket) {
        return Math.min(ticket.demand.requests(), Integer.MAX_VALUE);
    }
}
