package io.github.reactorratelimit.signal;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Decides what a response means, from its status and what its headers said: refused or not, and how long to hold back,
 * which is the longest of everything that counts. Kept and used again, like the reading it belongs to.
 *
 * <p>What counts: the hint of a refusal or a redirect; the reset of an exhausted quota on any status; on a refusal, the
 * reset of a quota that does not say what is left. A quota with something left never counts: if it is refused anyway,
 * another limit did it.
 */
final class Verdict {

    private static final String HINTLESS = "refused without a hint: the limiter's own backoff decides";
    private static final String IDLE_HINT = "a hint to wait on a response that was not refused is not a hold";

    private static final String NO_LIMIT = "a status about rights or abilities is never a limit: nothing of it holds";

    private final Meters meters;
    private final Span hint = new Span();
    private final Span delay = new Span();
    private boolean exhausted;
    private boolean throttled;
    private @Nullable String reason;

    Verdict(Meters meters) {
        this.meters = meters;
    }

    /** The signal of a response none of whose headers is ours. */
    static RateLimitSignal hintless(int status) {
        return alwaysThrottled(status)
                ? RateLimitSignal.of(status).throttled(true).reason(HINTLESS).build()
                : RateLimitSignal.none(status);
    }

    /** The signal of the response that {@code reading} has seen all of. */
    RateLimitSignal decide(int status, Reading reading) {
        hint.clear();
        delay.clear();
        exhausted = false;
        reason = null;
        if (reading.ageSeconds > 0) {
            // a cache's copy: its quotas are those of another call, and so is whom it names
            meters.truncate(0);
            reading.policies.clear();
            reading.scope = null;
        }
        Families.resolve(meters, reading.policies);
        times(reading);
        throttled = throttled(status);
        hold(status);
        if (!throttled && !hint.known && meters.size() == 0 && reading.scope == null) {
            return RateLimitSignal.none(status);
        }
        return signal(status, quotas(reading), reading.scope);
    }

    private RateLimitSignal signal(int status, List<Quota> quotas, @Nullable String scope) {
        return RateLimitSignal.of(status)
                .throttled(throttled)
                .hint(hint.duration())
                .delay(delay.duration())
                .coarse(delay.known && delay.coarse)
                .quotas(quotas)
                .scope(scope)
                .reason(reason)
                .build();
    }

    private void times(Reading reading) {
        long nowMillis = Long.MIN_VALUE;
        for (int i = 0; i < meters.size(); i++) {
            Meter meter = meters.get(i);
            if (meter.after.known || meter.delta.known) {
                // a delta needs no clock: it beats the absolute form, and what is called one beats what looks like one
                meter.reset.longest(meter.after.known ? meter.after : meter.delta);
            } else if (meter.at.known) {
                nowMillis = nowMillis == Long.MIN_VALUE ? reading.serverNow() : nowMillis;
                meter.reset.longestUntil(meter.at, nowMillis);
            }
            exhausted |= !meter.dropped && meter.remaining == 0;
        }
        if (reading.hintMillis.known) {
            hint.longest(reading.hintMillis);
            return;
        }
        hint.longest(reading.hintAfter);
        if (reading.hintAt.known) {
            hint.longestUntil(reading.hintAt, reading.serverNow() + Math.min(reading.ageSeconds, 1L << 40) * 1000);
        }
    }

    static boolean alwaysThrottled(int status) {
        return status == 429 || status == 420 || status == 509 || status == 529;
    }

    /** Whether a status tells of the caller's rights or of the server's abilities, and thus never of a limit. */
    private static boolean neverHolds(int status) {
        return status == 401 || status == 407 || status == 501;
    }

    private boolean throttled(int status) {
        if (alwaysThrottled(status)) {
            return true;
        }
        if (status == 403 || status == 503) {
            return hint.known || exhausted;
        }
        return status >= 400 && !neverHolds(status) && hint.known;
    }

    private void hold(int status) {
        if (neverHolds(status)) {
            reason = hint.known || exhausted ? NO_LIMIT : null;
            return;
        }
        boolean redirect = status >= 300 && status < 400 && status != 304;
        boolean hintCounts = hint.known && (throttled || redirect || (exhausted && status != 202));
        if (hintCounts) {
            delay.longest(hint);
            reason = throttled
                    ? "the server's hint"
                    : redirect ? "the hint of a redirect" : "the hint with an empty quota";
        }
        for (int i = 0; i < meters.size(); i++) {
            Meter meter = meters.get(i);
            if (meter.dropped) {
                continue;
            }
            if (meter.remaining == 0) {
                // the server's time for calls in flight is worth something only where one was refused
                if (throttled || !meter.timeless()) {
                    exhausted(meter, hintCounts);
                }
            } else if (meter.remaining < 0 && throttled && isLongest(meter.reset, hintCounts)) {
                reason = "refused, and a quota tells its reset but not what is left";
            }
        }
        if (!delay.known) {
            reason = throttled ? HINTLESS : hint.known ? IDLE_HINT : exhausted ? "an empty quota without a time" : null;
        }
    }

    private void exhausted(Meter meter, boolean hintCounts) {
        if (isLongest(meter.reset, hintCounts)) {
            reason = "the reset of an empty quota";
        } else if (!meter.reset.known && !hintCounts && !meter.timeless() && delay.longest(meter.window)) {
            reason = "an empty quota without a reset: its window is the upper bound";
        }
    }

    // of two resets that are as long the coarse one may be short of the truth; a hint that is as long is exact
    private boolean isLongest(Span reset, boolean hintCounts) {
        if (delay.isAsLongAs(reset) && !(hintCounts && hint.isAsLongAs(reset))) {
            delay.coarse |= reset.coarse;
        }
        return delay.longest(reset);
    }

    private List<Quota> quotas(Reading reading) {
        int count = 0;
        int last = 0;
        for (int i = 0; i < meters.size(); i++) {
            if (!meters.get(i).dropped) {
                count++;
                last = i;
            }
        }
        if (count <= 1) {
            return count == 0 ? List.of() : List.of(quota(meters.get(last), reading));
        }
        Quota[] quotas = new Quota[count];
        int at = 0;
        for (int i = 0; i < meters.size(); i++) {
            if (!meters.get(i).dropped) {
                quotas[at++] = quota(meters.get(i), reading);
            }
        }
        return List.of(quotas);
    }

    private static Quota quota(Meter meter, Reading reading) {
        if (meter.prefix == reading.namedPrefix) {
            if (meter.name == null && meter.dimension == 0) {
                meter.name = reading.resource;
            }
            if (meter.partition == null) {
                meter.partition = reading.bucket != null ? reading.bucket : reading.resource;
            }
        }
        return meter.quota();
    }
}
