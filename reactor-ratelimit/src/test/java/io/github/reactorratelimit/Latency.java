package io.github.reactorratelimit;

import java.util.Random;

/** How long requests are under way, one way; what is longer than a minute never arrives. */
enum Latency {
    NARROW {
        @Override
        double seconds(Random random, int call, int batch) {
            return 0.05 + 0.002 * random.nextDouble();
        }
    },
    LOGNORMAL {
        @Override
        double seconds(Random random, int call, int batch) {
            return 0.08 * Math.exp(0.7 * random.nextGaussian());
        }
    },
    HEAVY_TAIL {
        @Override
        double seconds(Random random, int call, int batch) {
            return 0.01 / Math.pow(1 - random.nextDouble(), 1 / 1.5);
        }
    },
    BIMODAL {
        @Override
        double seconds(Random random, int call, int batch) {
            return random.nextInt(10) == 0 ? 0.9 + 0.1 * random.nextDouble() : 0.02;
        }
    },
    DRIFTING {
        @Override
        double seconds(Random random, int call, int batch) {
            return 0.3 + 0.28 * Math.sin(call / 40.0) + 0.01 * random.nextDouble();
        }
    },
    COLD_CONNECTION {
        @Override
        double seconds(Random random, int call, int batch) {
            return call % batch == 0 ? 0.8 : 0.03;
        }
    };

    /** The way of one request; {@code batch} is how many go out together. */
    abstract double seconds(Random random, int call, int batch);
}
