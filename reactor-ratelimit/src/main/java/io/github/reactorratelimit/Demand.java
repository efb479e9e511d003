package io.github.reactorratelimit;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What one attempt asks for: attributes that say whom it counts against (endpoint, token, user), its cost per unit, its
 * lane, and how long it will wait at most. Immutable: every method returns a changed copy. A demand may be used for any
 * number of calls, and reusing one is cheaper than making one per call.
 *
 * <p>Defaults: no attributes, one request, the first lane, no bound on the wait.
 */
public final class Demand {

    private static final String[] NONE = {};
    private static final long[] FREE = {};
    private static final int TOKEN_BYTES = 12;
    private static final Demand ONE = new Demand(NONE, 1, NONE, FREE, null, Exact.NEVER);

    /** Names and values in turns, in the order they were given. */
    private final String[] attributes;

    private final long requests;
    private final String[] units;
    private final long[] costs;
    private final @Nullable String lane;
    private final long maxWaitNanos;
    /** Where this demand's line was found last, for the next time; checked before use, so a stale one does no harm. */
    @Nullable
    Node cachedLeaf;

    private Demand(
            String[] attributes,
            long requests,
            String[] units,
            long[] costs,
            @Nullable String lane,
            long maxWaitNanos) {
        this.attributes = attributes;
        this.requests = requests;
        this.units = units;
        this.costs = costs;
        this.lane = lane;
        this.maxWaitNanos = maxWaitNanos;
    }

    /**
     * One request without attributes.
     *
     * @return the plainest demand
     */
    public static Demand one() {
        return ONE;
    }

    /**
     * One request with an attribute.
     *
     * @param attribute its name, such as {@code "endpoint"}
     * @param value its value
     * @return the demand
     */
    public static Demand of(String attribute, String value) {
        return ONE.and(attribute, value);
    }

    /**
     * Adds or replaces an attribute.
     *
     * @param attribute its name
     * @param value its value; an empty string is a value like any other
     * @return the changed demand
     */
    public Demand and(String attribute, String value) {
        Objects.requireNonNull(attribute, "attribute");
        Objects.requireNonNull(value, "value");
        for (int i = 0; i < attributes.length; i += 2) {
            if (attributes[i].equals(attribute)) {
                String[] changed = attributes.clone();
                changed[i + 1] = value;
                return new Demand(changed, requests, units, costs, lane, maxWaitNanos);
            }
        }
        String[] more = Arrays.copyOf(attributes, attributes.length + 2);
        more[attributes.length] = attribute;
        more[attributes.length + 1] = value;
        return new Demand(more, requests, units, costs, lane, maxWaitNanos);
    }

