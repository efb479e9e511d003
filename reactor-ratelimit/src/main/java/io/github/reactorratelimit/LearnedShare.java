package io.github.reactorratelimit;

/**
 * One lane's share of a learned quota: what the lane was granted since the quota's last reset. While the quota itself is
 * unknown one at a time asks, whatever its lane.
 */
final class LearnedShare extends Meter {

    private final LearnedMeter quota;
    /** What those cost that are not answered yet. */
    private long out;
    /** What was used in this window. */
    private long used;
    /** What was left when all keys of the quota were placed. */
    private long placedLeft;

    LearnedShare(LearnedMeter quota, Share share) {
        super(quota.limit.laneShare(share));
        this.quota = quota;
    }

    /** The permits of before stand in the quota's books no more; in this window they were used all the same. */
    void begin() {
        used = Exact.add(used, out);
        out = 0;
    }

    /** The quota's window is another one, of which {@code cost} is used. */
    void reset(long cost) {
        used = cost;
    }

    void placeAll() {
        placedLeft = left();
    }

    boolean isUnlikePlaced() {
        return quota.isUnlike(placedLeft, left());
    }

    @Override
    boolean canEver(long cost) {
        return true; // A size that was only heard of forbids nothing.
    }

    /** What is heavier than the share goes once the lane has all of it. */
    @Override
    long readyAt(long now, long cost) {
        return cost == 0 || !quota.isKnown(now) || fits(0, cost) ? now : quota.latest();
    }

    @Override
    long expectedAt(long now, long ahead, long cost) {
        return cost == 0 || !quota.isKnown(now) || fits(ahead, cost) ? now : quota.latest();
    }

    private boolean fits(long ahead, long cost) {
        return Exact.add(ahead, Math.min(cost, limit.permits())) <= left();
    }

    private long left() {
        return Exact.subtract(limit.permits(), Exact.add(out, used));
    }

    @Override
    void take(long now, long cost, Booking.Phase phase) {
        if (phase == Booking.Phase.HEADED) {
            used = Exact.add(used, cost);
        } else {
            out = Exact.add(out, cost);
        }
    }

    @Override
    void moved(long now, long cost, Booking.Phase from, long since, long sentAt, Booking.Phase to) {
        if (from != Booking.Phase.HEADED && to != Booking.Phase.SENT) {
            out = Exact.subtract(out, cost);
            used = Exact.add(used, cost);
        }
    }

    @Override
    void settle(long now, long delta, Booking booking) {
        if (booking.phase == Booking.Phase.UNSENT || booking.phase == Booking.Phase.SENT) {
            out = Exact.add(out, delta);
        }
    }

    @Override
    void refund(long now, long cost, Booking booking) {
        if (booking.phase != Booking.Phase.HEADED) {
            out = Exact.subtract(out, cost);
        }
    }

    void unused(long cost, Booking bare) {
        if (quota.isOfThisWindow(bare)) {
            used = Exact.subtract(used, cost);
        }
    }

    @Override
    long available(long now) {
        return quota.isKnown(now) ? left() : limit.permits();
    }

    @Override
    long fullAt(long now) {
        return quota.isKnown(now) && left() < limit.permits() ? quota.latest() : now;
    }

    @Override
    void adopt(long now, Meter old) {}

    @Override
    void absorb(long now, Meter other) {}
}
