package io.github.reactorratelimit;

import io.github.reactorratelimit.Limit.Kind;
import java.time.Duration;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A limit while it is put together, and what is allowed then: which values, and which word for which kind. */
final class LimitDraft {

    final Kind kind;
    final long permits;
    final long periodNanos;
    String unit = Limit.REQUESTS;
    /** How much of the limit is used. */
    Fraction share = Fraction.WHOLE;

    boolean strict;
    /** Window: the GCRA's burst, 0 for none. Bucket: its capacity. */
    long burst;
    /** Bucket: what it holds at the start, -1 for all. */
    long initial = -1;

    boolean borrowing;

    @Nullable
    CalendarPeriod calendar;

    LimitDraft(Kind kind, long permits, long periodNanos) {
        this.kind = kind;
        this.permits = permits;
        this.periodNanos = periodNanos;
    }

    static LimitDraft window(long permits, Duration period) {
        return new LimitDraft(Kind.WINDOW, positive("permits", permits), positive("period", period));
    }

    static LimitDraft bucket(long capacity, long refill, Duration period) {
        LimitDraft draft = new LimitDraft(Kind.BUCKET, positive("refill", refill), positive("period", period));
        draft.burst = positive("capacity", capacity);
        return draft;
    }

    /** One that knows no period. */
    static LimitDraft timeless(Kind kind, String what, long permits) {
        return new LimitDraft(kind, positive(what, permits), 0);
    }

    static LimitDraft calendar(long permits, ChronoUnit unit, ZoneId zone) {
        LimitDraft draft = new LimitDraft(Kind.CALENDAR, positive("permits", permits), Exact.nanos(unit.getDuration()));
        draft.calendar = CalendarPeriod.of(unit, zone);
        return draft;
    }

    LimitDraft with(Consumer<LimitDraft> change) {
        change.accept(this);
        return this;
    }

    void burst(long size) {
        only(Kind.WINDOW, "burst");
        if (size < 1 || size > permits) {
            throw new IllegalArgumentException("burst must be between 1 and " + permits + ", was " + size);
        }
        burst = size;
    }

    void strict() {
        only(Kind.WINDOW, "strict");
        strict = true;
    }

    void startingWith(long held) {
        only(Kind.BUCKET, "startingWith");
        if (held < 0 || held > burst) {
            throw new IllegalArgumentException(
                    "a bucket must start with between 0 and " + burst + " permits, was " + held);
        }
        initial = held;
    }

    void borrowing() {
        only(Kind.BUCKET, "borrowing");
        borrowing = true;
    }

    void use(Fraction part) {
        share = share.times(part);
    }

    /** As {@link #use}. Where no period can be stretched, one permit for each of many would be more than there is. */
    void useOneAtLeast(Fraction part) {
        use(part);
        boolean stretches = kind == Kind.WINDOW || kind == Kind.BUCKET;
        Fraction left = share.partOf(permits);
        if (!stretches && left.isBelowOne()) {
            throw new IllegalArgumentException("headroom and sharing must leave at least one permit, left " + left
                    + " of: " + new Limit(with(draft -> draft.share = Fraction.WHOLE)));
        }
    }

    private void only(Kind wanted, String word) {
        if (kind != wanted) {
            throw new IllegalStateException(word + " belongs to a "
                    + wanted.name().toLowerCase(Locale.ROOT) + " limit, this is: " + new Limit(this));
        }
    }

    static long positive(String what, long value) {
        if (value <= 0) {
            throw new IllegalArgumentException(what + " must be positive, was " + value);
        }
        return value;
    }

    private static long positive(String what, Duration value) {
        Objects.requireNonNull(value, what);
        if (value.isNegative() || value.isZero()) {
            throw new IllegalArgumentException(what + " must be positive, was " + value);
        }
        return Exact.nanos(value);
    }
}
