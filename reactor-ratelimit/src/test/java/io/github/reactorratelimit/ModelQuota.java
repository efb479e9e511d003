package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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

    ModelQuota(Quota first, long count) {
        this.first = first;
        this.unit = first.unit();
        this.began = count;
    }

    boolean isOf(Quota quota) {
        return first.name().equals(quota.name())
                && first.unit().equals(quota.unit())
                && first.limit() == quota.limit()
                && Objects.equals(first.partition(), quota.partition());
    }

    long size() {
        return Math.max(1, Math.max(first.limit(), first.remaining()));
    }

    static @Nullable Duration span(Quota quota) {
        return quota.reset() != null ? quota.reset() : quota.window();
    }

    /** The earliest instant of the reset that an answer allows: whole seconds may be cut off or rounded up. */
    static long earliest(long sentAt, Quota quota) {
        long nanos = Objects.requireNonNull(span(quota)).toNanos();
        boolean whole = quota.coarse() || nanos % SECOND == 0;
        return sentAt + Math.max(0, nanos - (whole ? SECOND : 0));
    }

    private static long latest(long now, Quota quota) {
        return now + Objects.requireNonNull(span(quota)).toNanos() + (quota.coarse() ? SECOND : 0);
    }

    /** Once the reset is surely over nothing is known any more. */
    void forgetWindow(long now, long count) {
        if (known && now >= notAfter) {
            known = false;
            began = count;
        }
    }

    void answer(long now, long sentAt, Quota quota) {
        long from = earliest(sentAt, quota);
        long to = latest(now, quota);
        boolean later = from >= notAfter || (!known && sentAt >= notAfter);
        if (later) {
            if (to > now) {
                known = true;
                left = quota.remaining();
                notBefore = from;
                notAfter = to;
            }
        } else if (known && to > notBefore) {
            left = Math.min(left, quota.remaining());
            notBefore = Math.max(notBefore, from);
            notAfter = Math.min(notAfter, to);
        }
    }
}
