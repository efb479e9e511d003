package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Random heads, each said in another way that must not matter: another order, other letters, blanks, lines of no use. */
class SameMeaningTest {

    private static final int HEADS = 10_000;
    private static final long NOW = 1_700_000_000_000L;
    private static final int[] STATUSES = {200, 301, 403, 404, 429, 503};
    private static final String[] COUNTS = {"0", "1", "5", "0.0", "0.5", "100", "-1", "x", "", "\"0\"", "00"};
    private static final String[] RESETS = {
        "0",
        "5",
        "3000",
        "1700000030",
        "1700000099.5",
        "1700000030000",
        "6m0s",
        "2023-11-14T22:14:00Z",
        "Tue, 14 Nov 2023 22:14:10 GMT",
        "x",
        "",
        "-5"
    };
    private static final String[] HINTS = {
        "0", "5", "1.5", "30s", "Tue, 14 Nov 2023 22:14:10 GMT", "x", "-1", "5, 9", "x, 7"
    };
    private static final String[] LISTS = {
        "\"a\";r=0;t=5", "\"b\";r=0;t=50", "\"c\";r=3;t=70", "\"a\";r=0", "\"x", "limit=5, remaining=0, reset=9"
    };
    private static final String[] POLICIES = {"\"a\";q=10;w=60", "10;w=60", "5;w=1, 10;w=60"};
    private static final String[] NO_HINTS = {"soon", "-5", "NaN", "", "1e3", "null", "30d"};

    private final Random random = new Random(20_260_102L);

    private final Dialect[] dialects = {
        Dialects.standard(),
        Dialects.gitHub(),
        Dialects.microsoftGraph(),
        Dialects.openAi(),
        Dialects.anthropic(),
        Dialects.discord()
    };

    /** One header line. */
    private record Line(String name, String value) {}

    private String any(String... of) {
        return of[random.nextInt(of.length)];
    }

    private boolean oneIn(int many) {
        return random.nextInt(many) == 0;
    }

    private List<Line> head() {
        List<Line> lines = new ArrayList<>();
        for (int i = random.nextInt(3); i >= 0; i--) {
            String family = any("X-RateLimit-", "RateLimit-", "x-rate-limit-");
            String dimension = any("", "", "-Requests", "-Tokens");
            lines.add(new Line(family + "Limit" + dimension, any(COUNTS)));
            lines.add(new Line(family + "Remaining" + dimension, any(COUNTS)));
            lines.add(new Line(family + any("Reset", "Reset", "Reset-After") + dimension, any(RESETS)));
            lines.add(new Line(family + "Window" + dimension, any("60", "1m", "x")));
        }
        lines.add(new Line(any("Retry-After", "retry-after-ms", "X-Retry-In", "X-RateLimit-Retry-After"), any(HINTS)));
        lines.add(new Line("RateLimit", any(LISTS)));
        lines.add(new Line("RateLimit-Policy", any(POLICIES)));
        lines.add(new Line("Date", any("Tue, 14 Nov 2023 22:13:20 GMT", "Tue, 14 Nov 2023 22:23:20 GMT", "x", "")));
        lines.add(new Line("Age", any("0", "x", "5")));
        lines.removeIf(line -> oneIn(line.name().equals("Age") ? 2 : 4));
        return lines;
    }

    private void meansTheSame(UnaryOperator<List<Line>> otherwise) {
        for (int i = 0; i < HEADS; i++) {
            List<Line> lines = head();
            List<Line> others = otherwise.apply(new ArrayList<>(lines));
            Dialect dialect = dialects[random.nextInt(dialects.length)];
            int status = STATUSES[random.nextInt(STATUSES.length)];
            assertThat(meaning(dialect, status, others))
                    .as("%s, %s: %s for %s", dialect, status, others, lines)
                    .isEqualTo(meaning(dialect, status, lines));
        }
    }

    private static List<String> meaning(Dialect dialect, int status, List<Line> lines) {
        RateLimitSignal signal = dialect.read(
                status,
                Headers.of(lines.stream()
                        .flatMap(line -> Stream.of(line.name(), line.value()))
                        .toArray(String[]::new)),
                NOW);
        List<String> meaning = new ArrayList<>(
                signal.quotas().stream().map(Quota::toString).sorted().toList());
        meaning.add(signal.throttled() + " " + signal.delay() + " " + signal.hint() + " " + signal.coarse());
        return meaning;
    }

    @Test
    void in_another_order_of_names() {
        meansTheSame(lines -> {
            Set<String> names = new HashSet<>();
            boolean distinct =
                    lines.stream().allMatch(line -> names.add(line.name().toLowerCase(Locale.ROOT)));
            if (distinct) {
                Collections.shuffle(lines, random);
            }
            return lines;
        });
    }

    @Test
    void in_other_letters_and_with_blanks_around() {
        meansTheSame(lines -> {
            lines.replaceAll(line -> new Line(
                    oneIn(2)
                            ? line.name().toUpperCase(Locale.ROOT)
                            : line.name().toLowerCase(Locale.ROOT),
                    any("", " ", "\t", " \t ") + line.value() + any("", " ", "\t")));
            return lines;
        });
    }

    @Test
    void with_a_hint_that_is_none() {
        meansTheSame(lines -> {
            Line none = new Line(any("Retry-After", "X-Retry-In", "retry-after-ms"), any(NO_HINTS));
            lines.add(random.nextInt(lines.size() + 1), none);
            return lines;
        });
    }

    @Test
    void with_a_field_that_breaks_the_grammar() {
        meansTheSame(lines -> {
            Line broken =
                    new Line(any("RateLimit", "RateLimit-Policy"), any("\"x", "a b", ",", "", "=", "\"z\" ;r=0;t=9"));
            lines.add(random.nextInt(lines.size() + 1), broken);
            return lines;
        });
    }

    @Test
    void with_a_date_and_an_age_behind_that_say_nothing_and_lines_of_other_names() {
        meansTheSame(lines -> {
            lines.add(new Line("Date", any("x", "", "yesterday")));
            lines.add(new Line("Age", any("x", "", "-3")));
            lines.add(0, new Line(any("Server", "X-Limit", "X-Remaining", "ratelimi", "X-RateLimited-Reset"), "0"));
            return lines;
        });
    }
}
