package io.github.reactorratelimit.examples.simulation;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.reactorratelimit.examples.simulation.Results.AtServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class SimulationTest {

    private static final Path DOCS = Path.of("../docs");
    private static final Pattern PICTURE = Pattern.compile("!\\[[^]]*]\\((simulation/[^)]+)\\)");

    private static Results results;

    @BeforeAll
    static void simulate() {
        results = Results.simulate();
    }

    @Test
    void the_committed_page_is_what_the_code_says() throws IOException {
        assertThat(Page.of(results))
                .as("run mvn -B -q -Psimulation -DskipTests -pl examples -am verify")
                .isEqualTo(Files.readString(DOCS.resolve("simulation.md")));
    }

    @Test
    void every_picture_of_the_page_is_there_and_tells_neither_time_nor_place() throws IOException {
        Matcher pictures = PICTURE.matcher(Files.readString(DOCS.resolve("simulation.md")));
        int found = 0;
        while (pictures.find()) {
            found++;
            assertThat(DOCS.resolve(pictures.group(1)))
                    .isRegularFile()
                    .content()
                    .contains("prefers-color-scheme: dark")
                    .doesNotContainPattern("\\d{4}-\\d{2}-\\d{2}|\\d{1,2}:\\d{2}:\\d{2}|/(home|root)/");
        }
        assertThat(found).isEqualTo(results.servers().size() + 3);
    }

    @Test
    void known_limits_are_never_passed_and_nobody_spends_fewer_requests() {
        for (AtServer at : results.servers()) {
            Outcome ours = at.of(Strategy.configured());
            assertThat(ours.refused()).as(at.service().name()).isZero();
            assertThat(ours.requests()).as(at.service().name()).isEqualTo(Run.CALLS);
            assertThat(at.outcomes())
                    .allSatisfy(other -> assertThat(other.requests()).isGreaterThanOrEqualTo(ours.requests()));
        }
    }

    @Test
    void known_limits_are_used_to_99_percent_and_nobody_waits_longer_than_the_others() {
        for (AtServer at : results.servers()) {
            Outcome ours = at.of(Strategy.configured());
            assertThat(ours.ofOptimum()).as(at.service().name()).isGreaterThanOrEqualTo(0.99);
            assertThat(ours.wait(50)).isCloseTo(ofMillis(40_200), ofMillis(50));
            assertThat(ours.wait(100)).isLessThan(ofMillis(40_350));
        }
    }

    @Test
    void the_start_costs_a_round_trip_and_an_aligned_window_that_is_over_early() {
        for (AtServer at : results.servers()) {
            boolean aligned = at.service().name().startsWith("aligned");
            Outcome ours = at.of(Strategy.configured());
            Loss loss = Loss.of(at.service(), ours);

            assertThat(loss.once().minusMillis(aligned ? 1_300 : 0)).isBetween(ofMillis(20), ofMillis(160));
            // A margin of 10 ms, and a round trip of 20 to 80 ms.
            assertThat(loss.each()).isBetween(ofMillis(30), ofMillis(90));
            assertThat(loss.once().plus(loss.each().multipliedBy(loss.periods())))
                    .isEqualTo(loss.inAll());
            if (aligned) {
                Duration optimum = at.service().optimum(Collections.nCopies(60, Duration.ZERO));
                Duration ofSixty = optimum.plus(loss.once()).plus(loss.each().multipliedBy(60 / Service.PERMITS - 1));
                assertThat((double) optimum.toMillis() / ofSixty.toMillis()).isCloseTo(0.981, within(0.0005));
            }
        }
    }

    @Test
    void a_period_costs_a_round_trip_and_no_more_than_a_second() {
        for (Results.AtDistance at : results.distances()) {
            double trip = at.roundTrip().toMillis() / 1e3;
            double finished = 59 * (10.01 + Math.min(1, trip)) + trip;

            assertThat(at.silent().refused() + at.telling().refused()).isZero();
            assertThat(at.silent().ofOptimum()).as(at.toString()).isGreaterThan(0.999 * 590 / finished);
            assertThat(at.telling().ofOptimum())
                    .as("what it tells changes nothing")
                    .isCloseTo(at.silent().ofOptimum(), within(0.0001));
            assertThat(at.formula())
                    .isBetween(at.silent().ofOptimum(), at.silent().ofOptimum() + 0.014);
        }
    }

    @Test
    void at_a_hundred_equal_round_trips_in_a_period_arithmetic_forbids_99_percent_and_at_110_it_no_longer_does() {
        assertThat(formula(100)).isCloseTo(0.9891, within(0.00005));
        assertThat(formula(109)).isLessThan(0.99);
        assertThat(formula(110)).isGreaterThan(0.99);
        for (Results.AtDistance at : results.distances()) {
            double least = at.trips() >= 120 ? 0.99 : at.trips() >= 100 ? 0.9889 : 0;
            assertThat(at.silent().ofOptimum()).as("%s", at.trips()).isGreaterThanOrEqualTo(least);
        }
        assertThat(results.distances()).extracting(Results.AtDistance::trips).contains(100, 120);
    }

    private static double formula(int trips) {
        return results.distances().stream()
                .findFirst()
                .map(at -> new Results.AtDistance(trips, at.silent(), at.telling()).formula())
                .orElseThrow();
    }

    @Test
    void with_lanes_people_wait_less_than_a_period() {
        Outcome ours = results.lanes().get(results.lanes().size() - 1);

        assertThat(ours.refused()).isZero();
        assertThat(ours.wait(Strategy.INTERACTIVE, 99)).isLessThan(Service.PERIOD);
    }

    private static Outcome of(AtServer at, String strategy) {
        return at.outcomes().stream()
                .filter(outcome -> outcome.strategy().equals(strategy))
                .findFirst()
                .orElseThrow();
    }

    private static boolean isInFlight(AtServer at) {
        return at.service().name().startsWith("calls in flight");
    }

    /** What the page says in words of the others; the tables say it in figures. */
    @Test
    void the_others_pay_in_requests_or_in_time_as_the_page_says() {
        for (AtServer at : results.servers()) {
            Outcome atOnce = of(at, "at once, until it is 200");
            assertThat(atOnce.requests()).as("%s", atOnce).isGreaterThan(570L * Run.CALLS);
            assertThat(of(at, "bucket 0.5/s burst 5").refused()).isPositive();
            Outcome slower = of(at, "bucket 0.4/s burst 1");
            assertThat(slower.refused()).as("%s", slower).isZero();
            assertThat(slower.ofOptimum()).as("%s", slower).isCloseTo(0.79, within(0.005));
            Outcome obeying = of(at, "Retry-After per call");
            Outcome backoff = of(at, "backoff with jitter");
            if (!at.service().hints()) {
                assertThat(obeying.requests()).isEqualTo(backoff.requests());
            } else {
                assertThat(obeying.requests() / (double) Run.CALLS)
                        .as("%s", obeying)
                        .isBetween(3.9, 20.1);
                assertThat(obeying.ofOptimum())
                        .as("%s", obeying)
                        .isCloseTo(at.of(Strategy.configured()).ofOptimum(), within(0.007));
                assertThat(obeying.wait(99)).isGreaterThan(ofSeconds(isInFlight(at) ? 600 : 100));
            }
            assertThat(backoff.wait(99)).isBetween(ofSeconds(190), ofSeconds(600));
        }
    }

    @Test
    void without_known_limits_ours_is_refused_as_rarely_as_the_page_says() {
        double periods = 59;
        for (AtServer at : results.servers()) {
            Outcome untold = of(at, "ours, unconfigured");
            Outcome learning = of(at, "ours, learning");
            if (isInFlight(at)) {
                assertThat(untold.refused())
                        .as("%s", untold)
                        .isEqualTo(at.service().hints() ? 3 : 6);
                assertThat(learning.refused()).as("%s", learning).isEqualTo(untold.refused());
                assertThat(untold.ofOptimum()).as("%s", untold).isCloseTo(0.78, within(0.005));
            } else if (at.service().hints()) {
                assertThat(untold.refused() / periods).as("%s", untold).isCloseTo(0.5, within(0.05));
                assertThat(learning.refused()).as("%s", learning).isZero();
                assertThat(Math.min(untold.ofOptimum(), learning.ofOptimum()))
                        .as("%s, %s", untold, learning)
                        .isGreaterThanOrEqualTo(0.86);
            } else {
                assertThat(untold.refused() / periods).as("%s", untold).isBetween(3.0, 7.0);
                assertThat(of(at, "backoff with jitter").refused() / periods).isBetween(26.0, 39.5);
                assertThat(untold.ofOptimum()).as("%s", untold).isGreaterThanOrEqualTo(0.585);
            }
        }
    }
}
