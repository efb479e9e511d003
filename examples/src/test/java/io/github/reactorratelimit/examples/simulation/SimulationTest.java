package io.github.reactorratelimit.examples.simulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.github.reactorratelimit.examples.simulation.Results.AtServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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
    void known_limits_are_used_to_99_percent_but_for_a_window_that_was_not_told() {
        for (AtServer at : results.servers()) {
            double least = at.service().name().startsWith("aligned") ? 0.98 : 0.99;
            assertThat(at.of(Strategy.configured()).ofOptimum())
                    .as(at.service().name())
                    .isGreaterThanOrEqualTo(least);
        }
    }

    @Test
    void a_period_costs_a_round_trip_and_no_more_than_a_second() {
        for (Results.AtDistance at : results.distances()) {
            double trip = at.roundTrip().toMillis() / 1e3;
            double finished = 11 * (10.01 + Math.min(1, trip)) + trip;

            assertThat(at.silent().refused() + at.telling().refused()).isZero();
            assertThat(at.silent().ofOptimum()).as(at.toString()).isGreaterThan(0.999 * 110 / finished);
        }
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
            assertThat(atOnce.requests()).as("%s", atOnce).isGreaterThan(1_000L * Run.CALLS);
            assertThat(of(at, "bucket 0.5/s burst 5").refused()).isPositive();
            Outcome slower = of(at, "bucket 0.4/s burst 1");
            assertThat(slower.refused()).as("%s", slower).isZero();
            assertThat(slower.ofOptimum()).as("%s", slower).isBetween(0.73, 0.77);
            Outcome obeying = of(at, "Retry-After per call");
            if (!at.service().hints()) {
                assertThat(obeying.requests())
                        .isEqualTo(of(at, "backoff with jitter").requests());
            } else {
                assertThat(obeying.requests()).as("%s", obeying).isGreaterThanOrEqualTo(6L * Run.CALLS);
                assertThat(obeying.ofOptimum())
                        .as("%s", obeying)
                        .isCloseTo(at.of(Strategy.configured()).ofOptimum(), within(0.011));
            }
        }
    }

    @Test
    void without_known_limits_ours_is_refused_as_rarely_as_the_page_says() {
        double periods = 11;
        for (AtServer at : results.servers()) {
            Outcome untold = of(at, "ours, unconfigured");
            Outcome learning = of(at, "ours, learning");
            if (at.service().hints()) {
                assertThat(untold.refused()).as("%s", untold).isBetween(2L, 3L);
                assertThat(learning.refused()).as("%s", learning).isEqualTo(isInFlight(at) ? 3 : 0);
                double least = isInFlight(at) ? 0.65 : 0.88;
                assertThat(Math.min(untold.ofOptimum(), learning.ofOptimum()))
                        .as("%s, %s", untold, learning)
                        .isGreaterThanOrEqualTo(least);
            } else if (isInFlight(at)) {
                assertThat(untold.refused()).as("%s", untold).isEqualTo(6);
            } else {
                assertThat(untold.refused() / periods).as("%s", untold).isBetween(3.0, 7.0);
                assertThat(of(at, "backoff with jitter").refused() / periods).isBetween(50.0, 54.0);
                assertThat(untold.ofOptimum()).as("%s", untold).isGreaterThanOrEqualTo(0.6);
            }
        }
    }

    @Test
    void from_120_round_trips_in_a_period_on_99_percent_of_the_optimum_are_reached() {
        for (Results.AtDistance at : results.distances()) {
            if (at.trips() >= 120) {
                // As the table rounds it.
                assertThat(at.silent().ofOptimum()).as("%s", at.trips()).isGreaterThanOrEqualTo(0.9895);
            }
        }
        assertThat(results.distances()).anyMatch(at -> at.trips() == 120);
    }
}