    /**
     * Adds or replaces the attribute {@code token}, as all adapters do, so that they can share a limiter: a hash of the
     * credentials, for they are kept as a key.
     *
     * @param credentials what is sent to say who asks, such as the value of {@code Authorization}; null or empty for nothing,
     *     which is {@code anon}
     * @return the changed demand
     */
    public Demand andToken(@Nullable String credentials) {
        if (credentials == null || credentials.isEmpty()) {
            return and("token", "anon");
        }
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(credentials.getBytes(StandardCharsets.UTF_8));
            return and("token", HexFormat.of().formatHex(hash, 0, TOKEN_BYTES));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /**
     * Says how many requests this is; 1 unless said. A batch costs as many as it has parts.
     *
     * @param permits positive
     * @return the changed demand
     * @throws IllegalArgumentException if the cost is not positive
     */
    public Demand cost(long permits) {
        if (permits <= 0) {
            throw new IllegalArgumentException("a demand's cost must be positive, was " + permits);
        }
        return new Demand(attributes, permits, units, costs, lane, maxWaitNanos);
    }

    /**
     * Says the cost in a unit; 0 unless said, except for requests.
     *
     * @param unit the unit of the limits that take it
     * @param permits not negative, for requests positive
     * @return the changed demand
     * @throws IllegalArgumentException if the cost is negative
     */
    public Demand cost(String unit, long permits) {
        Objects.requireNonNull(unit, "unit");
        if (unit.equals(Limit.REQUESTS)) {
            return cost(permits);
        }
        if (permits < 0) {
            throw new IllegalArgumentException("a cost in " + unit + " must not be negative, was " + permits);
        }
        int known = Arrays.asList(units).indexOf(unit);
        if (known >= 0) {
            long[] changed = costs.clone();
            changed[known] = permits;
            return new Demand(attributes, requests, units, changed, lane, maxWaitNanos);
        }
        String[] moreUnits = Arrays.copyOf(units, units.length + 1);
        long[] moreCosts = Arrays.copyOf(costs, costs.length + 1);
        moreUnits[units.length] = unit;
        moreCosts[costs.length] = permits;
        return new Demand(attributes, requests, moreUnits, moreCosts, lane, maxWaitNanos);
    }

    /**
     * Names the lane; the limiter's first, unless said here or in the Reactor Context.
     *
     * @param name the lane
     * @return the changed demand
     */
    public Demand lane(String name) {
        return new Demand(attributes, requests, units, costs, Objects.requireNonNull(name, "lane"), maxWaitNanos);
    }

    /**
     * Bounds the wait for a permit; unbounded unless said. A wait already known to be longer fails at once. Of a call that is
     * tried again it bounds the first wait: those after a refusal are bounded by {@link RetryPolicy#deadline}.
     *
     * @param longest not negative; what does not fit 292 years is no bound
     * @return the changed demand
     * @throws IllegalArgumentException if the duration is negative
     */
    public Demand maxWait(Duration longest) {
        if (longest.isNegative()) {
            throw new IllegalArgumentException("the longest wait must not be negative, was " + longest);
        }
        return new Demand(attributes, requests, units, costs, lane, Exact.nanos(longest));
    }

    /**
     * The value of an attribute.
     *
     * @param attribute its name
     * @return its value, or null if this demand has none
     */
    public @Nullable String attribute(String attribute) {
        for (int i = 0; i < attributes.length; i += 2) {
            if (attributes[i].equals(attribute)) {
                return attributes[i + 1];
            }
        }
        return null;
    }

    /**
     * The cost in a unit.
     *
     * @param unit the unit
     * @return the cost, 0 for a unit that was not named
     */
    public long cost(String unit) {
        if (unit.equals(Limit.REQUESTS)) {
            return requests;
        }
        for (int i = 0; i < units.length; i++) {
            if (units[i].equals(unit)) {
                return costs[i];
            }
        }
        return 0;
    }

    /**
     * The units that it costs something in, besides {@link Limit#REQUESTS}.
     *
     * @return the units, as they were named; empty for none
     */
    public List<String> units() {
        return List.of(units);
    }

    /**
     * The lane, or null if none was named.
     *
     * @return the lane
     */
    public @Nullable String lane() {
        return lane;
    }

    long requests() {
        return requests;
    }

    /** As many of this demand at once. */
    Demand times(int parts) {
        long[] all = costs.clone();
        for (int i = 0; i < all.length; i++) {
            all[i] = Exact.floorDiv(all[i], parts, 0, 1);
        }
        return new Demand(attributes, Exact.floorDiv(requests, parts, 0, 1), units, all, lane, maxWaitNanos);
    }

    /** With a bound on the wait that is no longer than what it allows itself. */
    Demand waitAtMost(long nanos) {
        return nanos >= maxWaitNanos ? this : new Demand(attributes, requests, units, costs, lane, nanos);
    }

    long costFor(Meter meter) {
        return meter.countsRequests ? requests : units.length == 0 ? 0 : cost(meter.limit.unit());
    }

    /** All that it costs, as a value to compare. */
    Object costs() {
        return units.length == 0
                ? requests
                : Arrays.asList(
                        requests,
                        Arrays.asList(units),
                        Arrays.stream(costs).boxed().toList());
    }

    long maxWaitNanos() {
        return maxWaitNanos;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Demand demand
                && Arrays.equals(attributes, demand.attributes)
                && requests == demand.requests
                && Arrays.equals(units, demand.units)
                && Arrays.equals(costs, demand.costs)
                && Objects.equals(lane, demand.lane)
                && maxWaitNanos == demand.maxWaitNanos;
    }

    @Override
    public int hashCode() {
        return Objects.hash(
                Arrays.hashCode(attributes), requests, Arrays.hashCode(units), Arrays.hashCode(costs), lane);
    }

    /** Names attributes but not their values, which may be credentials. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("Demand{").append(requests).append(" requests");
        for (int i = 0; i < units.length; i++) {
            text.append(", ").append(costs[i]).append(' ').append(units[i]);
        }
        for (int i = 0; i < attributes.length; i += 2) {
            text.append(i == 0 ? " by " : ", ").append(attributes[i]);
        }
        return text.append(lane == null ? "" : " in lane " + lane).append('}').toString();
    }
}
