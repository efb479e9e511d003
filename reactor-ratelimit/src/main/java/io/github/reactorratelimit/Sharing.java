package io.github.reactorratelimit;

import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.Reply;
import io.github.reactorratelimit.StoreCall.Asked;
import io.github.reactorratelimit.Ticket.Stage;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * The local half of limits that a store keeps for many processes; under the monitor. Whoever would be granted here, by this
 * process's own books, is asked for there: at most one call is under way, and everybody who comes meanwhile goes into the
 * next. The refused stand in line again where they stood, and nobody asks for their key before the time that the store told.
 *
 * <pre>
 *   SHARED ──a call is lost──► DIVIDING ──limits are──► ALONE   (each process has its part of the limits)
 *     ▲                                                   │ a probe is answered
 *     └──────── limits are whole ──── JOINING ◄───────────┘
 *   SHARED ──a call is lost──► CLOSED (demands fail) ──a probe is answered──► SHARED
 * </pre>
 */
final class Sharing {

    enum Mode {
        SHARED,
        DIVIDING,
        ALONE,
        JOINING,
        CLOSED
    }

    /** The most that one call asks for. */
    private static final int CALL = 8_192;
    /** Of so many keys at the most: each is looked up by itself, and meanwhile nobody else is served there. */
    private static final int PLACES = 512;
    /** When something has to be told although nobody asks: a lease, a probe. */
    static final class Round extends Timed {}

    private final LimitStore store;
    private final Settings settings;
    private final Tree tree;
    private final Timers timers;
    private final Turns turns;
    private final StoreVerdicts verdicts;
    private final StoreNews news;
    private final SharedKeys keys;
    private final Stocks stocks;
    private final Round round = new Round();
    private final ArrayDeque<Asked> asked = new ArrayDeque<>();
    /** Where those stand. */
    private final Set<Slot> places = Collections.newSetFromMap(new IdentityHashMap<>());

    private @Nullable Slot latestPlace;
    private final long timeoutNanos;

    private Mode mode = Mode.SHARED;
    /** The last that was said to whoever looks after this. */
    private Mode said = Mode.SHARED;

    private @Nullable StoreCall call;
    private @Nullable Throwable failure;
    private boolean roundDue;
    private boolean roundProbes;
    private boolean disposed;
    /** Nobody is left to ask for, and the store is out of order: it is not called any more. */
    private boolean over;

    private final ArrayDeque<StoreCall> overdue = new ArrayDeque<>(1);
    /** By how many the limits are to be divided from now on; 0 for no change. */
    private int division;

    private long number;

    /** Rejects limits whose books no store keeps. */
    static void check(List<Limit> limits) {
        for (Limit limit : limits) {
            if (limit.kind() == Limit.Kind.CALENDAR) {
                throw new IllegalArgumentException(
                        "a limit that is shared through a store must not count by a calendar, was " + limit
                                + ". Divide it between the processes with sharedBy, in a limiter of its own");
            }
        }
    }

    Sharing(
            LimitStore store,
            Settings settings,
            Tree tree,
            Timers timers,
            Turns turns,
            StoreVerdicts verdicts,
            StoreNews news,
            Stocks stocks,
            SharedKeys keys) {
        this.store = store;
        this.settings = settings;
        this.tree = tree;
        this.timers = timers;
        this.turns = turns;
        this.verdicts = verdicts;
        this.news = news;
        this.keys = keys;
        this.stocks = stocks;
        this.timeoutNanos = Exact.nanos(store.terms().timeout());
    }

    /** Calls the store. One that throws, or gives no reply or one that isn't to this batch, has failed. */
    Mono<Reply> decide(Batch batch) {
        return Mono.defer(() -> store.decide(batch))
                .switchIfEmpty(Mono.error(() -> new IllegalStateException("the store gave no reply")))
                .doOnNext(reply -> checkReply(batch, reply));
    }

