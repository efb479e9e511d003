package io.github.reactorratelimit.signal;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One row of {@code signal/header-cases.tsv}: a response head and what it means. */
record HeaderCase(
        String id,
        String vendor,
        long now,
        int status,
        Headers headers,
        String delay,
        String remaining,
        String limit,
        boolean throttled,
        String rationale) {

    static List<HeaderCase> all() {
        List<HeaderCase> cases = new ArrayList<>();
        for (String[] cells : rows("/signal/header-cases.tsv")) {
            cases.add(new HeaderCase(
                    cells[0],
                    cells[1],
                    Long.parseLong(cells[2]),
                    Integer.parseInt(cells[3]),
                    headers(cells[4]),
                    cells[5],
                    cells[6],
                    cells[7],
                    Boolean.parseBoolean(cells[8]),
                    cells[9]));
        }
        return cases;
    }

    /** The rows of a resource without the first, cell by cell. */
    static List<String[]> rows(String resource) {
        try (InputStream in = Objects.requireNonNull(HeaderCase.class.getResourceAsStream(resource), resource);
                BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            return reader.lines().skip(1).map(line -> line.split("\t", -1)).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static Headers headers(String cell) {
        List<String> namesAndValues = new ArrayList<>();
        for (String line : cell.split(" \\| ", -1)) {
            int colon = line.indexOf(':');
            namesAndValues.add(line.substring(0, colon));
            namesAndValues.add(line.substring(colon + 1));
        }
        return Headers.of(namesAndValues.toArray(new String[0]));
    }

    /** Milliseconds, rounded up and saturated, or {@code none}. */
    static String millis(@Nullable Duration wait) {
        if (wait == null) {
            return "none";
        }
        long up = (wait.getNano() + 999_999L) / 1_000_000;
        long seconds = wait.getSeconds();
        return String.valueOf(seconds > (Long.MAX_VALUE - up) / 1000 ? Long.MAX_VALUE : seconds * 1000 + up);
    }

    /**
     * The quota that a row with several speaks of. Of the exhausted ones that with the latest reset, one without a reset
     * coming last; if none is exhausted, the one with the least left; the first of equals.
     */
    static @Nullable Quota binding(List<Quota> quotas) {
        Quota exhausted = null;
        for (Quota quota : quotas) {
            if (quota.exhausted() && (exhausted == null || reset(quota).compareTo(reset(exhausted)) > 0)) {
                exhausted = quota;
            }
        }
        if (exhausted != null) {
            return exhausted;
        }
        return quotas.stream()
                .filter(quota -> quota.remaining() >= 0)
                .min(Comparator.comparingLong(Quota::remaining))
                .orElse(quotas.isEmpty() ? null : quotas.get(0));
    }

    private static Duration reset(Quota quota) {
        Duration reset = quota.reset();
        return reset == null ? Duration.ofSeconds(-1) : reset;
    }

    boolean isTagged(String tag) {
        return rationale.startsWith("[" + tag);
    }

    @Override
    public String toString() {
        return id + " " + vendor;
    }
}
