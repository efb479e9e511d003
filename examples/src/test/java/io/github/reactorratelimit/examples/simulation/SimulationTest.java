package io.github.reactorratelimit.examples.simulation;

import static org.assertj.core.api.Assertions.assertThat;

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
                    .doesNotContainPattern("\\d{4}-\\d{2}-\\d{2}|\\d{1,2}:\\d{2}:\\d{2}|/home/|/root/");
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
}
