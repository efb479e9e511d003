package io.github.reactorratelimit.signal;

import java.util.List;
import java.util.Objects;

/**
 * Makes quotas out of what single headers said: pairs parallel lists, gives each quota its reset and its policy, and drops
 * what is none.
 */
final class Families {

    private Families() {}

    static void resolve(Meters meters, List<Policy> policies) {
        for (int i = 0; i < meters.size(); i++) {
            Meter first = meters.get(i);
            if (first.index == 0) {
                pair(meters, i, first);
            }
        }
        for (int i = 0; i < meters.size(); i++) {
            join(meters, meters.get(i));
        }
        for (int i = 0; i < meters.size(); i++) {
            lend(meters, meters.get(i));
        }
        for (int i = 0; i < policies.size(); i++) {
            match(meters, policies.get(i), isOnly(policies, policies.get(i)));
        }
        for (int i = 0; i < meters.size(); i++) {
            Meter meter = meters.get(i);
            meter.dropped |= meter.countsNothing() && !meter.hasReset();
        }
    }

    // X-RateLimit-Remaining: 5, 0 with X-RateLimit-Reset: 1, 3000 are two quotas; with a single reset, it is for both
    private static void pair(Meters meters, int from, Meter first) {
        int members = Math.max(1, Math.max(first.remainings, first.uses));
        boolean oneReset = first.resets <= 1 && first.afters <= 1;
        boolean paired = members > 1 && Math.max(first.resets, first.afters) == members;
        for (int i = from + 1; i < meters.size(); i++) {
            Meter other = meters.get(i);
            if (other.index == 0 || other.prefix != first.prefix || other.dimension != first.dimension) {
                continue;
            }
            if (!paired && !oneReset) {
                first.takeResetOf(other);
            }
        }
        for (int i = from + 1; i < meters.size(); i++) {
            Meter other = meters.get(i);
            if (other.index == 0 || other.prefix != first.prefix || other.dimension != first.dimension) {
                continue;
            }
            if (other.index >= members) {
                leftOver(first, other);
                continue;
            }
            if (!paired) {
                other.takeResetOf(first);
            }
            if (first.limits == 1) {
                other.limit = first.limit;
            }
            if (first.windows == 1) {
                other.window.longest(first.window);
            }
        }
    }

    // RateLimit-Limit: 100, 100;w=60 is the limit in force and the policies behind it (drafts 00 to 03)
    private static void leftOver(Meter first, Meter other) {
        other.clearReset();
        if (other.limit < 0 || !other.window.known) {
            other.dropped = true;
        } else if (other.limit == first.limit) {
            first.window.longest(other.window);
            other.dropped = true;
        }
    }

    // RateLimit: remaining=0 with RateLimit-Reset: 5 is one quota, unless they say otherwise; whichever comes first
    private static void join(Meters meters, Meter dictionary) {
        if (dictionary.dimension != IetfFields.DICTIONARY) {
            return;
        }
        for (int i = 0; i < meters.size(); i++) {
            Meter meter = meters.get(i);
            boolean same = meter.is(dictionary.prefix, 0, 0)
                    && !IetfFields.differs(meter.limit, dictionary.limit)
                    && !IetfFields.differs(meter.remaining, dictionary.remaining);
            if (same) {
                meter.limit = Math.max(meter.limit, dictionary.limit);
                meter.remaining = Math.max(meter.remaining, dictionary.remaining);
                meter.takeResetOf(dictionary);
                dictionary.dropped = true;
                return;
            }
        }
    }

    // x-rate-limit-requests-left with x-rate-limit-time-reset-ms: the one nameless reset of a family is for its quotas
    private static void lend(Meters meters, Meter lender) {
        if (lender.dimension != 0 || !lender.countsNothing() || lender.dropped) {
            return;
        }
        for (int i = 0; i < meters.size(); i++) {
            Meter meter = meters.get(i);
            if (meter.prefix == lender.prefix && meter.dimension != 0 && !meter.countsNothing() && !meter.hasReset()) {
                meter.takeResetOf(lender);
                meter.window.longest(lender.window);
                lender.dropped = true;
            }
        }
    }

    private static void match(Meters meters, Policy policy, boolean only) {
        boolean matched = false;
        int size = meters.size();
        for (int i = 0; i < size; i++) {
            Meter meter = meters.get(i);
            boolean limitless = meter.limit < 0 && isUnnamed(policy, meter);
            if (meter.prefix != policy.prefix() || !(limitless || isOf(policy, meter))) {
                continue;
            }
            if (policy.windowSeconds() >= 0) {
                meter.window.longest(policy.windowSeconds(), 0, false);
            }
            if (!limitless || only) {
                matched = true;
                meter.limit = meter.limit < 0 ? policy.limit() : Math.min(meter.limit, policy.limit());
                meter.unit = policy.unit() == null ? meter.unit : policy.unit();
            }
        }
        Meter alone = matched ? null : meters.add(policy.prefix(), -1);
        if (alone != null) {
            alone.name = policy.name();
            alone.partition = policy.partition();
            alone.limit = policy.limit();
            alone.unit = policy.unit() == null ? alone.unit : policy.unit();
            if (policy.windowSeconds() >= 0) {
                alone.window.set(policy.windowSeconds(), 0, false);
            }
        }
    }

    private static boolean isOf(Policy policy, Meter meter) {
        if (policy.name() == null) {
            return meter.name == null && meter.limit == policy.limit();
        }
        return policy.name().equals(meter.name) && Objects.equals(policy.partition(), meter.partition);
    }

    /** Whether they belong together although no limit tells so; which of several policies it is stays open. */
    private static boolean isUnnamed(Policy policy, Meter meter) {
        boolean nameless = meter.dimension == 0 || meter.dimension == IetfFields.DICTIONARY;
        return policy.name() == null && meter.name == null && nameless && !meter.countsNothing();
    }

    private static boolean isOnly(List<Policy> policies, Policy policy) {
        for (int i = 0; i < policies.size(); i++) {
            Policy other = policies.get(i);
            if (other != policy && other.prefix() == policy.prefix() && other.name() == null) {
                return false;
            }
        }
        return true;
    }
}
