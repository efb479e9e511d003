package io.github.reactorratelimit;

import io.github.reactorratelimit.LimitStore.Answer;
import io.github.reactorratelimit.LimitStore.Reply;
import io.github.reactorratelimit.StoreCall.Asked;
import io.github.reactorratelimit.StoreCall.Group;
import io.github.reactorratelimit.Ticket.Stage;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a store decided about those it was asked for; under the monitor. */
final class StoreVerdicts {

    /** When to ask again for what only another process can give back. */
    private static final long AGAIN_NANOS = 50_000_000L;

    private final Settings settings;
    private final Timers timers;
    private final Turns turns;
    private final Entries entries;
    private final Departures departures;
    private final Outgoing outgoing;
    private final StoreNews news;
    private final Stocks stocks;

    StoreVerdicts(
            Settings settings,
            Timers timers,
            Turns turns,
            Entries entries,
            Departures departures,
            Outgoing outgoing,
            StoreNews news,
            Stocks stocks) {
        this.settings = settings;
        this.timers = timers;
        this.turns = turns;
        this.entries = entries;
        this.departures = departures;
        this.outgoing = outgoing;
        this.news = news;
        this.stocks = stocks;
    }

    /** Grants those of one group whom it was granted for, and lets the others wait for as long as they were told. */
    void answered(long now, StoreCall ended, int place, Reply reply, boolean disposed) {
        Group group = ended.groups.get(place);
        Answer answer = reply.answers().get(place);
        answered(now, ended, group, answer, reply.atNanos(), disposed);
        if (ended.asksAhead(place)) {
            stocks.granted(now, group, answer.ahead(), reply.atNanos());
        }
    }

    /** Those who came meanwhile are the first who get what was granted ahead. */
    void grantAhead(long now, Collection<Asked> asked) {
        if (stocks.isSome()) {
            asked.removeIf(one -> {
                Ticket ticket = one.ticket();
                Standing ahead = ticket.stage() == Stage.ASKED ? stocks.take(now, ticket) : null;
                if (ahead != null) {
                    grant(now, ticket, ahead);
                }
                return ahead != null;
            });
        }
    }

    private void answered(long now, StoreCall ended, Group group, Answer answer, long at, boolean disposed) {
        Standing standing = new Standing(group.slot(), group.demand(), group.phase(), at, null);
        int left = answer.granted();
        List<Asked> refused = new ArrayList<>(0);
        for (Asked one : group.asked()) {
            if (one.ticket().stage() == Stage.ASKED) {
                if (one.ticket() instanceof Inquiry inquiry) {
                    inquiry.answered(answer, limitOf(ended, answer));
                }
                if (left > 0) {
                    left--;
                    grant(now, one.ticket(), standing);
                    news.holding(one.ticket().place().node);
                } else {
                    refused.add(one);
                }
            }
        }
        if (left > 0) {
            // Whoever was cancelled before the answer gives back what it got, and its place in flight and in a ramp.
            news.permits().returned(standing, left);
            news.held(group.slot().node);
            news.ramps(group.slot().node);
        }
        if (!refused.isEmpty()) {
            refused(now, ended, answer, refused, disposed);
        }
    }

    private static @Nullable Limit limitOf(StoreCall ended, Answer answer) {
        return answer.books() < 0 ? null : ended.draft.limits.get(answer.books());
    }

    /** A window may be told to be full for as long as calls under way may take, which end a period after their heads. */
    private static long least(long toldNanos, @Nullable Limit limit) {
        return limit != null && limit.kind() == Limit.Kind.WINDOW
                ? Math.min(toldNanos, WindowMeter.countedNanos(limit))
                : toldNanos;
    }

    private void refused(long now, StoreCall ended, Answer answer, List<Asked> refused, boolean disposed) {
        Limit limit = limitOf(ended, answer);
        boolean forGood = limit != null && limit.kind() == Limit.Kind.TOTAL;
        boolean timed = answer.waitNanos() >= 0;
        long until = Exact.add(now, timed ? Math.max(1, least(answer.waitNanos(), limit)) : AGAIN_NANOS);
        if (answer.key() >= 0 && !forGood) {
            int lane = answer.books() < 0 ? -1 : ended.draft.lanes.get(answer.books());
            ended.draft
                    .nodes
                    .get(answer.key())
                    .refused(until, lane, refused.get(0).ticket().demand, limit);
        }
        for (int i = refused.size() - 1; i >= 0; i--) {
            Asked one = refused.get(i);
            refuse(now, one, forGood ? Exact.NEVER : until, timed, limit, disposed);
        }
    }

    /** A store granted it: it counts from now on. */
    private void grant(long now, Ticket ticket, Standing standing) {
        Slot slot = entries.untake(now, ticket);
        entries.grant(now, ticket, slot.node, slot.lane);
        ticket.standing(standing);
        outgoing.add(ticket);
    }

    /** A store refused it until a time: it stands in line again where it stood, or fails if it can't wait so long. */
    private void refuse(long now, Asked one, long until, boolean timed, @Nullable Limit limit, boolean disposed) {
        Ticket ticket = one.ticket();
        Node leaf = ticket.place().node;
        if (until < one.deadline()) {
            putBack(now, one, disposed);
        } else if (until == Exact.NEVER && limit != null) {
            entries.untake(now, ticket);
            ticket.leave();
            outgoing.turnAway(ticket, Refusals.never(settings.name(), leaf, ticket.demand, limit));
        } else {
            entries.untake(now, ticket);
            ticket.leave();
            long allowed = Exact.subtract(one.deadline(), ticket.joinedAt);
            long wait = timed ? Exact.subtract(until, ticket.joinedAt) : 0;
            outgoing.turnAway(ticket, Refusals.tooLong(settings.name(), leaf, wait, allowed, limit));
        }
    }

    /** It was asked for in vain, and stands in line again where it stood. */
    void putBack(long now, Asked one, boolean disposed) {
        Ticket ticket = one.ticket();
        Slot slot = entries.untake(now, ticket);
        if (disposed) {
            ticket.leave();
            outgoing.turnAway(ticket, Refusals.disposed(settings.name(), slot.node, null));
            return;
        }
        ticket.stage(Stage.WAITING);
        timers.set(ticket, one.deadline());
        turns.rejoin(now, ticket, slot);
    }

    /** Nobody can be asked for any more. */
    void failWaiting(long now, Node root, @Nullable Throwable why) {
        for (Ticket ticket : Departures.waitingBelow(root)) {
            Slot slot = departures.leaveLine(now, ticket);
            outgoing.turnAway(ticket, Refusals.unavailable(settings.name(), slot.node, why));
        }
    }
}
