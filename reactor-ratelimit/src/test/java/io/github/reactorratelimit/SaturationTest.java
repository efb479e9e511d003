package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A limiter that is asked for more than it has all day long. */
class SaturationTest {

    private static final int WAITING = 5;
    private static final long CAPACITY = 6;

    private final VirtualTime time = new VirtualTime();

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void a_day_of_waits_cancels_and_refunds_grants_what_it_gained_and_no_more(long seed) { // B59
        Random random = new Random(seed);
        RateLimiter limiter = time.limiter(Limit.bucket(CAPACITY, 7, ofSeconds(3)));
        List<Asked> waiting = new ArrayList<>();
        List<Long> costs = new ArrayList<>();
        long used = 0;
        while (time.elapsed().compareTo(ofHours(24)) < 0) {
            while (waiting.size() < WAITING) {
                long cost = 1L + random.nextInt(3);
                costs.add(cost);
                waiting.add(time.ask(limiter, Demand.one().cost(cost)));
            }
            int leaves = random.nextInt(2 * WAITING);
            if (leaves < WAITING && waiting.get(leaves).isWaiting()) {
                waiting.remove(leaves).cancel();
                costs.remove(leaves);
            }
            time.advance(Duration.ofNanos(random.nextInt(800_000_000)));
            used += settled(waiting, costs, random);
        }
        long gained = 24 * 3_600 * 7 / 3;
        assertThat(used).isBetween(gained * 999 / 1_000, gained + CAPACITY);
    }

    /** What those used that were granted since; an estimate was too high now and then. */
    private static long settled(List<Asked> waiting, List<Long> costs, Random random) {
        long used = 0;
        boolean again = true;
        while (again) {
            again = false;
            Iterator<Long> cost = costs.iterator();
            for (Iterator<Asked> each = waiting.iterator(); each.hasNext(); ) {
                Asked asked = each.next();
                long asking = cost.next();
                if (asked.isGranted()) {
                    long actual = random.nextInt(3) == 0 ? random.nextInt((int) asking + 1) : asking;
                    each.remove();
                    cost.remove();
                    asked.permit().settle("requests", actual);
                    used += actual;
                    again = true;
                }
            }
        }
        return used;
    }
}
