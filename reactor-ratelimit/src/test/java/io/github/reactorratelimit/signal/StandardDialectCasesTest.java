package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Every row of the header cases that must hold without knowing the vendor, read by the standard dialect. A row that is
 * disputed would be named in {@code docs/dialects.md} with its source; there is none.
 */
class StandardDialectCasesTest {

    static final int ROWS = 192;

    private static List<HeaderCase> rows() {
        return HeaderCase.all().stream()
                .filter(row -> row.isTagged("generic]") || row.isTagged("policy]"))
                .toList();
    }

    @Test
    void there_are_192_rows_and_none_is_left_out() {
        assertThat(rows()).hasSize(ROWS);
    }

    @TestFactory
    @DisplayName("the standard dialect reads all " + ROWS + " generic and policy rows")
    Stream<DynamicTest> the_standard_dialect_reads_every_generic_row() {
        List<HeaderCase> rows = rows();
        return rows.stream()
                .map(row -> DynamicTest.dynamicTest(
                        (rows.indexOf(row) + 1) + " of " + rows.size() + ": " + row + " " + row.rationale(),
                        () -> holds(Dialects.standard(), row)));
    }

    static void holds(Dialect dialect, HeaderCase row) {
        RateLimitSignal signal = dialect.read(row.status(), row.headers(), row.now());

        // what a vendor advises where nobody says anything is no time of the response's
        boolean unsaid = signal.guessed() && row.rationale().startsWith("[generic]");
        assertThat(unsaid ? "none" : HeaderCase.millis(signal.delay()))
                .as("wait: " + signal)
                .isEqualTo(row.delay());
        assertThat(signal.throttled()).as("throttled: " + signal).isEqualTo(row.throttled());
        Quota binding = HeaderCase.binding(signal.quotas());
        if (!row.remaining().isEmpty()) {
            assertThat(binding == null ? "no quota" : String.valueOf(binding.remaining()))
                    .as("remaining: " + signal)
                    .isEqualTo(row.remaining());
        }
        if (!row.limit().isEmpty()) {
            assertThat(binding == null ? "no quota" : String.valueOf(binding.limit()))
                    .as("limit: " + signal)
                    .isEqualTo(row.limit());
        }
    }
}
