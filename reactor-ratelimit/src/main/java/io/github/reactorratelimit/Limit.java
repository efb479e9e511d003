package io.github.reactorratelimit;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * So many permits of one unit per period, or so many in flight. Immutable: every method returns a changed copy, and one
 * limit may be used in any number of limiters.
 *
 * <p>{@link #of} is the exact window, the default for "N per period": never more than N in <em>any</em> span of that
 * length, counted so that it holds at the server. A permit counts until one period and a margin of max(1 ms, 1/1000 of
 * the period) after the latest instant at which the server can have seen the call: its response head, or one second after
 * it was sent, whichever is earlier. The margin covers a server clock that runs 1,000 ppm slow. All N go out at once; the
 * price is one round trip per period. What a server counts beyond N is about the share of requests that are under way to it
 * for more than a second: simulated against fixed, aligned and sliding windows, none with narrow, bimodal or drifting
 * latency, 0.65 per 10,000 with lognormal latency (median 80 ms, sigma 0.7), 12 per 10,000 in a Pareto tail (1.5, from
 * 10 ms); {@link #strict} has none. For more than 1,000 permits, ends of calls within 1/1000 of a period of each other
 * count as the last of them, so that a window's memory is bounded; this only ever waits longer.
 *
 * <p>Rates are exact: 7 per 3 s grants over a year what it should. Waits round up, credits round down.
 */
public final class Limit {

    /** The unit of limits and costs that name none. */
    public static final String REQUESTS = "requests";

    /** An overuse of so much blocks whatever it can block. */
    static final long FAR_TOO_MUCH = 1L << 50;

    /** How many times its size one overuse may cost a bucket, or be spaced. */
    private static final long MOST_SPACED = 100;

    enum Kind {
        WINDOW,
        BUCKET,
        IN_FLIGHT,
        TOTAL,
        CALENDAR,
        LEARNED
    }

    private final Kind kind;
    private final long permits;
    private final long periodNanos;
    private final @Nullable CalendarPeriod calendar;
    private final String unit;
    /** How much of the limit is used. */
    private final Fraction share;

    private final boolean strict;
    /** Window: the GCRA's burst, 0 for none. Bucket: its capacity. */
    private final long burst;
    /** Bucket: what it holds at the start, -1 for all. */
    private final long initial;

    private final boolean borrowing;
    /** What is left of permits and period after sharing; asked for at every decision. */
    private final long effectivePermits;

    private final long effectiveNanos;
    /** Reckoned when it is first needed; all keys share it. */
    private @Nullable Pace pace;

    Limit(LimitDraft draft) {
        this.kind = draft.kind;
        this.permits = draft.permits;
        this.periodNanos = draft.periodNanos;
        this.calendar = draft.calendar;
        this.unit = draft.unit;
        this.share = draft.share;
        this.strict = draft.strict;
        this.burst = draft.burst;
        this.initial = draft.initial;
        this.borrowing = draft.borrowing;
        Fraction left = share.partOf(kind == Kind.BUCKET ? burst : permits);
        this.effectivePermits = Math.max(1, left.floor());
        this.effectiveNanos = kind == Kind.WINDOW && left.isBelowOne() ? left.nanosOfOne(periodNanos) : periodNanos;
    }

    private Limit with(Consumer<LimitDraft> change) {
        LimitDraft draft = new LimitDraft(kind, permits, periodNanos);
        draft.calendar = calendar;
        draft.unit = unit;
        draft.share = share;
        draft.strict = strict;
        draft.burst = burst;
        draft.initial = initial;
        draft.borrowing = borrowing;
        return new Limit(draft.with(change));
    }

    /**
     * At most so many permits in any span of one period: the exact window.
     *
     * @param permits how many, positive
     * @param period the length of the span, positive
     * @return the limit
     * @throws IllegalArgumentException if a value is not positive
     */
    public static Limit of(long permits, Duration period) {
        return new Limit(LimitDraft.window(permits, period));
    }

    /**
     * The classic token bucket: it holds at most {@code capacity} permits, is full at the start and gains {@code refill}
     * permits per {@code period}, evenly. It may pass {@code capacity + rate · t} in any span t, so it does not keep
     * "N per period" by itself; {@link #of} does.
     *
     * @param capacity the most it holds, positive
     * @param refill permits gained per period, positive
     * @param period the period, positive
     * @return the limit
     * @throws IllegalArgumentException if a value is not positive
     */
    public static Limit bucket(long capacity, long refill, Duration period) {
        return new Limit(LimitDraft.bucket(capacity, refill, period));
    }

    /**
     * At most so many unfinished calls. The permit belongs to the attempt: it is free again when the attempt ends, also
     * during the backoff between two attempts.
     *
     * @param calls how many, positive
     * @return the limit
     * @throws IllegalArgumentException if the value is not positive
     */
    public static Limit inFlight(long calls) {
        return new Limit(LimitDraft.timeless(Kind.IN_FLIGHT, "calls in flight", calls));
    }

    /**
     * A budget that never refills. A demand that no longer fits fails at once.
     *
     * @param permits how many in all, positive
     * @return the limit
     * @throws IllegalArgumentException if the value is not positive
     */
    public static Limit total(long permits) {
        return new Limit(LimitDraft.timeless(Kind.TOTAL, "permits", permits));
    }

    /**
     * At most so many permits per calendar unit of a time zone, such as a day or a month: for quotas that start anew by the
     * clock on the wall, which is the limiter's scheduler's. Weeks begin on Monday. It opens one second after the turn,
     * and what was granted in the last second before counts on both sides: it may be under way at the turn, and clocks
     * differ. Where they differ by more, use {@link #headroom}. Where that clock is set back over a turn, what was taken in
     * either period counts in both. A limit that replaces one of another unit or zone begins with what was used of that.
     *
     * @param permits how many, positive
     * @param unit one of minutes, hours, days, weeks, months, years
     * @param zone whose calendar
     * @return the limit
     * @throws IllegalArgumentException if the number is not positive or the unit is another one
     */
    public static Limit calendar(long permits, ChronoUnit unit, ZoneId zone) {
        return new Limit(LimitDraft.calendar(
                permits, Objects.requireNonNull(unit, "unit"), Objects.requireNonNull(zone, "zone")));
    }

    /** A quota as responses describe it; a period of zero is not known. */
    static Limit learned(long permits, long nanos, String unit) {
        LimitDraft draft = new LimitDraft(Kind.LEARNED, permits, nanos);
        draft.unit = unit;
        return new Limit(draft);
    }

    /**
     * Lets at most {@code size} permits go out at once and spaces the others evenly, at (N − size + 1) per period. The
     * window underneath stays and keeps the guarantee; this only spaces. A demand heavier than {@code size} waits until
     * the burst is whole and holds up those behind it accordingly.
     *
     * @param size the most at once, between 1 and the permits of this window
     * @return the spaced window
     * @throws IllegalArgumentException if the size is out of range
     * @throws IllegalStateException if this is not a window
     */
    public Limit burst(long size) {
        return with(draft -> draft.burst(size));
    }

    /**
     * Evenly spaced permits, {@link #burst burst(1)}.
     *
     * @return the spaced window
     */
    public Limit smooth() {
        return burst(1);
    }

    /**
     * Counts a call for as long as it is unanswered: the transit time is the attempt timeout, not one second. No latency
     * can then make a server see more than N per period. The price is that a slow answer keeps its permit longer.
     *
     * @return the strict window
     * @throws IllegalStateException if this is not a window
     */
    public Limit strict() {
        return with(LimitDraft::strict);
    }

    /**
     * Leaves a share of the limit unused, for other clients of the same quota and for servers that count otherwise. Read
     * as the exact decimal: 0.2 is 1/5, the usual advice. Permits are rounded down; where fewer than one would be left the
     * period of a window is stretched instead, and a bucket holds one and refills slower. In flight, in all and by the
     * calendar at least one must be left.
     *
     * @param share what to leave, at least 0 and below 1
     * @return the smaller limit
     * @throws IllegalArgumentException if the share is out of range, or leaves less than one permit in flight, in all or by
     *     the calendar
     */
    public Limit headroom(double share) {
        if (!(share >= 0 && share < 1)) {
            throw new IllegalArgumentException("headroom must be at least 0 and below 1, was " + share);
        }
        Fraction left = Fraction.of(BigDecimal.ONE.subtract(BigDecimal.valueOf(share)));
        return with(draft -> draft.useOneAtLeast(left));
    }

    /**
     * Divides the limit evenly between processes that have no common store; rounded as by {@link #headroom}.
     *
     * @param processes how many share it, positive
     * @return one process's part
     * @throws IllegalArgumentException if the number is not positive, or leaves less than one permit in flight, in all or by
     *     the calendar
     */
    public Limit sharedBy(int processes) {
        Fraction part = Fraction.of(1, LimitDraft.positive("processes", processes));
        return with(draft -> draft.useOneAtLeast(part));
    }

    /** As {@link #sharedBy}, for a process that is on its own for a while: it may use one permit at least. */
    Limit part(int processes) {
        return with(draft -> draft.use(Fraction.of(1, processes)));
    }

    /**
     * Counts another unit than requests: tokens, points, bytes. A demand's cost in that unit is what the limit takes; a
     * demand that names no cost in it passes this limit free.
     *
     * @param name the unit
     * @return the limit in that unit
     */
    public Limit unit(String name) {
        Objects.requireNonNull(name, "unit");
        return with(draft -> draft.unit = name);
    }

    /**
     * Says what the bucket holds at the start; full unless said.
     *
     * @param permits between 0 and the capacity
     * @return the bucket
     * @throws IllegalArgumentException if the number is out of range
     * @throws IllegalStateException if this is not a bucket
     */
    public Limit startingWith(long permits) {
        return with(draft -> draft.startingWith(permits));
    }

    /**
     * Grants a demand heavier than the capacity when the bucket is full, and leaves it in debt. Without it such a demand
     * fails at once.
     *
     * @return the bucket
     * @throws IllegalStateException if this is not a bucket
     */
    public Limit borrowing() {
        return with(LimitDraft::borrowing);
    }

    /**
     * What is counted; {@link #REQUESTS} unless said.
     *
     * @return the unit
     */
    public String unit() {
        return unit;
    }

    /**
     * How many permits the limit has, after headroom and sharing: per period for a window, at most for a bucket, in
     * flight, or in all.
     *
     * @return the permits, at least 1
     */
    public long permits() {
        return effectivePermits;
    }

    /**
     * The period, stretched if sharing left less than one permit; of a calendar's unit its mean length; zero for limits
     * without one.
     *
     * @return the period
     */
    public Duration period() {
        return Duration.ofNanos(spanNanos());
    }

    /** The permits before any share is taken off them. */
    long declaredPermits() {
        return permits;
    }

    Duration declaredPeriod() {
        return Duration.ofNanos(periodNanos);
    }

    Kind kind() {
        return kind;
    }

    CalendarPeriod calendar() {
        return Objects.requireNonNull(calendar, "calendar");
    }

    boolean isStrict() {
        return strict;
    }

    boolean mayBorrow() {
        return borrowing;
    }

    /** The share of this limit that a lane may use: rounded down, at least 1 permit, never a longer period. */
    Limit laneShare(Share lane) {
        Fraction part = lane.fraction();
        if (kind == Kind.WINDOW && share.times(part).partOf(permits).isBelowOne()) {
            LimitDraft draft = new LimitDraft(kind, 1, spanNanos());
            draft.unit = unit;
            draft.strict = strict;
            draft.burst = burst > 0 ? 1 : 0;
            return new Limit(draft);
        }
        return with(draft -> draft.use(part));
    }

    long spanNanos() {
        return effectiveNanos;
    }

    /** The burst of the spacing, or the bucket's capacity; never above the permits. */
    long burstPermits() {
        return kind == Kind.BUCKET ? permits() : Math.min(burst, permits());
    }

    long initialPermits() {
        return initial < 0 ? permits() : Math.min(initial, permits());
    }

    /**
     * What an overuse is charged with, or an underuse credited with. Beyond some figure more makes no difference, or is no
     * figure that a server can have meant; within it sums do not overflow.
     */
    long counted(long delta) {
        return kind == Kind.BUCKET ? spaced(delta) : Math.min(delta, Math.max(permits(), FAR_TOO_MUCH));
    }

    /** As much of it as is spaced, by a bucket or within a window: with more than that nobody would ever go again. */
    long spaced(long delta) {
        return Math.min(delta, Exact.floorDiv(permits(), MOST_SPACED, 0, 1));
    }

    /** How the permits of a bucket, or of a window with a burst, are spaced. */
    Pace pace() {
        Pace known = pace;
        if (known == null) {
            Fraction rate = kind == Kind.BUCKET
                    ? Fraction.of(permits, periodNanos).times(share)
                    : Fraction.of(permits() - burstPermits() + 1, spanNanos());
            known = Pace.of(rate, burstPermits());
            pace = known;
        }
        return known;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Limit limit
                && kind == limit.kind
                && permits == limit.permits
                && periodNanos == limit.periodNanos
                && Objects.equals(calendar, limit.calendar)
                && unit.equals(limit.unit)
                && share.equals(limit.share)
                && strict == limit.strict
                && burst == limit.burst
                && initial == limit.initial
                && borrowing == limit.borrowing;
    }

    @Override
    public int hashCode() {
        return Objects.hash(kind, permits, periodNanos, unit, share, strict, burst, initial);
    }

    @Override
    public String toString() {
        return switch (kind) {
            case WINDOW ->
                permits() + " " + unit + " per " + period() + (burst > 0 ? ", burst " + burstPermits() : "")
                        + (strict ? ", strict" : "");
            case BUCKET -> "bucket of " + permits() + " " + unit + ", " + permits + " per " + period();
            case IN_FLIGHT -> permits() + " " + unit + " in flight";
            case TOTAL -> permits() + " " + unit + " in all";
            case CALENDAR -> permits() + " " + unit + " per " + calendar;
            case LEARNED ->
                permits() + " " + unit + (periodNanos > 0 ? " per " + period() : "") + ", learned from responses";
        };
    }
}
