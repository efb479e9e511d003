package io.github.reactorratelimit.test;

import static java.util.concurrent.TimeUnit.NANOSECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Presets;
import io.github.reactorratelimit.RateLimitContext;
import io.github.reactorratelimit.RateLimitOperator;
import io.github.reactorratelimit.RateLimiterSpec;
import io.github.reactorratelimit.Share;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/** How long somebody waits at a screen while 1,300 pages of the same user are migrated. */
class MigrationLanesTest {

    private static final Demand ANNA = Demand.of("user", "anna").and("method", "GET");
    private static final SimulatedRequest PAGE = SimulatedRequest.get("/pages").token("anna");
    private static final int PEOPLE = 180;
    private static final Duration THREE_HOURS = Duration.ofHours(3);

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final SimulatedService service = OneNoteRules.create()
            .takes(Duration.ofMillis(300))
            .simulate()
            .on(() -> time)
            .latency(Duration.ofMillis(50), Duration.ofMillis(50));
    private final List<Duration> waits = new ArrayList<>();
    private int migrated;

    private Mono<SimulatedResponse> page(RateLimitOperator calls) {
        return Mono.from(calls.<SimulatedResponse>limit(ANNA).apply(service.call(PAGE)));
    }

    /** Once a minute somebody opens a page; who is not served within three hours has waited until then at least. */
    private void run(RateLimiterSpec spec, String lane) {
        RateLimitOperator calls = spec.scheduler(() -> time)
                .random(() -> 0.5)
                .build()
                .calls()
                .responses(SimulatedResponse.class, Spiral.READER);
        Flux.range(0, Spiral.PAGES)
                .flatMap(n -> page(calls), Spiral.PAGES)
                .contextWrite(RateLimitContext.lane(lane))
                .subscribe(response -> migrated++);
        long[] asked = new long[PEOPLE];
        for (int i = 0; i < PEOPLE; i++) {
            int n = i;
            time.schedule(
                    () -> {
                        asked[n] = time.now(NANOSECONDS);
                        page(calls).subscribe(response -> {
                            waits.add(Duration.ofNanos(time.now(NANOSECONDS) - asked[n]));
                            asked[n] = 0;
                        });
                    },
                    60L * i + 7,
                    SECONDS);
        }
        time.advanceTimeBy(THREE_HOURS);
        for (long still : asked) {
            if (still > 0) {
                waits.add(THREE_HOURS.minusNanos(still));
            }
        }
        waits.sort(null);
    }

    private Duration p99() {
        return waits.get((int) Math.ceil(0.99 * waits.size()) - 1);
    }

    @Test
    void in_a_lane_of_their_own_people_wait_no_longer_than_a_page_takes() {
        run(Presets.oneNote().lane("background", Share.of(0.5)), "background");
        assertThat(waits).hasSize(PEOPLE);
        assertThat(p99()).isLessThan(Duration.ofSeconds(2));
        assertThat(service.log().count(429)).isZero();
        assertThat(migrated).isGreaterThanOrEqualTo(600);
    }

    @Test
    void in_one_lane_with_the_migration_they_wait_behind_all_of_it() {
        run(Presets.oneNote(), "interactive");
        assertThat(p99()).isGreaterThan(Duration.ofHours(1));
        assertThat(service.log().count(429)).isZero();
    }
}
