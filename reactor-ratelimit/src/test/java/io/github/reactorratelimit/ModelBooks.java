package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** The books of one limit of one key: who was granted what, and nothing else; every answer is a scan over that. */
abstract class ModelBooks {

    final Limit limit;
    /** The running number of when they were opened: permits of before don't stand in them. */
    long since;

    ModelBooks(Limit limit) {
        this.limit = limit;
    }

    static ModelBooks of(Limit limit, long now, long count, @Nullable ModelBooks before) {
        ModelBooks books = of(limit, now, before);
        books.since = before == null ? count : before.since;
        return books;
    }

    private static ModelBooks of(Limit limit, long now, @Nullable ModelBooks before) {
        return switch (limit.kind()) {
            case WINDOW -> new Window(limit, (Window) before, now);
            case BUCKET ->
                new Bucket(limit, now, limit.initialPermits(), before == null ? null : ((Bucket) before).level);
            case IN_FLIGHT -> new InFlight(limit, (InFlight) before);
            case TOTAL -> new Total(limit, (Total) before);
            case CALENDAR, LEARNED -> throw new IllegalArgumentException("nobody configures that: " + limit);
        };
    }

    /** Whether a cost can ever fit. */
    boolean canEver(long cost) {
        return cost <= limit.permits();
    }

    /** When a cost fits; {@code NEVER} if that is not a matter of time. */
    abstract long readyAt(long now, long cost);

    /** When it fits at the earliest behind others who cost {@code ahead}. */
    long expectedAt(long now, long ahead, long cost) {
        return now;
    }

    abstract void take(long now, ModelDemand demand, long cost);

    /** What a cost that turned out to be another one is counted with: no garbage is taken for a figure. */
    final long counted(long asked, long actual) {
        long most = limit.kind() == Limit.Kind.BUCKET ? 100 * limit.permits() : 1L << 50;
        return actual - asked > most ? asked + most : actual;
    }

    /** The cost of a permit turned out to be another one. */
    abstract void correct(long now, ModelDemand demand, long delta);

    /** The attempt of a permit ended. */
    void ended(ModelDemand demand) {}

    abstract long available(long now);

    /** Nothing accrues until then. */
    void standStill(long now, long until) {}

    /** Forgets what no longer counts, for good. */
    void forget(long now) {}

    /** Counts each permit until one span after the latest instant at which the server can have seen it. */
    static final class Window extends ModelBooks {

        private final List<Entry> entries = new ArrayList<>();
        private final long span;
        private final @Nullable Level spacing;

        Window(Limit limit, @Nullable Window before, long now) {
            super(limit);
            this.span = limit.spanNanos() + Math.max(1_000_000, limit.spanNanos() / 1_000);
            if (before != null) {
                before.entries.forEach(entry -> entries.add(new Entry(entry.demand, entry.cost)));
            }
            forget(now);
            this.spacing = limit.burstPermits() == 0
                    ? null
                    : new Level(limit, now, limit.burstPermits(), before == null ? null : before.spacing);
        }

        private long countsUntil(Entry entry) {
            return Exact.add(entry.demand.latestSeen(limit.isStrict()), span);
        }

        @Override
        void forget(long now) {
            entries.removeIf(entry -> countsUntil(entry) <= now);
        }

        /** What counts still at {@code at}. */
        private long counted(long at) {
            return entries.stream()
                    .filter(entry -> countsUntil(entry) > at)
                    .mapToLong(entry -> entry.cost)
                    .sum();
        }

        /** Whether what is told of this very limit is no more than what was granted here. */
        boolean explains(long now, Quota quota) {
            boolean ours = limit.unit().equals(Limit.REQUESTS) && quota.unit().equals(Limit.REQUESTS);
            Duration window = quota.window();
            Duration reset = quota.reset();
            boolean asLong = window != null
                    ? window.equals(limit.declaredPeriod())
                    : reset == null || reset.compareTo(limit.declaredPeriod().plusSeconds(1)) <= 0;
            long used = quota.used() >= 0 ? quota.used() : quota.limit() - quota.remaining();
            return ours && asLong && quota.limit() == limit.declaredPermits() && used <= counted(now);
        }

