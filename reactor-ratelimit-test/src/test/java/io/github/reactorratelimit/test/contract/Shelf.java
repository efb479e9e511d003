package io.github.reactorratelimit.test.contract;

import io.github.reactorratelimit.LimitStore.Books;
import io.github.reactorratelimit.LimitStore.Kind;
import io.github.reactorratelimit.test.contract.MapStore.Fault;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One limit's books of a {@link MapStore}: what is taken until somebody says otherwise. */
class Shelf {

    final Books books;
    private final Fault fault;
    /** By whom, where that matters. */
    private final Map<Object, Long> used = new HashMap<>();

    long now;

    Shelf(Books books, Fault fault, long now) {
        this.books = books;
        this.fault = fault;
        this.now = now;
    }

    static Shelf of(Books books, Fault fault, long now) {
        return switch (books.kind()) {
            case WINDOW -> new Window(books, fault, now);
            case BUCKET -> new Bucket(books, fault, now);
            case FLIGHT, TOTAL -> new Shelf(books, fault, now);
            case QUOTA -> throw new IllegalArgumentException("nobody learns here: " + books);
        };
    }

    final boolean errs(Fault one) {
        return fault == one;
    }

    long permits() {
        return books.permits() + (errs(Fault.GIVES_ONE_MORE) ? 1 : 0) - (errs(Fault.GIVES_ONE_LESS) ? 1 : 0);
    }

    long left() {
        return permits() - used.values().stream().mapToLong(Long::longValue).sum();
    }

    boolean fits(long cost) {
        boolean refilled = errs(Fault.REFILLS_BUDGETS) && now > 100L * 86_400_000_000_000L;
        return cost <= (refilled && books.kind() == Kind.TOTAL ? permits() : left());
    }

    long waitFor(long cost) {
        return -1;
    }

    long full() {
        return left() == permits() ? 0 : -1;
    }

    void take(Object process, long cost, long from) {
        used.merge(process, cost, Long::sum);
    }

    void correct(long delta, long from) {
        if (books.kind() == Kind.TOTAL) { // What is in flight is told as a whole.
            used.merge(this, delta, Long::sum);
        }
    }

    void hold(Object process, long held) {
        used.put(process, held);
    }

    private static final class Window extends Shelf {

        private final List<long[]> entries = new ArrayList<>();

        Window(Books books, Fault fault, long now) {
            super(books, fault, now);
        }

        private long span() {
            return errs(Fault.FORGETS_EARLY) ? books.spanNanos() / 10 * 9 : books.spanNanos();
        }

        private long till(long[] entry) {
            return entry[0] + span();
        }

        private long usedAt(long at) {
            return entries.stream()
                    .filter(entry -> till(entry) > at)
                    .mapToLong(entry -> entry[1])
                    .sum();
        }

        @Override
        long left() {
            return permits() - usedAt(now);
        }

        @Override
        long waitFor(long cost) {
            return entries.stream()
                    .mapToLong(this::till)
                    .filter(at -> at > now && usedAt(at) + cost <= permits())
                    .map(at -> at - now)
                    .min()
                    .orElse(-1);
        }

        @Override
        long full() {
            return entries.stream()
                    .mapToLong(entry -> entry[1] > 0 ? Math.max(0, till(entry) - now) : 0)
                    .max()
                    .orElse(0);
        }

        @Override
        void take(Object process, long cost, long from) {
            entries.removeIf(entry -> till(entry) <= now);
            entries.add(new long[] {from, cost});
        }

        @Override
        void correct(long delta, long from) {
            entries.add(new long[] {from, delta});
        }
    }

    private static final class Bucket extends Shelf {

        private final BigInteger rate;
        private final BigInteger each;
        private final BigInteger capacity;
        /** What is missing, in parts of a permit of which each nanosecond refills {@code rate}. */
        private BigInteger missing;

        private long at;

        Bucket(Books books, Fault fault, long now) {
            super(books, fault, now);
            at = now;
            long faster = errs(Fault.REFILLS_TWICE_AS_FAST) ? 2 : 1;
            long slower = errs(Fault.REFILLS_HALF_AS_FAST) ? 2 : 1;
            rate = BigInteger.valueOf(books.ratePermits() * faster);
            each = BigInteger.valueOf(books.rateNanos() * slower);
            capacity = each.multiply(BigInteger.valueOf(permits()));
            long there = books.initial() + permits() - books.permits();
            missing = capacity.subtract(
                    each.multiply(BigInteger.valueOf(errs(Fault.STARTS_HALF_FULL) ? (there + 1) / 2 : there)));
        }

        private BigInteger parts(long cost) {
            return each.multiply(BigInteger.valueOf(cost));
        }

        private BigInteger missing() {
            missing = missing.subtract(rate.multiply(BigInteger.valueOf(now - at)))
                    .max(BigInteger.ZERO);
            at = now;
            return missing;
        }

        private long nanosFor(BigInteger refilled) {
            return refilled.add(rate)
                    .subtract(BigInteger.ONE)
                    .divide(rate)
                    .min(BigInteger.valueOf(Long.MAX_VALUE))
                    .max(BigInteger.ZERO)
                    .longValueExact();
        }

        private boolean spaces() {
            return !errs(Fault.SPACES_NOTHING);
        }

        @Override
        long left() {
            return spaces() ? capacity.subtract(missing()).divide(each).longValueExact() : 1_000;
        }

        @Override
        boolean fits(long cost) {
            return waitFor(cost) == 0;
        }

        @Override
        long waitFor(long cost) {
            if (!spaces()) {
                return 0;
            }
            if (cost > permits() && !books.borrows()) {
                return -1;
            }
            return nanosFor(missing().add(parts(Math.min(cost, permits()))).subtract(capacity));
        }

        @Override
        long full() {
            return nanosFor(missing());
        }

        @Override
        void take(Object process, long cost, long from) {
            missing = missing().add(parts(cost));
        }

        @Override
        void correct(long delta, long from) {
            missing = missing().add(parts(delta)).max(BigInteger.ZERO);
        }
    }
}
