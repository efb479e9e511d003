package io.github.reactorratelimit.signal;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Dialects that users write themselves, in a few lines each, held against the rows of servers that we have none for. */
class OwnDialectTest {

    private static final Dialect ORACLE = Dialects.standard()
            .alias("RequestLimit-Default-Remaining", "x-ratelimit-remaining")
            .alias("RequestLimit-Default-RetryAfter", "retry-after-ms");

    private static final Dialect PRISJAKT = Dialects.standard().alias("X-Rate-Limit-Reset", "X-Rate-Limit-Reset-Ms");

    private static final Dialect OLD_DISCORD = Dialects.standard().alias("Retry-After", "retry-after-ms");

    private static final Dialect AIRTABLE = Dialects.standard()
            .adjust((signal, headers) -> signal.throttled() && signal.delay() == null
                    ? signal.toBuilder()
                            .delay(Duration.ofSeconds(30))
                            .reason("Airtable: 30 s")
                            .build()
                    : signal);

    private static final Dialect BINANCE = Dialects.standard()
            .adjust((signal, headers) ->
                    signal.status() == 418 ? signal.toBuilder().throttled(true).build() : signal);

    /** A used/limit fraction and a leak of 2 per second. */
    private static final Dialect SHOPIFY = Dialects.standard().adjust((signal, headers) -> {
        String used = headers.first("X-Shopify-Shop-Api-Call-Limit");
        if (used == null || !used.matches("[0-9]{1,4}/[0-9]{1,4}")) {
            return signal;
        }
        long level = Long.parseLong(used.substring(0, used.indexOf('/')));
        long size = Long.parseLong(used.substring(used.indexOf('/') + 1));
        long left = Math.max(0, size - level);
        Duration leak = left == 0 ? Duration.ofMillis(500) : null;
        Quota bucket = new Quota("", "requests", size, left, level, leak, null, null);
        return signal.toBuilder().quotas(List.of(bucket)).delay(leak).build();
    });

    @TestFactory
    Stream<DynamicTest> a_dialect_of_ten_lines_reads_its_vendors_rows() {
        return HeaderCase.all().stream()
                .filter(row -> List.of("MS-010", "VN-002", "DC-005", "SL-007", "ST-005", "SH-003", "HS-002")
                        .contains(row.id()))
                .map(row -> DynamicTest.dynamicTest(
                        row + " " + row.rationale(), () -> StandardDialectCasesTest.holds(of(row.id()), row)));
    }

    private static Dialect of(String id) {
        return switch (id) {
            case "MS-010" -> ORACLE;
            case "VN-002" -> PRISJAKT;
            case "DC-005" -> OLD_DISCORD;
            case "SL-007" -> AIRTABLE;
            case "ST-005" -> BINANCE;
            case "SH-003" -> SHOPIFY;
            default -> Dialects.standard();
        };
    }

    @Test
    void an_alias_hides_neither_the_body_nor_the_other_headers() {
        Dialect dialect = Dialects.openAi().alias("x-wait", "retry-after");
        Headers headers = Headers.of("X-Wait", "7", "X-RateLimit-Remaining", "0");
        byte[] body = "{\"error\":{\"code\":\"insufficient_quota\"}}".getBytes(java.nio.charset.StandardCharsets.UTF_8);

        assertThat(dialect.bodyBytes(429, headers)).isPositive();
        RateLimitSignal signal = dialect.readBody(429, headers, body, 0);

        assertThat(signal.hint()).isEqualTo(Duration.ofSeconds(7));
        assertThat(signal.quotas()).hasSize(1);
        assertThat(signal.terminal()).isEqualTo("insufficient_quota");
    }

    @Test
    void an_adjustment_sees_what_the_body_told() {
        Dialect dialect = Dialects.openAi()
                .adjust((signal, headers) -> signal.terminal() != null
                        ? signal.toBuilder()
                                .scope(headers.first("openai-project"))
                                .build()
                        : signal);
        byte[] body = "{\"error\":{\"code\":\"insufficient_quota\"}}".getBytes(java.nio.charset.StandardCharsets.UTF_8);

        RateLimitSignal signal = dialect.readBody(429, Headers.of("OpenAI-Project", " proj_1 "), body, 0);

        assertThat(Objects.requireNonNull(signal.scope())).isEqualTo("proj_1");
    }
}