    private static void checkReply(Batch batch, Reply reply) {
        check(batch.asks(), reply.answers(), "answers", "asks");
        check(batch.keys(), reply.keys(), "states", "keys");
    }

    private static void check(List<?> asked, List<?> given, String what, String of) {
        if (asked.size() != given.size()) {
            throw new IllegalStateException(
                    "the store gave " + given.size() + " " + what + " for " + asked.size() + " " + of);
        }
    }

    Mode mode() {
        return mode;
    }

    StoreNews news() {
        return news;
    }

    @Nullable
    Throwable failure() {
        return failure;
    }

    boolean isDisposed() {
        return disposed;
    }

    void dispose(long now) {
        disposed = true;
        stocks.dispose();
        over = mode != Mode.SHARED;
        setRound(now);
    }

    /** Whether those who fit here have to be asked for there. */
    boolean decides() {
        return mode != Mode.ALONE;
    }

    /** Whether other limits are about to come into force. */
    boolean isChanging() {
        return mode == Mode.DIVIDING || mode == Mode.JOINING;
    }

    /** Whether nobody else can be asked for now. */
    boolean isFull() {
        return switch (mode) {
            case SHARED -> asked.size() >= CALL || places.size() >= PLACES;
            case DIVIDING, JOINING, CLOSED -> true;
            case ALONE -> false;
        };
    }

    Stocks stocks() {
        return stocks;
    }

    /** Asks for a ticket that has been taken for here. */
    void ask(long now, Ticket ticket, long deadline) {
        if (asked.isEmpty()) {
            stocks.asked(now);
        }
        asked.add(new Asked(ticket, deadline));
        Slot place = ticket.place();
        if (place != latestPlace) {
            places.add(place);
            latestPlace = place;
        }
    }

    /** All who were to be asked for with the next call. */
    private List<Asked> takeAsked() {
        List<Asked> all = new ArrayList<>(asked);
        asked.clear();
        places.clear();
        latestPlace = null;
        return all;
    }

    // ---------------------------------------------------------------------------------------------------- calling

    /** Whether there is something to tell or to ask, and none is under way. */
    boolean mayCall() {
        boolean probing = mode == Mode.ALONE || mode == Mode.CLOSED;
        boolean some = roundDue || (!probing && (!asked.isEmpty() || stocks.isLow() || news.isSome()));
        return call == null && !over && some && !isChanging();
    }

    /** The next call, if there is something to tell or to ask and none is under way. */
    @Nullable
    StoreCall next(long now) {
        if (!mayCall()) {
            return null;
        }
        StoreCall next = new StoreCall(new StoreDraft(tree, store, settings.lanes()));
        for (Asked one : takeAsked()) {
            if (one.ticket().stage() == Stage.ASKED) {
                next.ask(one.ticket().place(), one);
            }
        }
        stocks.takeLow().forEach(next::askAhead);
        number++;
        List<LimitStore.Ask> asks = next.asks(now, number, stocks);
        next.batch = new Batch(
                number,
                now,
                next.draft.keys,
                next.draft.books,
                news.closings(now, next.draft),
                news.holdings(next, roundDue),
                news.permits().corrections(now, next),
                news.ramps(now, next, roundDue),
                settings.learning() != Learning.Mode.OFF,
                news.words(now, next.draft),
                asks);
        roundDue = false;
        setRound(now);
        call = next;
        timers.set(next, Exact.add(now, timeoutNanos));
        return next;
    }

    /** The next round is not put off by what is called meanwhile. */
    private void setRound(long now) {
        boolean probing = mode == Mode.ALONE || mode == Mode.CLOSED;
        boolean wanted = !over && (probing || news.holds());
        if (!wanted || probing != roundProbes) {
            timers.remove(round);
        }
        if (wanted && round.place == Timed.NOWHERE) {
            long nanos = probing
                    ? Exact.nanos(store.terms().probe())
                    : Exact.nanos(store.terms().lease()) / 3;
            roundProbes = probing;
            timers.set(round, Exact.add(now, nanos));
        }
    }

