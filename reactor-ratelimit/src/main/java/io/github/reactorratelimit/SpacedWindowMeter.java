package io.github.reactorratelimit;

/** A window with a spacing on top: the window keeps the guarantee, the spacing only delays within it. */
final class SpacedWindowMeter extends WindowMeter {

    private final Spacing spacing;

    SpacedWindowMeter(Limit limit) {
        super(limit);
        this.spacing = new Spacing(limit.pace(), 0);
    }

    @Override
    long readyAt(long now, long cost) {
        return cost == 0 ? now : Math.max(super.readyAt(now, cost), spacing.readyAt(now, cost));
    }

    @Override
    long expectedAt(long now, long ahead, long cost) {
        return Math.max(super.expectedAt(now, ahead, cost), spacing.expectedAt(now, ahead, cost));
    }

    @Override
    void take(long now, long cost, Booking.Phase phase) {
        super.take(now, cost, phase);
        spacing.take(now, cost);
    }

    @Override
    void settle(long now, long delta, Booking booking) {
        if (!isOver(now, booking)) {
            super.settle(now, delta, booking);
            spacing.settle(now, limit.spaced(delta));
        }
    }

    @Override
    long available(long now) {
        return Math.min(super.available(now), spacing.available(now));
    }

    @Override
    long fullAt(long now) {
        return Math.max(super.fullAt(now), spacing.fullAt(now));
    }

    @Override
    void stop(long from, long until) {
        spacing.stop(from, until);
    }

    @Override
    void adopt(long now, Meter old) {
        super.adopt(now, old);
        if (old instanceof SpacedWindowMeter spaced) {
            spacing.adopt(now, spaced.spacing);
        }
    }

    @Override
    void absorb(long now, Meter other) {
        super.absorb(now, other);
        if (other instanceof SpacedWindowMeter spaced) {
            spacing.absorb(now, spaced.spacing);
        }
    }
}
