package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The books of one quota as responses describe it, which several keys may share: no more go than the last
 * {@linkplain LearnedFigure figure} leaves beside what is in flight, until its reset.
 *
 * <pre>
 *            an answer tells what is left, and until when
 *   UNKNOWN ──────────────────────────────────────────────► KNOWN
 *   one at a time asks  ◄────────────────────────────────── remaining − in flight may go
 *                         the reset is over for sure
 * </pre>
 */
final class LearnedMeter extends Meter {

    private final String name;
    private final @Nullable String partition;
    private final long size;
    private final Generations generations;
    private final boolean paced;
    private final LearnedFigure figure;
    private final LearnedShares shares;
    private final LearnedPlaces places = new LearnedPlaces();
    /** Granted since the last reset and not answered yet: how many permits, and what they cost. */
    private long out;

    private long outCost;
    /** Those of whose end nobody has to tell, by their grant, while what is left is unknown. */
    private final Ledger bare = new Ledger(0);

    /** Attempts of all its keys that were granted and not answered yet. */
    private long unanswered;

    private long lastTaken;
    /** Which answer told of it last. */
    long heardIn;

    private final List<Node> members = new ArrayList<>(1);
    /** What to do once no key counts against it any more. */
    private @Nullable Runnable whenLeft;

    LearnedMeter(Quota quota, long nanosPerWindow, Generations generations, boolean paced, Lanes lanes) {
        super(Limit.learned(Math.max(1, Math.max(quota.limit(), quota.remaining())), nanosPerWindow, quota.unit()));
        this.name = quota.name();
        this.partition = quota.partition();
        this.size = quota.limit();
        this.generations = generations;
        this.paced = paced;
        this.since = generations.next();
        this.figure = new LearnedFigure(generations);
        this.shares = new LearnedShares(this, lanes);
    }

    /** What a lane may use of it; null if that is all. */
    @Nullable
    LearnedShare share(int lane) {
        return shares.of(lane);
    }

    /** A further key that counts against it. What is in flight there is noticed, but stands in no books. */
    void join(Node node) {
        int place = members.size();
        while (place > 0 && node.isPlacedBefore(members.get(place - 1))) {
            place--;
        }
        members.add(place, node);
        unanswered += node.underWay.unanswered();
        places.joined();
        begin();
    }

    void leave(Node node) {
        if (members.remove(node)) {
            unanswered -= node.underWay.unanswered();
        }
        begin();
        if (whenLeft != null && members.isEmpty()) {
            whenLeft.run();
        }
    }

    void whenLeft(Runnable then) {
        whenLeft = then;
    }

    /** At one of its keys so many more were granted and are not answered yet. */
    void unanswered(long more) {
        unanswered += more;
        assert unanswered >= 0 : "unanswered " + unanswered;
    }

    /** The keys that count against it, as they came to be known. */
    List<Node> members() {
        return members;
    }

    /** Permits of before stand in these books no more. */
    void begin() {
        since = generations.next();
        out = 0;
        outCost = 0;
        bare.clear();
        shares.begin();
    }

    /** Whether an answer can teach something about it: what is left, and until when. */
    static boolean teaches(Quota quota) {
        return quota.remaining() >= 0 && (quota.reset() != null || quota.window() != null);
    }

    /** Whether these are the books of that quota. One of another size is another one: a host may have several. */
    boolean isOf(Quota quota) {
        return size == quota.limit() && isNamedLike(quota) && Objects.equals(partition, quota.partition());
    }

    /** Whether a quota is this one, or another one under the same name. */
    boolean isNamedLike(Quota quota) {
        return name.equals(quota.name()) && limit.unit().equals(quota.unit());
    }

    boolean isKnown(long now) {
        advance(now);
        return figure.isKnown();
    }

    long latest() {
        return figure.latest();
    }

    /**
     * An answer to a request of this lane and cost.
     *
     * @return whether it was of the window that was known before
     */
    boolean learn(long now, Booking permit, int lane, long cost, Quota quota) {
        advance(now);
        LearnedFigure.Window window = figure.learn(now, permit, quota);
        if (window == LearnedFigure.Window.LATER) {
            bare.clear();
            shares.reset(lane, cost);
        }
        return window == LearnedFigure.Window.SAME;
    }

    String name() {
        return name;
    }

    /** As the server says; -1 if it doesn't. */
    long size() {
        return size;
    }

    /** Whether a store can keep it: it belongs to one key, by a name that can stand in another key's name. */
    boolean isShareable() {
        return partition == null && members.size() == 1 && isPlain(name) && isPlain(limit.unit());
    }

    private static boolean isPlain(String text) {
        return text.length() <= 64
                && text.chars().allMatch(c -> (c < 128 && Character.isLetterOrDigit(c)) || c == '-' || c == '_');
    }

    /** What a store is to be told of it, once; null if nothing. */
    LimitStore.@Nullable Word takeWord(long now, int place) {
        advance(now);
        return figure.takeWord(now, place);
    }

    boolean hasWord() {
        return figure.hasWord();
    }

    /** So much is left by a store's books, which all processes take from, beside what is in flight here. */
    void sharedWith(long now, long left, long nanos) {
        if (!isKnown(now)) {
            bare.clear();
        }
        figure.sharedWith(now, Exact.add(left, underWay()), nanos);
    }