        private long windowReadyAt(long now, long cost) {
            TreeSet<Long> instants = new TreeSet<>();
            instants.add(now);
            entries.forEach(entry -> instants.add(countsUntil(entry)));
            for (long at : instants) {
                if (at != Exact.NEVER && counted(at) + cost <= limit.permits()) {
                    return at;
                }
            }
            return Exact.NEVER;
        }

        @Override
        long readyAt(long now, long cost) {
            long at = cost == 0 ? now : windowReadyAt(now, cost);
            return spacing == null || cost == 0 ? at : Math.max(at, spacing.readyAt(now, cost));
        }

        /** Every whole window's worth of what stands before costs a span. */
        @Override
        long expectedAt(long now, long ahead, long cost) {
            long wholeWindows = (ahead + cost - 1) / limit.permits();
            long first = readyAt(now, ahead + cost - wholeWindows * limit.permits());
            long soonest = first == Exact.NEVER ? now + span : first;
            long at = soonest + wholeWindows * span;
            return spacing == null ? at : Math.max(at, spacing.expectedAt(now, ahead, cost));
        }

        @Override
        void take(long now, ModelDemand demand, long cost) {
            entries.add(new Entry(demand, cost));
            if (spacing != null) {
                spacing.add(now, -cost);
            }
        }

        /** What no longer counts isn't corrected. */
        @Override
        void correct(long now, ModelDemand demand, long delta) {
            if (Exact.add(demand.latestSeen(limit.isStrict()), span) <= now) {
                return;
            }
            List<Entry> own =
                    entries.stream().filter(entry -> entry.demand == demand).toList();
            own.forEach(entry -> entry.cost += delta);
            if (own.isEmpty() && delta > 0) {
                entries.add(new Entry(demand, delta));
            }
            if (spacing != null) {
                spacing.add(now, -Math.min(delta, 100 * limit.permits()));
            }
        }

        @Override
        long available(long now) {
            long left = limit.permits() - counted(now);
            return spacing == null ? left : Math.min(left, spacing.available(now));
        }

        @Override
        void standStill(long now, long until) {
            if (spacing != null) {
                spacing.standStill(now, until);
            }
        }

        private static final class Entry {

            private final ModelDemand demand;
            private long cost;

            private Entry(ModelDemand demand, long cost) {
                this.demand = demand;
                this.cost = cost;
            }
        }
    }

    /** The classic bucket. */
    static final class Bucket extends ModelBooks {

        private final Level level;

        Bucket(Limit limit, long now, long initial, @Nullable Level before) {
            super(limit);
            this.level = new Level(limit, now, initial, before);
        }

        @Override
        boolean canEver(long cost) {
            return limit.mayBorrow() || super.canEver(cost);
        }

        @Override
        long readyAt(long now, long cost) {
            return cost == 0 ? now : level.readyAt(now, cost);
        }

        @Override
        long expectedAt(long now, long ahead, long cost) {
            return level.expectedAt(now, ahead, cost);
        }

        @Override
        void take(long now, ModelDemand demand, long cost) {
            level.add(now, -cost);
        }

        @Override
        void correct(long now, ModelDemand demand, long delta) {
            if (delta > 0 || !level.wasFullAfter(now, demand.takenAt())) {
                level.add(now, -delta);
            }
        }

        @Override
        long available(long now) {
            return level.available(now);
        }

        @Override
        void standStill(long now, long until) {
            level.standStill(now, until);
        }
    }

    /** A level that rises evenly up to a capacity, as an exact fraction: whole numbers of 1/{@code parts} permit. */
    private static final class Level {

        private final BigInteger perNano;
        private final BigInteger parts;
        private final BigInteger capacity;
        private BigInteger level;
        /** All instants at which somebody looked and it was full. */
        private final List<Long> full = new ArrayList<>();
        /** The level is that of this instant; it lies ahead while nothing accrues. */
        private long at;

