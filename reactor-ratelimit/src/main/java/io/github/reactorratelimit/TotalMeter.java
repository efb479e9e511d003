package io.github.reactorratelimit;

/** A budget that never refills. */
final class TotalMeter extends Meter {

    private final long permits;
    private long used;

    TotalMeter(Limit limit) {
        super(limit);
        this.permits = limit.permits();
    }

    @Override
    boolean canEver(long cost) {
        return cost == 0 || cost <= permits - used;
    }

    @Override
    long readyAt(long now, long cost) {
        return canEver(cost) ? now : Exact.NEVER;
    }

    @Override
    long expectedAt(long now, long ahead, long cost) {
        return now;
    }

    @Override
    void take(long now, long cost, Booking.Phase phase) {
        used = Exact.add(used, cost);
    }

    @Override
    void settle(long now, long delta, Booking booking) {
        used = Math.max(0, Exact.add(used, delta));
    }

    @Override
    void refund(long now, long cost, Booking booking) {
        settle(now, -cost, booking);
    }

    @Override
    long available(long now) {
        return permits - used;
    }

    @Override
    long fullAt(long now) {
        return used == 0 ? now : Exact.NEVER;
    }

    @Override
    void adopt(long now, Meter old) {
        if (old instanceof TotalMeter total) {
            used = total.used;
        }
    }

    @Override
    void absorb(long now, Meter other) {
        if (other instanceof TotalMeter total) {
            used = Exact.add(used, total.used);
        }
    }
}
