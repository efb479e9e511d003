package io.github.reactorratelimit;

import io.github.reactorratelimit.Booking.Phase;
import java.util.List;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** The books of all limits of a key, or of a lane's share of them: a demand passes if it fits into each. */
final class Meters {

    static final Meters NONE = new Meters(new Meter[0]);

    final Meter[] each;

    private Meters(Meter[] each) {
        this.each = each;
    }

    static Meters of(List<Limit> limits, long now, LongUnaryOperator wall) {
        return new Meters(
                limits.stream().map(limit -> Meter.of(limit, now, wall)).toArray(Meter[]::new));
    }

    static Meters of(Meter[] each) {
        return new Meters(each);
    }

    boolean has(Limit.Kind kind) {
        for (Meter meter : each) {
            if (meter.limit.kind() == kind) {
                return true;
            }
        }
        return false;
    }

    long readyAt(long now, Demand demand) {
        long at = now;
        for (Meter meter : each) {
            at = Math.max(at, meter.readyAt(now, demand.costFor(meter)));
        }
        return at;
    }

    /** A lower bound of {@link #readyAt} behind {@code ahead} requests of the same line. */
    long expectedAt(long now, Demand demand, long ahead) {
        long at = now;
        for (Meter meter : each) {
            long cost = demand.costFor(meter);
            if (cost > 0) {
                at = Math.max(at, meter.expectedAt(now, meter.countsRequests ? ahead : 0, cost));
            }
        }
        return at;
    }

    /** A limit that could never pass this demand, or null. */
    @Nullable
    Limit forbids(Demand demand) {
        for (Meter meter : each) {
            if (!meter.canEver(demand.costFor(meter))) {
                return meter.limit;
            }
        }
        return null;
    }

    /** How often more, {@code most} times at the most, a demand fits now that was let in just before. */
    long fitting(long now, Demand demand, long most) {
        long times = most;
        for (Meter meter : each) {
            long cost = demand.costFor(meter);
            if (cost > 0) {
                times = Math.min(times, meter.available(now) / cost);
            }
        }
        return times;
    }

    /** Takes what a demand costs; of more than one of it at a time all {@linkplain #fitting fit}. */
    void take(long now, Demand demand, Phase phase, long times) {
        for (Meter meter : each) {
            long cost = demand.costFor(meter);
            if (cost > 0) {
                meter.take(now, cost * times, phase);
            }
        }
    }

    void moved(long now, Ticket ticket, Phase to) {
        for (Meter meter : each) {
            if (meter.knows(ticket)) {
                meter.moved(now, ticket.costFor(meter), ticket.phase, ticket.at, ticket.sentAt, to);
            }
        }
    }

    void settle(long now, Ticket ticket, String unit, long delta) {
        for (Meter meter : each) {
            if (meter.knows(ticket) && meter.limit.unit().equals(unit)) {
                meter.settle(now, meter.limit.counted(delta), ticket);
            }
        }
    }

    void refund(long now, Ticket ticket) {
        for (Meter meter : each) {
            if (meter.knows(ticket)) {
                meter.refund(now, ticket.costFor(meter), ticket);
            }
        }
    }

    void release(Ticket ticket) {
        for (Meter meter : each) {
            if (meter.knows(ticket)) {
                meter.release(ticket.demand.costFor(meter));
            }
        }
    }

    /** From {@code from} until {@code until} no credit accrues. */
    void stop(long from, long until) {
        for (Meter meter : each) {
            meter.stop(from, until);
        }
    }

    /** As if nothing had ever been taken. */
    void begin(long now, long generation) {
        for (int i = 0; i < each.length; i++) {
            each[i] = each[i].anew(now);
            each[i].since = generation;
        }
    }

    /** New limits go on from the books of the old ones of their kind and unit, in order. */
    void adopt(long now, Meters before, long generation) {
        boolean[] taken = new boolean[before.each.length];
        for (Meter meter : each) {
            meter.since = generation;
            for (int i = 0; i < taken.length; i++) {
                Limit old = before.each[i].limit;
                if (!taken[i] && old.kind() == meter.limit.kind() && old.unit().equals(meter.limit.unit())) {
                    taken[i] = true;
                    meter.adopt(now, before.each[i]);
                    meter.since = before.each[i].since;
                    break;
                }
            }
        }
    }

    /** The books of two keys that turned out to be one. */
    Meters with(long now, Meters other, long generation) {
        return new Meters(JointBooks.of(now, each, other.each, generation));
    }

    /** Whether nothing would change if they were opened anew; a budget for good is always kept. */
    boolean isFull(long now) {
        for (Meter meter : each) {
            if (meter.limit.kind() == Limit.Kind.TOTAL || meter.fullAt(now) > now) {
                return false;
            }
        }
        return true;
    }
}
