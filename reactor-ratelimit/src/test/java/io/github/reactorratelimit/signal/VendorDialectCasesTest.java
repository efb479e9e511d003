package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Every row of the five vendors that have a dialect of their own, headers and bodies. */
class VendorDialectCasesTest {

    private static final int HEADER_ROWS = 36;
    private static final int BODY_ROWS = 22;
    /** An error event in a stream that began with 200: no adapter waits for it, whoever reads the stream tells it. */
    private static final String IN_STREAM = "BC-023";

    /** The dialect that reads a vendor's rows; the standard one for rows that need no vendor, null for other vendors. */
    private static @Nullable Dialect dialect(String vendor) {
        return switch (vendor) {
            case "github", "github-graphql" -> Dialects.gitHub();
            case "microsoft-graph", "msgraph-onenote", "msgraph-identity", "sharepoint" -> Dialects.microsoftGraph();
            case "openai", "groq", "openrouter" -> Dialects.openAi();
            case "anthropic" -> Dialects.anthropic();
            case "discord" -> Dialects.discord();
            default -> null;
        };
    }

    // Discord's API before version 8 counts in milliseconds: a dialect of its own, made by alias in OwnDialectTest
    private static boolean isOtherVersion(String rationale) {
        return rationale.startsWith("[profile:discord-v7]");
    }

    private static List<HeaderCase> headerRows() {
        return HeaderCase.all().stream()
                .filter(row -> dialect(row.vendor()) != null && !isOtherVersion(row.rationale()))
                .toList();
    }

    private static List<String[]> bodyRows() {
        return HeaderCase.rows("/signal/body-cases.tsv").stream()
                .filter(row -> dialect(row[1]) != null || row[8].startsWith("[generic]"))
                .filter(row -> !isOtherVersion(row[8]))
                .toList();
    }

    @Test
    void no_row_of_the_five_vendors_is_left_out() {
        assertThat(headerRows()).hasSize(HEADER_ROWS);
        assertThat(bodyRows()).hasSize(BODY_ROWS);
    }

    @TestFactory
    @DisplayName("the vendors' dialects read all " + HEADER_ROWS + " of their header rows")
    Stream<DynamicTest> the_dialects_read_every_header_row_of_their_vendors() {
        return headerRows().stream()
                .map(row -> DynamicTest.dynamicTest(row + " " + row.rationale(), () -> {
                    Dialect dialect = Objects.requireNonNull(dialect(row.vendor()), row.vendor());
                    StandardDialectCasesTest.holds(dialect, row);
                }));
    }

    @TestFactory
    @DisplayName("the dialects read all " + BODY_ROWS + " body rows, the hostile ones included")
    Stream<DynamicTest> the_dialects_read_every_body_row_of_their_vendors() {
        return bodyRows().stream()
                .map(row -> DynamicTest.dynamicTest(row[0] + " " + row[1] + " " + row[8], () -> bodyHolds(row)));
    }

    private static void bodyHolds(String[] row) {
        Dialect own = dialect(row[1]);
        Dialect dialect =
                row[0].equals("BC-034") ? Dialects.microsoftGraphBatch() : own == null ? Dialects.standard() : own;
        Headers headers = HeaderCase.headers(row[4]);
        int status = Integer.parseInt(row[3]);
        long now = Long.parseLong(row[2]);
        byte[] body = row[5].getBytes(StandardCharsets.UTF_8);

        // as an adapter does it: the body only if asked for, and no more of it
        int asked = row[0].equals(IN_STREAM) ? body.length : dialect.bodyBytes(status, headers);
        RateLimitSignal signal = asked == 0
                ? dialect.read(status, headers, now)
                : dialect.readBody(status, headers, Arrays.copyOf(body, Math.min(asked, body.length)), now);

        // of a key that comes twice either value will do
        List<String> waits = row[0].equals("BC-068") ? List.of("5000", "64570") : List.of(row[6]);
        assertThat(HeaderCase.millis(signal.delay())).as("wait: " + signal).isIn(waits);
        assertThat(signal.throttled()).as("throttled: " + signal).isEqualTo(Boolean.parseBoolean(row[7]));
        boolean terminal = row[8].contains("terminal");
        assertThat(signal.terminal() != null).as("terminal: " + signal).isEqualTo(terminal);
    }
}
