package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.RateLimitListener.Cause;
import io.github.reactorratelimit.Ticket.Stage;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What becomes known of an attempt while it runs, and what follows from it for its keys; under the monitor. */
final class Hearing {

    private final Settings settings;
    private final Timers timers;
    private final Turns turns;
    private final Cooldowns cooldowns;
    private final Breakers breakers;
    private final Buckets buckets;
    private final News news;
    private final Entries entries;
    private final Departures departures;
    private final Outgoing outgoing;
    /** What a store is still to be told; null if there is none. */
    private final @Nullable StoreNews told;

    Hearing(
            Settings settings,
            Tree tree,
            Timers timers,
            Turns turns,
            Generations generations,
            News news,
            Entries entries,
            Departures departures,
            Outgoing outgoing,
            Cooldowns cooldowns,
            @Nullable StoreNews told) {
        this.settings = settings;
        this.timers = timers;
        this.turns = turns;
        this.cooldowns = cooldowns;
        this.breakers = new Breakers(settings, generations, news);
        this.buckets = new Buckets(tree, turns, generations, news);
        this.news = news;
        this.entries = entries;
        this.departures = departures;
        this.outgoing = outgoing;
        this.told = told;
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
        Node leaf = granted ? ticket.place().node.latest() : null;
        if (leaf == null || leaf.forgotten) {
            return null;
        }
        boolean first = ticket.stage() == Stage.HELD && ticket.phase != Phase.HEADED;
        if (first) {
            entries.moveQuietly(now, ticket, Phase.HEADED);
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
        boolean closed = throttle != null || pauseNanos > 0;
        turnAway(now, leaf, closed, rest != null);
        lookAgain(now, leaf, first || signal.cost() == 0 || pauseNanos > 0 || rest != null || cooldowns.changed());
        if (told != null) {
            told.heard(now, ticket, leaf, closed);
        }
        return throttle;
    }

    /** Those who need not wait, or must not, where something has closed. */
    private void turnAway(long now, Node leaf, boolean closed, boolean broken) {
        if (broken) {
            turnAwayBroken(now, leaf);
        }
        for (Node node = leaf; closed && node != null; node = node.parent) {
            turnAwayBelow(now, node);
        }
    }

    /** Whose turn it is, if that may have changed. */
    private void lookAgain(long now, Node leaf, boolean changed) {
        Node regrouped = cooldowns.regrouped();
        if (regrouped != null) {
            turns.touchAll(now, regrouped);
        }
        if (changed) {
            turns.notice(now, leaf);
        }
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
        Node leaf = ticket.place().node;
        Throttle rest = breakers.timedOut(now, leaf, ticket.generation, random);
        if (rest != null) {
            turnAwayBroken(now, leaf);
            turns.notice(now, leaf);
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
            departures.failForbidden(now, joined);
        }
        return joined;
    }

    /** Those who have somewhere else to go don't wait where a breaker has opened. */
    private void turnAwayBroken(long now, Node broken) {
        for (Ticket ticket : Departures.waitingBelow(broken)) {
            if (ticket.leavesBreakers()) {
                Slot slot = departures.leaveLine(now, ticket);
                long left = broken.gate.closedUntil - now;
                outgoing.turnAway(ticket, Refusals.breakerOpen(settings.name(), slot.node, left));
            }
        }
    }

    /** Those who wait at a gate that is closed for longer than is obeyed fail now, with the time that is left. */
    private void turnAwayBelow(long now, Node closed) {
        if (!cooldowns.isTooLong(now, closed)) {
            return;
        }
        long left = closed.gate.closedUntil - now;
        for (Ticket ticket : Departures.waitingBelow(closed)) {
            Slot slot = departures.leaveLine(now, ticket);
            outgoing.turnAway(
                    ticket, Refusals.closed(settings.name(), slot.node, left, settings.maxServerDelayNanos()));
        }
    }
}
