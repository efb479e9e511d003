package io.github.reactorratelimit;

import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.util.List;

/** How full a server says a scope is, as a share. */
final class Usage {

    private Usage() {}

    /** The usage figure, or the fullest of the quotas that tell what was used of them and no more; NaN if there is none. */
    static double of(RateLimitSignal signal) {
        double usage = signal.usage();
        List<Quota> quotas = signal.quotas();
        for (int i = 0; i < quotas.size(); i++) {
            Quota quota = quotas.get(i);
            if (quota.used() >= 0 && quota.limit() > 0 && quota.remaining() < 0 && quota.reset() == null) {
                double share = (double) quota.used() / quota.limit();
                usage = usage >= share ? usage : share;
            }
        }
        return usage;
    }
}
