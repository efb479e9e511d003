package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Routes of buckets under random programs. */
class BucketProgramsTest extends RoutesOfBuckets { // B44

    @Test
    void whatever_is_joined_nobody_is_forgotten_and_no_bucket_gets_more_than_its_limit() {
        int joined = 0;
        for (long seed = 0; seed < 200; seed++) {
            joined += new Program(seed).run() ? 1 : 0;
        }
        assertThat(joined)
                .as("programs in which both buckets came to be one key each")
                .isGreaterThan(150);
    }

    /** Random calls to routes whose buckets are fixed; from the time on when all are known, each bucket is one limit. */
    private static final class Program {

        private static final int ROUTES = 6;
        private static final int BUCKETS = 2;
        private static final int PERMITS = 4;
        private static final long SPAN = ofSeconds(10).toNanos();

        private final VirtualTime time = new VirtualTime();
        private final SplittableRandom random;
        private final RateLimiter limiter;
        private final List<Asked> open = new ArrayList<>();
        private final List<Integer> routes = new ArrayList<>();
        private final List<Asked> all = new ArrayList<>();
        private final List<Integer> allRoutes = new ArrayList<>();
        private final List<Asked> cancelled = new ArrayList<>();

        Program(long seed) {
            random = new SplittableRandom(seed);
            limiter = time.spec()
                    .lane("low", Share.of(0.5))
                    .scope(Scope.by("endpoint").limits(Limit.of(PERMITS, ofSeconds(10)), Limit.inFlight(3)))
                    .build();
        }

        /** Whether each bucket was one key in the end. */
        boolean run() {
            for (int step = 0; step < 120; step++) {
                switch (random.nextInt(4)) {
                    case 0, 1 -> ask(random.nextInt(ROUTES));
                    case 2 -> answer();
                    default -> time.advance(ofMillis(random.nextInt(3_000)));
                }
            }
            while (!open.isEmpty()) {
                answer();
                time.advance(ofSeconds(1));
            }
            assertThat(limiter.snapshot().waiting()).isZero();
            for (int i = 0; i < all.size(); i++) {
                assertThat(all.get(i).isWaiting()).isEqualTo(cancelled.contains(all.get(i)));
            }
            time.advance(ofMinutes(1));
            assertThat(time.timers()).isZero();
            limiter.snapshot()
                    .scopes()
                    .forEach(scope -> scope.limits()
                            .forEach(limit -> assertThat(limit.available())
                                    .isEqualTo(limit.limit().permits())));
            return everyRouteAsksOnceMore();
        }

        private void ask(int route) {
            Demand demand = Demand.of("endpoint", "/" + route);
            Asked asked = time.ask(limiter, random.nextInt(3) == 0 ? demand.lane("low") : demand);
            open.add(asked);
            routes.add(route);
            all.add(asked);
            allRoutes.add(route);
        }

        private void answer() {
            if (open.isEmpty()) {
                return;
            }
            int which = random.nextInt(open.size());
            Asked asked = open.get(which);
            if (asked.isGranted()) {
                asked.permit().complete(bucket("h" + routes.get(which) % BUCKETS));
            } else if (random.nextInt(8) == 0) {
                asked.cancel();
                cancelled.add(asked);
            } else {
                return;
            }
            open.remove(which);
            routes.remove(which);
        }

        /** Now that all buckets are known: all routes at once. */
        private boolean everyRouteAsksOnceMore() {
            int from = all.size();
            while (all.size() < from + 40 || !open.isEmpty()) {
                if (all.size() < from + 40) {
                    ask((all.size() - from) % ROUTES);
                }
                answer();
                time.advance(ofMillis(random.nextInt(500)));
            }
            boolean joined = limiter.snapshot().scopes().size() == 1 + BUCKETS;
            for (int bucket = 0; bucket < BUCKETS && joined; bucket++) {
                neverMoreThanTheLimit(from, bucket);
            }
            return joined;
        }

        private void neverMoreThanTheLimit(int from, int bucket) {
            List<Long> grants = new ArrayList<>();
            for (int i = from; i < all.size(); i++) {
                Duration at = all.get(i).at();
                if (allRoutes.get(i) % BUCKETS == bucket
                        && at != null
                        && all.get(i).isGranted()) {
                    grants.add(at.toNanos());
                }
            }
            grants.sort(null);
            for (int i = PERMITS; i < grants.size(); i++) {
                assertThat(grants.get(i) - grants.get(i - PERMITS)).isGreaterThanOrEqualTo(SPAN);
            }
        }
    }
}