    /**
     * What we count of a quota of requests, what is in flight included, if an answer counts more than that; else -1. To be
     * asked before it is learned, and worth something if it turns out to be of the same window.
     */
    long counted(long now, Quota quota, long cost) {
        advance(now);
        long ours = size - Exact.subtract(figure.remaining(), Exact.add(outCost, cost));
        boolean sure = figure.isKnown() && countsRequests && size > 0 && unanswered == out;
        return sure && size - quota.remaining() > ours ? ours : -1;
    }

    /** An answer came that says nothing: what it cost is used. */
    void unsaid(long now, long cost) {
        advance(now);
        figure.used(cost);
    }

    private void advance(long now) {
        if (figure.ends(now)) {
            begin();
            shares.reset(0, 0);
        }
        while (bare.size() > 0 && now - bare.time(0) >= Ramp.LEASE_NANOS) {
            bare.removeFirst();
        }
    }

    /** Until when nothing is left by the server's last word; in the past if something is. */
    long emptyUntil(long now) {
        return isKnown(now) && figure.remaining() <= 0 ? figure.latest() : Long.MIN_VALUE;
    }

    @Override
    boolean canEver(long cost) {
        return true; // A size that was only heard of forbids nothing.
    }

    /** All its keys are placed; whether that may make a difference to any but the one where something changed. */
    boolean placeAll(long now) {
        boolean anew = isUnlikePlaced(now);
        places.all(figure.isKnown(), untilMore(), left());
        shares.placeAll();
        return anew;
    }

    /** One of its keys is placed, and the others are not. */
    void placeOne(long now) {
        places.one(isUnlikePlaced(now));
    }

    private boolean isUnlikePlaced(long now) {
        advance(now);
        boolean known = figure.isKnown();
        return paced || places.isUnlike(known, untilMore(), left()) || (known && shares.isUnlikePlaced());
    }

    /** Whether the one or the other left makes a difference to anybody. */
    boolean isUnlike(long one, long other) {
        return places.isUnlike(one, other);
    }

    /** When those can go who cannot go now. */
    private long untilMore() {
        return figure.isKnown()
                ? figure.latest()
                : out > 0 ? Exact.NEVER : bare.size() > 0 ? bare.time(0) : Long.MIN_VALUE;
    }

    @Override
    long readyAt(long now, long cost) {
        advance(now);
        places.asked(cost);
        if (!figure.isKnown()) {
            return asksAt(now);
        }
        long left = left();
        long latest = figure.latest();
        if (left < Math.max(1, cost)) {
            return latest;
        }
        return paced ? Math.max(now, lastTaken + (latest - lastTaken) / (left + 1)) : now;
    }

    /** When the next one may ask what is left. */
    private long asksAt(long now) {
        return out > 0 ? Exact.NEVER : bare.size() > 0 ? bare.time(0) + Ramp.LEASE_NANOS : now;
    }

    /** What is left beside what is in flight. */
    private long left() {
        return Exact.subtract(figure.remaining(), underWay());
    }

    /** What is in flight costs. Of what was granted before these books were opened, each is taken for one. */
    private long underWay() {
        return Exact.add(outCost, unanswered - out);
    }

    @Override
    long expectedAt(long now, long ahead, long cost) {
        advance(now);
        return !figure.isKnown() || Exact.add(ahead, Math.max(1, cost)) <= left() ? now : figure.latest();
    }

    @Override
    void take(long now, long cost, Booking.Phase phase) {
        advance(now);
        lastTaken = now;
        if (phase != Booking.Phase.HEADED) {
            out++;
            outCost = Exact.add(outCost, cost);
        } else if (figure.isKnown()) {
            figure.used(cost);
        } else {
            bare.append(now, 1);
        }
    }

    @Override
    void moved(long now, long cost, Booking.Phase from, long since, long sentAt, Booking.Phase to) {
        if (from == Booking.Phase.HEADED || to == Booking.Phase.SENT) {
            return;
        }
        out--;
        outCost = Exact.subtract(outCost, cost);
        if (to == Booking.Phase.ENDED) {
            figure.used(cost);
        }
    }

    @Override
    void settle(long now, long delta, Booking booking) {
        if (booking.phase == Booking.Phase.UNSENT || booking.phase == Booking.Phase.SENT) {
            outCost = Exact.add(outCost, delta);
        }
    }

    @Override
    void refund(long now, long cost, Booking booking) {
        if (booking.phase != Booking.Phase.HEADED) {
            out--;
            outCost = Exact.subtract(outCost, cost);
        }
    }

    /** A permit of whose end nobody has to tell was never used; its phase is that of one that was answered. */
    void unused(long now, long cost, Booking bare) {
        advance(now);
        figure.unused(cost, bare);
    }

    /** Whether a permit was granted in the window that is known. */
    boolean isOfThisWindow(Booking permit) {
        return figure.isOfThisWindow(permit);
    }

    /** A permit ended, whoever told. */
    void ended(Booking booking) {
        if (booking.phase == Booking.Phase.HEADED) {
            bare.adjust(booking.at, -1);
        }
    }

    @Override
    long available(long now) {
        advance(now);
        return figure.isKnown() ? left() : out > 0 || bare.size() > 0 ? 0 : 1;
    }

    @Override
    long fullAt(long now) {
        advance(now);
        return figure.isKnown() ? figure.latest() : asksAt(now);
    }

    @Override
    void adopt(long now, Meter old) {}

    @Override
    void absorb(long now, Meter other) {}
}
