package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.Tree.KeyLimits;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;

/** What is asked without standing in line: whether a demand may go now, and if not, when. Each is a pass of its own. */
final class Decisions {

    private final Admission admission;
    private final Settings settings;
    private final Tree tree;
    private final Turns turns;
    private final Generations generations;
    private final Outlook outlook;
    private final KeyFinder finder;
    private final Entries entries;
    private final WaitingRoom room;
    private final Passes passes;
    private final @Nullable Herald herald;
    private final @Nullable StoreCaller caller;

    /** @param admission where permits are given back */
    Decisions(
            Admission admission,
            Tree tree,
            Turns turns,
            Generations generations,
            Outlook outlook,
            KeyFinder finder,
            Entries entries,
            WaitingRoom room,
            Passes passes,
            @Nullable Herald herald,
            @Nullable StoreCaller caller) {
        this.admission = admission;
        this.settings = admission.settings();
        this.tree = tree;
        this.turns = turns;
        this.generations = generations;
        this.outlook = outlook;
        this.finder = finder;
        this.entries = entries;
        this.room = room;
        this.passes = passes;
        this.herald = herald;
        this.caller = caller;
    }

    /** Answers at once; an allowed answer has taken its permit. */
    Decision tryAcquire(Demand demand) {
        if (caller != null && caller.decides()) {
            return caller.unasked(decide(demand, false, null));
        }
        return herald == null ? decide(demand, true, null) : decideAndTell(demand, herald);
    }

    private Decision decideAndTell(Demand demand, Herald told) {
        BarePermit permit = new BarePermit(admission, demand);
        Object[] keys = finder.asked(permit, settings.lanes().indexOf(demand.lane()));
        Decision decision = decide(demand, true, permit);
        if (decision.allowed()) {
            told.granted(permit, 0);
        } else {
            List<String> labels = tree.labels(keys);
            told.refused(
                    permit,
                    0,
                    passes.isDisposed()
                            ? new LimiterDisposedException(settings.name(), labels, null)
                            : Refusals.now(settings.name(), labels, decision));
        }
        return decision;
    }

    /** As {@link #tryAcquire}, as soon as it is known. */
    Mono<Decision> ask(Demand demand) {
        return Mono.defer(() ->
                caller != null && caller.decides() ? Inquiry.of(admission, demand) : Mono.just(tryAcquire(demand)));
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
            Scheduler scheduler = passes.clock().scheduler();
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
            synchronized (passes) {
                now = passes.begin(scheduler, raw);
                leaf = finder.leaf(now, demand, keys, limits);
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
                out = passes.finish(now);
            }
            passes.carryOut(out);
            if (leaf != null) {
                Slot slot = wait == 0 && take ? leaf.slots[lane] : null;
                return new Decision(
                        wait, remaining, fullAfter, limit, admission, demand, slot, now, generation, permit);
            }
            if (keys == null) {
                keys = finder.keys(demand);
            } else {
                limits = finder.limits(told, keys);
            }
        }
    }

    /** How long a demand would wait as far as it is known, 0 if it may go now. */
    private long refusal(long now, Demand demand, Node leaf, int lane) {
        if (outlook.look(now, leaf, demand, lane) && !passes.isDisposed() && !turns.isTaken(now, leaf, lane)) {
            return 0;
        }
        Line line = leaf.slots[lane].line;
        long ahead = line == null ? 0 : line.requests();
        long at = Math.max(outlook.readyAt, Outlook.expectedAt(now, leaf, demand, lane, ahead));
        // A wait for others, or for calls to end, is not a matter of time.
        return passes.isDisposed() || at <= now || at == Exact.NEVER ? Exact.NEVER : at - now;
    }

    /** Takes what is asked for; the permit, if it holds something that somebody has to give back. */
    private @Nullable BarePermit grant(long now, Demand demand, Node leaf, int lane, @Nullable BarePermit told) {
        if (leaf.holds || told != null) {
            BarePermit permit = told == null ? new BarePermit(admission, demand) : told;
            room.grant(now, permit, leaf, lane);
            return permit;
        }
        entries.take(now, leaf, demand, lane, Phase.HEADED, 1);
        return null;
    }
}
