package io.github.reactorratelimit;

/** At most n unfinished: only a release makes room. */
final class InFlightMeter extends Meter {

    private final long permits;
    private long held;

    InFlightMeter(Limit limit) {
        super(limit);
        this.permits = limit.permits();
    }

    @Override
    long readyAt(long now, long cost) {
        return cost == 0 || cost <= permits - held ? now : Exact.NEVER;
    }

    @Override
    long expectedAt(long now, long ahead, long cost) {
        return now; // How long the calls in flight will last is anybody's guess.
    }

    @Override
    void take(long now, long cost, Booking.Phase phase) {
        held += cost;
    }

    @Override
    void settle(long now, long delta, Booking booking) {
        // What a call turned out to cost doesn't change that it is one call in flight.
    }

    @Override
    void refund(long now, long cost, Booking booking) {
        // release() gives it back, used or not.
    }

    @Override
    void release(long cost) {
        held -= cost;
        assert held >= 0 : "held " + held;
    }

    long held() {
        return held;
    }

    @Override
    long available(long now) {
        return permits - held;
    }

    @Override
    long fullAt(long now) {
        return held == 0 ? now : Exact.NEVER;
    }

    @Override
    void adopt(long now, Meter old) {
        if (old instanceof InFlightMeter inFlight) {
            held = inFlight.held;
        }
    }

    @Override
    void absorb(long now, Meter other) {
        if (other instanceof InFlightMeter inFlight) {
            held += inFlight.held;
        }
    }

    @Override
    void disown(long now) {
        held = 0;
    }
}
