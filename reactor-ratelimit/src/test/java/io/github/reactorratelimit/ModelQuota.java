package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import java.math.BigInteger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What the model heard of one quota of one key: the lowest figure of the window it knows, and between when the reset lies. */
final class ModelQuota {

    private static final long SECOND = 1_000_000_000L;

    final String unit;
    private final Quota first;
    /** The running number from which on grants count: that of its first answer, or of when its last window was over. */
    long began;

    /** The keys that count against it. */
    final List<ModelKey> keys = new ArrayList<>();

    boolean known;
    long left;
    long notBefore;
    long notAfter = Long.MIN_VALUE;
    long lastGrantAt;
    /** The running number of the last answer whose figure is what we reckon from. */
    private long figured;
    /** Some reset was told to less than a second. */
    private boolean fractions;

    /** What each counts in its lane's share of this window. */
    final Map<ModelDemand, Long> taken = new LinkedHashMap<>();

    ModelQuota(Quota first, long count) {
        this.first = first;
        this.unit = first.unit();
        this.began = count;
    }

    boolean isOf(Quota quota) {
        return hasNameOf(quota)
                && first.limit() == quota.limit()
                && Objects.equals(first.partition(), quota.partition());
    }

    boolean hasNameOf(Quota quota) {
        return first.name().equals(quota.name()) && first.unit().equals(quota.unit());
    }

    long size() {
        return Math.max(1, Math.max(first.limit(), first.remaining()));
    }

    static @Nullable Duration span(Quota quota) {
        return quota.reset() != null ? quota.reset() : quota.window();
    }

    static long spanNanos(Quota quota) {
        Duration span = span(quota);
        return span == null ? 0 : span.toNanos();
    }

    /** The earliest instant of the reset that an answer allows: whole seconds may be cut off or rounded up. */
    static long earliest(long sentAt, Quota quota) {
        long nanos = spanNanos(quota);
        boolean whole = quota.coarse() || nanos % SECOND == 0;
        return sentAt + Math.max(0, nanos - (whole ? SECOND : 0));
    }

    /** The latest: whole seconds may be cut off, unless this quota is known to be told with fractions; no window is longer. */
    private long latest(long now, Quota quota) {
        long told = spanNanos(quota);
        if (quota.reset() == null) {
            return now + told;
        }
        boolean cut = quota.coarse() || (told % SECOND == 0 && !fractions);
        long longest = cut ? told + SECOND : told;
        if (quota.window() != null && longest > quota.window().toNanos()) {
            longest = Math.max(told, quota.window().toNanos());
        }
        return now + longest;
    }

    /** Once the reset is surely over nothing is known any more. */
    void forgetWindow(long now, long count) {
        if (known && now >= notAfter) {
            known = false;
            began = count;
            taken.clear();
        }
    }

    /** Whether a demand's cost may still turn out to be another one. */
    private boolean isOpen(ModelDemand demand) {
        return demand.isUnanswered() && demand.granted > began;
    }

    void settled(ModelDemand demand, String settledUnit) {
        if (isOpen(demand) && settledUnit.equals(unit)) {
            taken.put(demand, demand.dueCost(unit));
        }
    }

    void refunded(ModelDemand demand) {
        if (isOpen(demand)) {
            taken.remove(demand);
        } else if (demand.isBare() && demand.granted > began) {
            taken.remove(demand);
            left += known && demand.granted > figured ? demand.asked.cost(unit) : 0;
        }
    }

    private long share(Share share) {
        Fraction part = share.fraction();
        return Math.max(
                1,
                BigInteger.valueOf(size())
                        .multiply(part.over())
                        .divide(part.under())
                        .longValueExact());
    }

    /** What is left of a lane's share. */
    long left(int lane, Share share) {
        return share(share)
                - (!known
                        ? 0
                        : taken.entrySet().stream()
                                .filter(one -> one.getKey().lane == lane)
                                .mapToLong(Map.Entry::getValue)
                                .sum());
    }

    /** When so much of a lane's share is left: all of it is enough for anybody. */
    long shareReadyAt(long now, int lane, Share share, long ahead, long cost) {
        boolean fits = cost == 0 || ahead + Math.min(cost, share(share)) <= left(lane, share);
        return fits || !known ? now : notAfter;
    }

    void answer(long now, ModelDemand demand, long sentAt, Quota quota, long count) {
        if (quota.reset() != null && !quota.coarse() && quota.reset().toNanosPart() != 0) {
            fractions = true;
        }
        long from = earliest(sentAt, quota);
        long to = latest(now, quota);
        boolean later = from >= notAfter || (!known && sentAt >= notAfter);
        if (later) {
            if (to > now) {
                known = true;
                left = quota.remaining();
                figured = count;
                notBefore = from;
                notAfter = to;
                taken.keySet().removeIf(one -> !isOpen(one));
                taken.put(demand, demand.dueCost(unit));
            }
        } else if (known && to > notBefore) {
            figured = left < quota.remaining() ? figured : count;
            left = Math.min(left, quota.remaining());
            notBefore = Math.max(notBefore, from);
            notAfter = Math.min(notAfter, to);
        }
    }
}
