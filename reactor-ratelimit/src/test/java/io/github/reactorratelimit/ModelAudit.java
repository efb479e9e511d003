package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Comparator;
import java.util.List;

/**
 * Looks at who was granted what and when, after a program without a change of limits, and knows no books: was any limit
 * ever exceeded? What was corrected downwards counts with the smaller figure, what was given back not at all.
 */
final class ModelAudit {

    private final List<ModelDemand> grants;

    ModelAudit(List<ModelDemand> all) {
        this.grants = all.stream()
                .filter(demand -> demand.granted > 0)
                .sorted(Comparator.comparingLong(demand -> demand.granted))
                .toList();
    }

    void check(ModelKey key) {
        List<ModelDemand> here =
                grants.stream().filter(one -> one.leaf.path().contains(key)).toList();
        key.books.forEach(books -> check(here, books.limit));
        for (int lane = 0; lane < key.shares.size(); lane++) {
            int of = lane;
            List<ModelDemand> own = here.stream().filter(one -> one.lane == of).toList();
            key.shares.get(lane).forEach(books -> check(own, books.limit));
        }
    }

    private static void check(List<ModelDemand> grants, Limit limit) {
        for (int i = 0; i < grants.size(); i++) {
            ModelDemand last = grants.get(i);
            List<ModelDemand> upTo = grants.subList(0, i + 1);
            if (last.cost(limit) == 0 || last.refunded) {
                continue;
            }
            switch (limit.kind()) {
                case WINDOW -> {
                    isWithin(limit, sum(upTo, limit, last.grantedAt - limit.spanNanos()));
                    if (limit.burstPermits() > 0) {
                        isPaced(upTo, limit);
                    }
                }
                case BUCKET -> isPaced(upTo, limit);
                case IN_FLIGHT ->
                    isWithin(
                            limit,
                            upTo.stream()
                                    .filter(one -> one == last || one.endedAt > last.grantedAt)
                                    .mapToLong(one -> one.cost(limit))
                                    .sum());
                case TOTAL -> isWithin(limit, sum(upTo, limit, Long.MIN_VALUE));
                case CALENDAR, LEARNED -> throw new IllegalStateException("nobody configures that: " + limit);
            }
        }
    }

    /** What the server can have seen later than {@code after}, at worst. */
    private static long sum(List<ModelDemand> grants, Limit limit, long after) {
        return grants.stream()
                .filter(one -> latestSeen(one, limit) > after)
                .mapToLong(one -> least(one, limit))
                .sum();
    }

    private static long latestSeen(ModelDemand one, Limit limit) {
        long sent = one.tells == Ticket.Tells.HEAD ? one.grantedAt : one.sentAt;
        long seen = Math.min(one.headAt, limit.isStrict() ? Exact.NEVER : Exact.add(sent, WindowMeter.TRANSIT_NANOS));
        return seen == Exact.NEVER ? one.endedAt : seen;
    }

    /**
     * No more than fits at once, and what the rate brings, in any stretch up to the last. What is given back keeps what
     * accrued while it was out, so such programs show nothing.
     */
    private static void isPaced(List<ModelDemand> grants, Limit limit) {
        if (grants.stream().anyMatch(one -> least(one, limit) < one.cost(limit))) {
            return;
        }
        ModelDemand last = grants.get(grants.size() - 1);
        Pace rate = limit.pace();
        long most = limit.burstPermits();
        long taken = Math.min(most, least(last, limit));
        for (int i = grants.size() - 2; i >= 0; i--) {
            taken += least(grants.get(i), limit);
            long nanos = last.grantedAt - grants.get(i).grantedAt;
            assertThat(Math.multiplyExact(taken - most, rate.nanos))
                    .as("%s from #%d to #%d", limit, grants.get(i).id, last.id)
                    .isLessThanOrEqualTo(Math.multiplyExact(nanos, rate.permits));
        }
    }

    private static void isWithin(Limit limit, long sum) {
        assertThat(sum).as(limit.toString()).isLessThanOrEqualTo(limit.permits());
    }

    private static long least(ModelDemand one, Limit limit) {
        Long settled = one.settledCost(limit);
        return one.refunded ? 0 : settled == null ? one.cost(limit) : Math.min(settled, one.cost(limit));
    }
}