        Level(Limit limit, long now, long initial, @Nullable Level before) {
            Pace rate = limit.pace();
            this.perNano = BigInteger.valueOf(rate.permits);
            this.parts = BigInteger.valueOf(rate.nanos);
            this.capacity = BigInteger.valueOf(limit.burstPermits()).multiply(parts);
            this.at = now;
            this.level = BigInteger.valueOf(initial).multiply(parts);
            if (before != null) {
                before.rise(now);
                full.addAll(before.full);
                this.at = before.at;
                // Goes on from what was there; what it lacked is rounded up.
                BigInteger lacked = ceil(before.capacity.subtract(before.level).multiply(parts), before.parts);
                BigInteger whole = before.capacity.divide(before.parts).multiply(parts);
                this.level = whole.subtract(lacked).min(capacity);
            }
        }

        private void rise(long now) {
            if (now > at) {
                level = level.add(perNano.multiply(BigInteger.valueOf(now - at)))
                        .min(capacity);
                at = now;
            }
            if (level.equals(capacity)) {
                full.add(now);
            }
        }

        boolean wasFullAfter(long now, long since) {
            rise(now);
            return full.stream().anyMatch(instant -> instant > since);
        }

        void add(long now, long permits) {
            rise(now);
            level = level.add(BigInteger.valueOf(permits).multiply(parts)).min(capacity);
        }

        /** What is heavier than the capacity waits until it is full. */
        long readyAt(long now, long cost) {
            rise(now);
            BigInteger missing =
                    BigInteger.valueOf(cost).multiply(parts).min(capacity).subtract(level);
            return at + ceil(missing.max(BigInteger.ZERO), perNano).longValueExact();
        }

        /** What is ahead first, and what of that is more than a full level takes its time at the rate. */
        long expectedAt(long now, long ahead, long cost) {
            BigInteger total = BigInteger.valueOf(cost)
                    .multiply(parts)
                    .min(capacity)
                    .add(BigInteger.valueOf(ahead).multiply(parts));
            BigInteger beyond = total.subtract(capacity).max(BigInteger.ZERO);
            long first = readyAt(now, total.min(capacity).divide(parts).longValueExact());
            return first + beyond.divide(perNano).longValueExact();
        }

        long available(long now) {
            rise(now);
            BigInteger[] whole = level.divideAndRemainder(parts);
            return whole[0].longValueExact() - (whole[1].signum() < 0 ? 1 : 0);
        }

        void standStill(long now, long until) {
            rise(now);
            at = until;
        }

        private static BigInteger ceil(BigInteger a, BigInteger b) {
            BigInteger[] parts = a.divideAndRemainder(b);
            return parts[1].signum() > 0 ? parts[0].add(BigInteger.ONE) : parts[0];
        }
    }

    /** Counts those that have not ended. */
    static final class InFlight extends ModelBooks {

        private final List<ModelDemand> running = new ArrayList<>();

        InFlight(Limit limit, @Nullable InFlight before) {
            super(limit);
            if (before != null) {
                running.addAll(before.running);
            }
        }

        @Override
        long readyAt(long now, long cost) {
            return cost == 0 || cost <= available(now) ? now : Exact.NEVER;
        }

        @Override
        void take(long now, ModelDemand demand, long cost) {
            running.add(demand);
        }

        @Override
        void correct(long now, ModelDemand demand, long delta) {}

        @Override
        void ended(ModelDemand demand) {
            running.remove(demand);
        }

        @Override
        long available(long now) {
            return limit.permits()
                    - running.stream().mapToLong(demand -> demand.cost(limit)).sum();
        }
    }

    /** Counts everything, for ever. */
    static final class Total extends ModelBooks {

        private long used;

        Total(Limit limit, @Nullable Total before) {
            super(limit);
            used = before == null ? 0 : before.used;
        }

        @Override
        boolean canEver(long cost) {
            return cost == 0 || cost <= available(0);
        }

        @Override
        long readyAt(long now, long cost) {
            return canEver(cost) ? now : Exact.NEVER;
        }

        @Override
        void take(long now, ModelDemand demand, long cost) {
            used += cost;
        }

        @Override
        void correct(long now, ModelDemand demand, long delta) {
            used += delta;
        }

        @Override
        long available(long now) {
            return limit.permits() - used;
        }
    }
}
