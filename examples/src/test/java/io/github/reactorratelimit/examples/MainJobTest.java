package io.github.reactorratelimit.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.Scenario.Result;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MainJobTest {

    private static final Duration A_MINUTE = Duration.ofMinutes(1);

    static Stream<String> names() {
        return Scenarios.all().stream().map(Scenario::name);
    }

    private static Scenario named(String name) {
        return Scenarios.all().stream()
                .filter(scenario -> scenario.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("names")
    void a_scenario_reaches_its_figures(String name) {
        Virtually.run(() -> named(name).run(new SimulatedApi(), new Progress(List.of())), A_MINUTE, results -> {
            Result result = results.get(0);
            assertThat(result.reached()).as("%s", result.figures()).isTrue();
        });
    }

    @Test
    void twelve_searches_take_the_two_full_windows_of_the_server_and_not_more_than_their_margins() {
        Virtually.run(
                () -> named("search").run(new SimulatedApi(), new Progress(List.of())),
                A_MINUTE,
                results -> assertThat(results.get(0).figures().time())
                        .isBetween(Duration.ofSeconds(20), Duration.ofMillis(20_060)));
    }

    @Test
    void all_scenarios_run_side_by_side_and_print_progress_and_one_line_each_for_machines() {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);

        Virtually.run(
                () -> MainJob.run(new SimulatedApi(), out),
                A_MINUTE,
                missed -> assertThat(missed).containsExactly(List.of()));

        List<String> lines = printed.toString(StandardCharsets.UTF_8).lines().toList();
        assertThat(lines)
                .contains(
                        "  2 s  unlimited 5/12 (ended)   search 5/12   items 16/16 (ended)   misconfigured 4/12   two-tokens 10/24   learned 5/12");
        assertThat(lines.stream().filter(line -> line.startsWith("scenario=")))
                .satisfiesExactly(
                        line -> assertThat(line)
                                .isEqualTo("scenario=unlimited sent=12 done=5 refused=7 unavailable=0 seconds=0.03"),
                        line -> assertThat(line)
                                .matches("scenario=search sent=12 done=12 refused=0 unavailable=0 seconds=20\\.\\d\\d"),
                        line -> assertThat(line)
                                .matches(
                                        "scenario=items sent=18 done=16 refused=0 unavailable=2 seconds=[01]\\.\\d\\d"),
                        line -> assertThat(line)
                                .matches("scenario=misconfigured sent=12 done=12 refused=0 unavailable=0"
                                        + " seconds=2\\d\\.\\d\\d"),
                        line -> assertThat(line)
                                .matches("scenario=two-tokens sent=24 done=24 refused=0 unavailable=0"
                                        + " seconds=20\\.\\d\\d"),
                        line -> assertThat(line)
                                .matches("scenario=learned sent=12 done=12 refused=0 unavailable=0"
                                        + " seconds=2[0-4]\\.\\d\\d"));
    }

    @Test
    void a_missed_figure_is_named() {
        Target target = new Target(12, 12, 0, 0, Duration.ofSeconds(20));
        Scenario scenario = new Scenario("search", "/search", List.of("search"), 12, null, target);

        assertThat(List.of(
                        new Figures(13, 12, 0, 0, Duration.ofSeconds(20)),
                        new Figures(12, 11, 0, 0, Duration.ofSeconds(20)),
                        new Figures(12, 12, 1, 0, Duration.ofSeconds(20)),
                        new Figures(12, 12, 0, 1, Duration.ofSeconds(20)),
                        new Figures(12, 12, 0, 0, Duration.ofSeconds(20).plusNanos(1))))
                .allSatisfy(figures -> assertThat(Report.missed(List.of(new Result(scenario, figures))))
                        .containsExactly("search"));
        assertThat(Report.missed(List.of(new Result(scenario, new Figures(12, 12, 0, 0, Duration.ofSeconds(20))))))
                .isEmpty();
    }
}
