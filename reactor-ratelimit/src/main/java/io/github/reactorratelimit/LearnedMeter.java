package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The books of one quota as responses describe it, which several keys may share: no more go than the last figure leaves beside what is in flight, until
 * its reset.
 *
 * <pre>
 *            an answer tells what is left, and until when
 *   UNKNOWN ──────────────────────────────────────────────► KNOWN
 *   one at a time asks  ◄────────────────────────────────── remaining − in flight may go
 *                         the reset is over for sure
 * </pre>
 *
 * When the reset is, every answer of one window narrows down.
 */
final class LearnedMeter extends Meter {

    private final String name;
    private final @Nullable String partition;
    private final long size;
    private final Generations generations;
    private final boolean paced;
    private boolean known;
    private long remaining;
    private final LearnedReset told = new LearnedReset();
    /** The reset is not before this. */
    private long earliest;
    /** The reset is not after this. */
    private long latest = Long.MIN_VALUE;
    /** Granted since the last reset and not answered yet: how many permits, and what they cost. */
    private long out;

    private long outCost;
    /** Those of whose end nobody has to tell, by their grant, while what is left is unknown. */
    private final Ledger bare = new Ledger(0);

    /** Attempts of all its keys that were granted and not answered yet. */
    private long unanswered;

    private long lastTaken;
    /** The generation when this window came to be known; what was granted before stands in no lane's share of it. */
    private long windowSince;
    /** The generation of the last figure that we reckon from; what was granted before is in it, or was never counted. */
    private long figureSince;
    /** Which answer told of it last. */
    long heardIn;

    /** The server's last word, if a store wasn't told of it yet. */
    private boolean untold;

    private long word;
    private long wordEarliest;

    private final List<Node> members = new ArrayList<>(1);
    /** By what its keys were placed. */
    private boolean placedKnown;

    private long placedUntil;
    private long placedLeft;
    /** One of them was placed by something else. */
    private boolean placedApart = true;
    /** The highest cost that anybody asked for: what is left beyond that changes nothing for anybody. */
    private long most = 1;
    /** What to do once no key counts against it any more. */
    private @Nullable Runnable whenLeft;

    /** Per lane; null for a lane that may use all of it, and altogether where every lane may. */
    private final @Nullable LearnedShare @Nullable [] shares;

    LearnedMeter(Quota quota, long nanosPerWindow, Generations generations, boolean paced, Lanes lanes) {
        super(Limit.learned(Math.max(1, Math.max(quota.limit(), quota.remaining())), nanosPerWindow, quota.unit()));
        this.name = quota.name();
        this.partition = quota.partition();
        this.size = quota.limit();
        this.generations = generations;
        this.paced = paced;
        this.since = generations.next();
        this.shares = shares(lanes);
    }

    private @Nullable LearnedShare @Nullable [] shares(Lanes lanes) {
        @Nullable LearnedShare @Nullable [] parts = null;
        for (int lane = 0; lane < lanes.count(); lane++) {
            if (!lanes.share(lane).isWhole()) {
                parts = parts == null ? new @Nullable LearnedShare[lanes.count()] : parts;
                parts[lane] = new LearnedShare(this, lanes.share(lane));
            }
        }
        return parts;
    }

    /** What a lane may use of it; null if that is all. */
    @Nullable
    LearnedShare share(int lane) {
        return shares == null ? null : shares[lane];
    }

    /** A further key that counts against it. What is in flight there is noticed, but stands in no books. */
    void join(Node node) {
        int place = members.size();
        while (place > 0 && node.isPlacedBefore(members.get(place - 1))) {
            place--;
        }
        members.add(place, node);
        unanswered += node.unanswered;
        placedApart = true;
        begin();
    }