    void roundDue() {
        roundDue = true;
    }

    /** Its time is over; who hears of it from outside has to give it up. */
    void overdue(long now, StoreCall late) {
        if (late.givenUp != null) {
            overdue.add(late);
        } else if (ends(late)) {
            overdue.add(late);
            lost(now, late, tooLate());
        }
    }

    IllegalStateException tooLate() {
        return new IllegalStateException(
                "the store did not answer within " + store.terms().timeout());
    }

    /** Whether something is left to do outside. */
    boolean isSome() {
        return !overdue.isEmpty() || division > 0 || (mode != said && !isChanging());
    }

    /** The mode, once after it has changed for good; else null. */
    @Nullable
    Mode takeChangedMode() {
        if (mode == said || isChanging()) {
            return null;
        }
        said = mode;
        return mode;
    }

    /** By how many the limits are to be divided from now on, once; 0 for no change. */
    int takeDivision() {
        int wanted = division;
        division = 0;
        return wanted;
    }

    /** The next call to be given up, once. */
    @Nullable
    StoreCall takeOverdue() {
        return overdue.poll();
    }

    /** A call beside all others, for one key alone, that is given up like any other when it is late. */
    StoreCall aside(long now) {
        StoreCall call = new StoreCall(new StoreDraft(tree, store, settings.lanes()));
        timers.set(call, Exact.add(now, timeoutNanos));
        return call;
    }

    /** It was answered, or nobody wants to know any more. */
    void asideEnded(StoreCall call) {
        timers.remove(call);
    }

    /** Whether this is the call under way; it isn't any more. */
    boolean ends(StoreCall ended) {
        if (call != ended) {
            return false;
        }
        timers.remove(ended);
        call = null;
        return true;
    }

    // --------------------------------------------------------------------------------------------------- answered

    /** Grants what was granted, and lets the others wait for as long as they were told. */
    void answered(long now, StoreCall ended, Reply reply) {
        news.told(ended, reply);
        keys.told(now, ended, reply);
        if (mode == Mode.ALONE) {
            mode = Mode.JOINING;
            division = 1;
        } else if (mode == Mode.CLOSED) {
            mode = Mode.SHARED;
        }
        for (int i = 0; i < ended.groups.size(); i++) {
            verdicts.answered(now, ended, i, reply, disposed);
        }
        stocks.answered(now);
        verdicts.grantAhead(now, asked);
        setRound(now);
    }

    // ------------------------------------------------------------------------------------------------------- lost

    /** The call is lost: what it asked for counts there as spent, and nobody here got it. */
    void lost(long now, StoreCall ended, Throwable why) {
        news.lost(ended);
        stocks.drop(tree.root);
        failure = why;
        over |= disposed;
        if (mode == Mode.SHARED && !over) {
            division = store.terms().processes();
            mode = division > 0 ? Mode.DIVIDING : Mode.CLOSED;
        }
        tree.root.forgetRefusals();
        tree.nodes().forEach(Node::forgetRefusals);
        List<Asked> all = new ArrayList<>();
        ended.groups.forEach(group -> all.addAll(group.asked()));
        all.addAll(takeAsked());
        for (int i = all.size() - 1; i >= 0; i--) {
            Asked one = all.get(i);
            if (one.ticket().stage() == Stage.ASKED) {
                verdicts.putBack(now, one, disposed);
            }
        }
        if (mode == Mode.CLOSED) {
            verdicts.failWaiting(now, tree.root, why);
        }
        setRound(now);
    }

    /** Limits are divided, or whole again. */
    void changed(long now) {
        mode = mode == Mode.DIVIDING ? Mode.ALONE : mode == Mode.JOINING ? Mode.SHARED : mode;
        setRound(now);
        turns.touchAll(now, tree.root);
    }
}
