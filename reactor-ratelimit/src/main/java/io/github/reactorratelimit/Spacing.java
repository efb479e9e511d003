package io.github.reactorratelimit;

import java.math.BigInteger;

/**
 * The generic cell rate algorithm with an exact rational rate: it remembers one instant, the theoretical arrival time of
 * the next permit, as whole nanoseconds and a remainder of 1/{@code permits}.
 */
final class Spacing {

    private final Pace pace;
    private long arrival;
    private long rest;
    /** Permits taken whose time lies beyond the end of time: they do not come back. */
    private long lost;
    /** What a stop shifted the arrival by beyond the end of time; it is what a later start takes back first. */
    private long shiftedBeyond;
    /** When nothing was lacking last, as far as anybody looked: before anything was taken since. */
    private long lastFull;
    /** Nothing accrues until then. */
    private long stillUntil = Long.MIN_VALUE;

    Spacing(Pace pace, long start) {
        this.pace = pace;
        this.arrival = start;
        this.lastFull = start;
    }

    /** When {@code cost} fits; one heavier than the burst when the burst is whole. */
    long readyAt(long now, long cost) {
        long credit = pace.burst - Math.min(cost, pace.burst) - lost;
        if (credit < 0) {
            return Exact.NEVER;
        }
        long early = pace.whole(credit, 0);
        long earlyRest = pace.rest(credit, 0);
        long at = Exact.subtract(arrival, early);
        return Math.max(Math.max(now, stillUntil), rest > earlyRest ? Exact.add(at, 1) : at);
    }

    long expectedAt(long now, long ahead, long cost) {
        long total = Exact.add(ahead, Math.min(cost, pace.burst));
        if (total <= pace.burst) {
            return readyAt(now, total);
        }
        return Exact.add(readyAt(now, pace.burst), pace.whole(total - pace.burst, 0));
    }

    void take(long now, long cost) {
        catchUp(now);
        move(cost);
    }

    void settle(long now, long delta) {
        catchUp(now);
        move(delta);
    }

    /** Whether nothing was lacking at some time after {@code since}: what was taken before that is refilled. */
    boolean wasFullAfter(long now, long since) {
        catchUp(now);
        return lastFull > since;
    }

    /** Later for a positive cost, earlier for a negative one; what is earlier than now is forgotten with the next look. */
    void move(long cost) {
        if (cost >= 0) {
            later(cost);
        } else {
            long found = Math.min(lost, -cost);
            lost -= found;
            earlier(-cost - found);
        }
    }

    private void later(long cost) {
        long fitting = cost;
        long steps = pace.whole(cost, rest);
        if (steps >= Exact.subtract(Exact.NEVER, arrival)) {
            fitting = Math.min(cost, Exact.floorDiv(Exact.NEVER - 1 - arrival, pace.permits, 0, pace.nanos));
            steps = pace.whole(fitting, rest);
            lost = Exact.add(lost, cost - fitting);
        }
        rest = pace.rest(fitting, rest);
        arrival = Exact.add(arrival, steps);
    }

    private void earlier(long cost) {
        arrival = Exact.subtract(arrival, pace.whole(cost, 0));
        rest -= pace.rest(cost, 0);
        if (rest < 0) {
            rest += pace.permits;
            arrival = Exact.subtract(arrival, 1);
        }
    }

    long available(long now) {
        long from = Math.max(now, stillUntil);
        long owed = arrival < from ? 0 : Exact.ceilDiv(Exact.subtract(arrival, from), pace.permits, rest, pace.nanos);
        return Exact.subtract(Exact.subtract(pace.burst, lost), owed);
    }

    long fullAt(long now) {
        return lost > 0 ? Exact.NEVER : Math.max(now, rest > 0 ? Exact.add(arrival, 1) : arrival);
    }

    /** What is there at {@code from} is there at {@code until}, and no more. */
    void stop(long from, long until) {
        catchUp(from);
        long shift = Exact.subtract(until, from);
        if (shift >= 0) {
            long fitting = Math.min(shift, Exact.subtract(Exact.NEVER, arrival));
            shiftedBeyond = Exact.add(shiftedBeyond, shift - fitting);
            arrival = Exact.add(arrival, fitting);
        } else {
            long beyond = Math.min(shiftedBeyond, -shift);
            shiftedBeyond -= beyond;
            arrival = Exact.add(arrival, shift + beyond);
        }
        stillUntil = until;
    }

    /** Takes over what {@code old} lacks now, in permits; a bigger burst starts no fuller, a smaller one is capped. */
    void adopt(long now, Spacing old) {
        old.catchUp(now);
        BigInteger lacking = BigInteger.valueOf(Exact.subtract(old.arrival, now))
                .multiply(BigInteger.valueOf(old.pace.permits))
                .add(BigInteger.valueOf(old.rest));
        BigInteger[] steps = lacking.multiply(BigInteger.valueOf(pace.nanos))
                .divideAndRemainder(BigInteger.valueOf(old.pace.nanos).multiply(BigInteger.valueOf(pace.permits)));
        BigInteger[] part = steps[1].divideAndRemainder(BigInteger.valueOf(old.pace.nanos));
        arrival = steps[0].bitLength() > 63 ? Long.MAX_VALUE : Exact.add(now, steps[0].longValueExact());
        rest = part[0].longValueExact();
        if (part[1].signum() > 0 && ++rest == pace.permits) {
            rest = 0;
            arrival = Exact.add(arrival, 1);
        }
        lost = old.lost;
        lastFull = old.lastFull;
        move(pace.burst - old.pace.burst);
        catchUp(now);
    }

    /** Lacks what {@code other} lacks too; one of another rate spaces for itself. */
    void absorb(long now, Spacing other) {
        boolean same =
                pace.permits == other.pace.permits && pace.nanos == other.pace.nanos && pace.burst == other.pace.burst;
        if (!same) {
            return;
        }
        catchUp(now);
        other.catchUp(now);
        arrival = Exact.add(arrival, Exact.subtract(other.arrival, Math.max(now, other.stillUntil)));
        rest += other.rest;
        if (rest >= pace.permits) {
            rest -= pace.permits;
            arrival = Exact.add(arrival, 1);
        }
        lost = Exact.add(lost, other.lost);
        lastFull = Math.max(lastFull, other.lastFull);
    }

    private void catchUp(long now) {
        long from = Math.max(now, stillUntil);
        if (arrival < from || (arrival == from && rest == 0)) {
            arrival = from;
            rest = 0;
            lastFull = now;
        }
    }
}
