package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Booking.Phase;
import java.time.Duration;

/** One meter and a time that moves by hand: drives an algorithm without limiter, scheduler or queue. */
final class Books {

    /** In a table: nothing but an event makes room. */
    static final long EVENT = -1;

    private static final long MILLI = 1_000_000;

    private final Limit limit;
    private Meter meter;
    private long now;

    Books(Limit limit) {
        this.limit = limit;
        this.meter = Meter.of(limit, 0, now -> now / 1_000_000);
    }

    Meter meter() {
        return meter;
    }

    Limit limit() {
        return limit;
    }

    long now() {
        return now;
    }

    Books at(long millis) {
        return atNanos(millis * MILLI);
    }

    Books atNanos(long nanos) {
        assert nanos >= now : "time runs forwards";
        now = nanos;
        return this;
    }

    boolean fits(long cost) {
        return meter.canEver(cost) && meter.readyAt(now, cost) <= now;
    }

    /** How long until {@code cost} fits, null if that is not a matter of time. */
    Duration waitFor(long cost) {
        long at = meter.readyAt(now, cost);
        return at == Exact.NEVER ? Duration.ofSeconds(Long.MAX_VALUE) : Duration.ofNanos(at - now);
    }

    long available() {
        return meter.available(now);
    }

    /** Takes what fits, as a bare permit does. */
    Entry take(long cost) {
        return take(cost, Phase.HEADED);
    }

    Entry take(long cost, Phase phase) {
        assertThat(fits(cost)).as("%s fits at %s ns", cost, now).isTrue();
        return new Entry(cost, phase);
    }

    boolean tryTake(long cost) {
        if (!fits(cost)) {
            return false;
        }
        take(cost);
        return true;
    }

    /** The limit is replaced while its books are open. */
    Books change(Limit other) {
        Meter next = Meter.of(other, now, time -> time / 1_000_000);
        next.adopt(now, meter);
        meter = next;
        return this;
    }

    /** Rows of {at ms, ask, expected wait ms}; what needn't wait is taken. */
    void follow(long[][] rows) {
        for (long[] row : rows) {
            at(row[0]);
            long ready = meter.readyAt(now, row[1]);
            long wait = ready == Exact.NEVER ? EVENT : ready - now;
            assertThat(wait)
                    .as("wait in ns for %s at %s ms", row[1], row[0])
                    .isEqualTo(row[2] == EVENT ? EVENT : row[2] * MILLI);
            if (wait == 0) {
                take(row[1]);
            }
        }
    }

    /** A permit's entry, moved and corrected as the admission does it. */
    final class Entry extends Booking {

        private long cost;

        private Entry(long cost, Phase first) {
            this.cost = cost;
            phase = first;
            at = now;
            sentAt = now;
            meter.take(now, cost, first);
        }

        Entry sent() {
            move(Phase.SENT);
            sentAt = now;
            return this;
        }

        Entry head() {
            move(Phase.HEADED);
            return this;
        }

        /** Without a head. */
        Entry end() {
            move(Phase.ENDED);
            meter.release(cost);
            return this;
        }

        private void move(Phase to) {
            meter.moved(now, cost, phase, at, sentAt, to);
            if (to == Phase.ENDED && phase == Phase.UNSENT) {
                sentAt = now;
            }
            phase = to;
            at = now;
        }

        Entry settle(long actual) {
            long delta = limit.counted(actual - cost);
            meter.settle(now, delta, this);
            cost += delta;
            return this;
        }

        void release() {
            meter.release(cost);
        }

        void refund() {
            meter.refund(now, cost, this);
            meter.release(cost);
        }
    }
}