    void leave(Node node) {
        if (members.remove(node)) {
            unanswered -= node.unanswered;
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
        for (int lane = 0; shares != null && lane < shares.length; lane++) {
            LearnedShare share = shares[lane];
            if (share != null) {
                share.begin();
            }
        }
    }

    /** Of the window that begins, so much is used by this lane, and nothing by the others. */
    private void resetShares(int byLane, long cost) {
        for (int lane = 0; shares != null && lane < shares.length; lane++) {
            LearnedShare share = shares[lane];
            if (share != null) {
                share.reset(lane == byLane ? cost : 0);
            }
        }
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
        return known;
    }

    long latest() {
        return latest;
    }

    /**
     * An answer to a request of this lane and cost. Inside one window the lower figure wins, however late its answer comes;
     * a later window replaces it.
     *
     * @return whether it was of the window that was known before
     */
    boolean learn(long now, Booking permit, int lane, long cost, Quota quota) {
        advance(now);
        long sentAt = permit.sentAt;
        long from = LearnedReset.earliest(sentAt, quota);
        long to = told.latest(now, quota);
        boolean laterWindow = from >= latest || (!known && sentAt >= latest);
        boolean same = !laterWindow && known && to > earliest;
        if (same || (laterWindow && to > now)) {
            word = same && untold ? Math.min(word, quota.remaining()) : quota.remaining();
            wordEarliest = from;
            untold = true;
        }
        if (same) {
            figureSince = quota.remaining() <= remaining ? generations.next() : figureSince;
            remaining = Math.min(remaining, quota.remaining());
            earliest = Math.max(earliest, from);
            latest = Math.min(latest, to);
        } else if (laterWindow && to > now) {
            known = true;
            windowSince = generations.next();
            figureSince = windowSince;
            remaining = quota.remaining();
            earliest = from;
            latest = to;
            bare.clear();
            resetShares(lane, cost);
        }
        return same;
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
        boolean told = untold && isKnown(now);
        untold = false;
        return told ? new LimitStore.Word(place, word, Math.max(0, wordEarliest - now), latest - now) : null;
    }

    boolean hasWord() {
        return untold;
    }

    /** So much is left by a store's books, which all processes take from, beside what is in flight here. */
    void sharedWith(long now, long left, long nanos) {
        if (!isKnown(now)) {
            known = true;
            windowSince = generations.next();
            earliest = now;
            bare.clear();
        }
        figureSince = generations.next();
        latest = Exact.add(now, nanos);
        remaining = Exact.add(left, Exact.add(outCost, unanswered - out));
    }

    /**
     * What we count of a quota of requests, what is in flight included, if an answer counts more than that; else -1. To be
     * asked before it is learned, and worth something if it turns out to be of the same window.
     */
    long counted(long now, Quota quota, long cost) {
        advance(now);
        long ours = size - Exact.subtract(remaining, Exact.add(outCost, cost));
        boolean sure = known && countsRequests && size > 0 && unanswered == out;
        return sure && size - quota.remaining() > ours ? ours : -1;
    }

    /** An answer came that says nothing: what it cost is used. */
    void unsaid(long now, long cost) {
        advance(now);
        if (known) {
            remaining = Exact.subtract(remaining, cost);
        }
    }

    private void advance(long now) {
        if (known && now >= latest) {
            known = false;
            begin();
            resetShares(0, 0);
        }
        while (bare.size() > 0 && now - bare.time(0) >= Ramp.LEASE_NANOS) {
            bare.removeFirst();
        }
    }

    /** Until when nothing is left by the server's last word; in the past if something is. */
    long emptyUntil(long now) {
        return isKnown(now) && remaining <= 0 ? latest : Long.MIN_VALUE;
    }

    @Override
    boolean canEver(long cost) {
        return true; // A size that was only heard of forbids nothing.
    }

    /** All its keys are placed; whether that may make a difference to any but the one where something changed. */
    boolean placeAll(long now) {
        boolean anew = isUnlikePlaced(now);
        placedApart = false;
        placedKnown = known;
        placedUntil = untilMore();
        placedLeft = left();
        for (int lane = 0; shares != null && lane < shares.length; lane++) {
            LearnedShare share = shares[lane];
            if (share != null) {
                share.placeAll();
            }
        }
        return anew;
    }

    /** One of its keys is placed, and the others are not. */
    void placeOne(long now) {
        placedApart = isUnlikePlaced(now);
    }

    private boolean isUnlikePlaced(long now) {
        advance(now);
        boolean unlike = placedApart || paced || placedKnown != known || placedUntil != untilMore();
        if (unlike || !known) {
            return unlike;
        }
        unlike = isUnlike(placedLeft, left());
        for (int lane = 0; shares != null && lane < shares.length; lane++) {
            LearnedShare share = shares[lane];
            unlike |= share != null && share.isUnlikePlaced();
        }
        return unlike;
    }

    /** Whether the one or the other left makes a difference to anybody. */
    boolean isUnlike(long one, long other) {
        return Math.min(one, most) != Math.min(other, most);
    }

    /** When those can go who cannot go now. */
    private long untilMore() {
        return known ? latest : out > 0 ? Exact.NEVER : bare.size() > 0 ? bare.time(0) : Long.MIN_VALUE;
    }

    @Override
    long readyAt(long now, long cost) {
        advance(now);
        if (cost > most) {
            most = cost;
            placedApart = true;
        }
        if (!known) {
            return out > 0 ? Exact.NEVER : bare.size() > 0 ? bare.time(0) + Ramp.LEASE_NANOS : now;
        }
        long left = left();
        if (left < Math.max(1, cost)) {
            return latest;
        }
        return paced ? Math.max(now, lastTaken + (latest - lastTaken) / (left + 1)) : now;
    }

    /** What is left beside what is in flight. Of what was granted before these books were opened, each is taken for one. */
    private long left() {
        return Exact.subtract(remaining, Exact.add(outCost, unanswered - out));
    }

    @Override
    long expectedAt(long now, long ahead, long cost) {
        advance(now);
        return !known || Exact.add(ahead, cost) <= left() ? now : latest;
    }

    @Override
    void take(long now, long cost, Booking.Phase phase) {
        advance(now);
        lastTaken = now;
        if (phase != Booking.Phase.HEADED) {
            out++;
            outCost = Exact.add(outCost, cost);
        } else if (known) {
            remaining = Exact.subtract(remaining, cost);
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
        if (to == Booking.Phase.ENDED && known) {
            remaining = Exact.subtract(remaining, cost);
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
        if (known && bare.generation >= figureSince) {
            remaining = Exact.add(remaining, cost);
        }
    }

    /** Whether a permit was granted in the window that is known. */
    boolean isOfThisWindow(Booking permit) {
        return permit.generation >= windowSince;
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
        return known ? left() : out > 0 || bare.size() > 0 ? 0 : 1;
    }

    @Override
    long fullAt(long now) {
        advance(now);
        return known ? latest : out > 0 ? Exact.NEVER : bare.size() > 0 ? bare.time(0) + Ramp.LEASE_NANOS : now;
    }

    @Override
    void adopt(long now, Meter old) {}

    @Override
    void absorb(long now, Meter other) {}
}
