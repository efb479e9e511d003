package io.github.reactorratelimit;

/** The classic token bucket, as a {@link Spacing} whose burst is the capacity. */
final class BucketMeter extends Meter {

    private final Spacing spacing;

    BucketMeter(Limit limit, long now) {
        super(limit);
        this.spacing = new Spacing(limit.pace(), now);
        spacing.move(limit.burstPermits() - limit.initialPermits());
    }

    @Override
    boolean canEver(long cost) {
        return limit.mayBorrow() || super.canEver(cost);
    }

    @Override
    long readyAt(long now, long cost) {
        return cost == 0 ? now : spacing.readyAt(now, cost);
    }

    @Override
    long expectedAt(long now, long ahead, long cost) {
        return spacing.expectedAt(now, ahead, cost);
    }

    @Override
    void take(long now, long cost, Booking.Phase phase) {
        spacing.take(now, cost);
    }

    @Override
    void settle(long now, long delta, Booking booking) {
        if (delta > 0 || !spacing.wasFullAfter(now, booking.countsFrom())) {
            spacing.settle(now, delta);
        }
    }

    @Override
    void refund(long now, long cost, Booking booking) {
        settle(now, -cost, booking);
    }

    @Override
    long available(long now) {
        return spacing.available(now);
    }

    @Override
    long fullAt(long now) {
        return spacing.fullAt(now);
    }

    @Override
    void stop(long from, long until) {
        spacing.stop(from, until);
    }

    @Override
    void adopt(long now, Meter old) {
        if (old instanceof BucketMeter bucket) {
            spacing.adopt(now, bucket.spacing);
        }
    }

    @Override
    void absorb(long now, Meter other) {
        if (other instanceof BucketMeter bucket) {
            spacing.absorb(now, bucket.spacing);
        }
    }
}
