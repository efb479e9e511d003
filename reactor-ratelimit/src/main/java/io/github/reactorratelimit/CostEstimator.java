package io.github.reactorratelimit;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Corrects upper bounds of costs by what calls of the same key really cost: the share of the bound that calls used, as a
 * moving average plus one moving deviation, so that most calls stay below their estimate. A key is whatever makes calls
 * alike: a model, a kind of task. What turns out to be no bound, because a call cost more, is corrected upwards too.
 *
 * <p>It is for quotas that count what was really used. Where a server counts the bound itself on arrival (prompt and
 * {@code max_tokens}), ask for the bound and settle nothing.
 *
 * <p>Defaults: the bound itself until {@value #LEAST_SAMPLES} calls of a key are known; a call weighs 1/16. One that cost
 * more than twice its bound, and than twice what is known so far, counts as no more than the greater of the two, so that
 * one wrong figure does no harm. The next that says so is believed: as four times that at most, and as a hundred times its
 * bound at most, however many say so. The 1,000 keys used last are remembered. Thread-safe; nothing blocks for longer than
 * a look into a map.
 */
public final class CostEstimator {

    private static final int LEAST_SAMPLES = 5;
    private static final int MOST_KEYS = 1_000;
    private static final double WEIGHT = 1.0 / 16;
    private static final double MOST_BOUNDS = 100;
    /** One call alone may be wrong: an estimate above the limit would let no call pass that could correct it. */
    private static final double DOUBTFUL_TIMES = 2;

    private static final double MOST_TIMES = 4;

    private final Map<String, Usage> usages = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Usage> eldest) {
            return size() > MOST_KEYS;
        }
    };

    private CostEstimator() {}

    /**
     * An estimator that knows nothing yet.
     *
     * @return the estimator
     */
    public static CostEstimator learning() {
        return new CostEstimator();
    }

    /**
     * What a call will probably cost.
     *
     * @param key what makes calls alike
     * @param bound the most it can cost, or somebody's guess; not negative
     * @return at most the bound, as long as no call of the key cost more than its own; at least 1 unless the bound is 0
     * @throws IllegalArgumentException if the bound is negative
     */
    public long estimate(String key, long bound) {
        notNegative("an upper bound", bound);
        synchronized (usages) {
            Usage usage = usages.get(Objects.requireNonNull(key, "key"));
            return usage == null ? bound : usage.of(bound);
        }
    }

    /**
     * Learns what a call really cost. A call that tells nothing, because it failed or was cancelled, is not told here.
     *
     * @param key what makes calls alike
     * @param bound what {@link #estimate} was asked with; a call with a bound of 0 tells nothing
     * @param actual what was used, not negative
     * @throws IllegalArgumentException if a figure is negative
     */
    public void learn(String key, long bound, long actual) {
        notNegative("an upper bound", bound);
        notNegative("an actual cost", actual);
        if (bound == 0) {
            return;
        }
        synchronized (usages) {
            usages.computeIfAbsent(Objects.requireNonNull(key, "key"), unknown -> new Usage())
                    .add((double) actual / bound);
        }
    }

    private static void notNegative(String what, long value) {
        if (value < 0) {
            throw new IllegalArgumentException(what + " must not be negative, was " + value);
        }
    }

    /** Shares of their bounds that calls used. */
    private static final class Usage {

        private int samples;
        private double mean;
        private double deviation;
        /** A call cost more than its bound, so that it is only a guess. */
        private boolean exceeded;
        /** The last call cost so much more than was known that it was not believed. */
        private boolean doubted;

        void add(double told) {
            double known = Math.max(1, mean + deviation);
            boolean doubtful = told > DOUBTFUL_TIMES * known;
            double most = doubtful && !doubted ? known : MOST_TIMES * known;
            doubted = doubtful;
            double share = Math.min(told, Math.min(MOST_BOUNDS, most));
            exceeded |= share > 1;
            samples = Math.min(samples + 1, Integer.MAX_VALUE - 1);
            double weight = Math.max(WEIGHT, 1.0 / samples); // The first calls weigh alike.
            double away = Math.abs(share - mean);
            deviation = samples == 1 ? 0 : deviation + weight * (away - deviation);
            mean += weight * (share - mean);
        }

        long of(long bound) {
            if (samples < LEAST_SAMPLES || bound == 0) {
                return bound;
            }
            double share = mean + deviation;
            return share >= 1 && !exceeded ? bound : Math.max(1, (long) Math.ceil(share * bound));
        }
    }
}
