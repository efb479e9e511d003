package io.github.reactorratelimit.test.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.Dialect;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A dialect as a user may write one, which reads {@code Retry-At} and errs in one way, and what its contract says of it. */
class BrokenDialectsTest {

    private static final String HOSTILE = "whatever_stands_in_a_header_it_does_not_throw_and_no_time_is_negative";

    /** How it errs, which rule is broken by that first of all, and what is said. */
    enum Fault {
        NONE("", ""),
        READS_ONE_SPELLING("names_are_read_in_any_case", "[names in upper case, of 429, RETRY-AT: "),
        THROWS(HOSTILE, "Expecting a dialect never to throw, but it threw java.time.format.DateTimeParseException"),
        TELLS_OF_THE_PAST(
                "the_status_is_that_of_the_response_and_no_time_is_negative",
                "delay must not be negative, was PT-53S: 200, Retry-At: Thu, 01 Jan 2026 00:00:07 GMT, Date: Thu, "),
        GOES_BY_ITS_OWN_CLOCK(
                "a_clock_that_is_wrong_changes_nothing_where_the_response_has_a_date",
                "[by a clock that is a day ahead, of 429, "),
        COUNTS("the_same_response_is_read_the_same_way_each_time", "[the second reading, of 200, "),
        FORGETS_THE_STATUS("the_status_is_that_of_the_response_and_no_time_is_negative", "[the status of 304, "),
        SAYS_NOTHING_OF_SUCCESSES("the_status_is_that_of_the_response_and_no_time_is_negative", "[the signal of 200, "),
        TAKES_ALL_FOR_REFUSED("an_answer_without_headers_says_nothing", "[whether a bare 200 is throttled]"),
        TAKES_NONE_FOR_REFUSED("an_answer_without_headers_says_nothing", "[whether a bare 429 is throttled]"),
        READS_WHAT_IS_LAST(
                "headers_that_it_does_not_know_change_nothing", "[with headers that it can't know, of 429, "),
        BELIEVES_BODIES("whatever_the_body_is_it_does_not_throw", "ArrayIndexOutOfBoundsException"),
        READS_LESS_THAN_NOTHING("whatever_the_body_is_it_does_not_throw", "[how much of a body is read, of 200, ");

        private final String rule;
        private final String says;

        Fault(String rule, String says) {
            this.rule = rule;
            this.says = says;
        }
    }

    private static Fault fault = Fault.NONE;

    private static boolean errs(Fault one) {
        return fault == one;
    }

    private static final class RetryAt implements Dialect {

        private int reads;

        private static @Nullable String read(Headers headers, String wanted) {
            String[] found = new String[1];
            headers.forEach((name, value) -> {
                boolean same = errs(Fault.READS_ONE_SPELLING) ? name.equals(wanted) : name.equalsIgnoreCase(wanted);
                found[0] = same ? value : found[0];
            });
            return found[0];
        }

        private static @Nullable ZonedDateTime date(@Nullable String text) {
            try {
                return text == null ? null : ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME);
            } catch (DateTimeParseException e) {
                if (errs(Fault.THROWS)) {
                    throw e;
                }
                return null;
            }
        }

        @Override
        @SuppressWarnings("NullAway") // That is the fault.
        public RateLimitSignal read(int status, Headers headers, long wallNowMillis) {
            if (errs(Fault.SAYS_NOTHING_OF_SUCCESSES) && status == 200 && read(headers, "Retry-At") != null) {
                return null;
            }
            RateLimitSignal.Builder signal = RateLimitSignal.of(errs(Fault.FORGETS_THE_STATUS) ? 200 : status);
            boolean refused = status == 429 && !errs(Fault.TAKES_NONE_FOR_REFUSED);
            signal.throttled(refused || errs(Fault.TAKES_ALL_FOR_REFUSED));
            ZonedDateTime at = date(read(headers, "Retry-At"));
            ZonedDateTime now = date(read(headers, "Date"));
            if (at != null) {
                boolean own = now == null || errs(Fault.GOES_BY_ITS_OWN_CLOCK);
                long from = own ? wallNowMillis : now.toInstant().toEpochMilli();
                Duration delay = Duration.ofMillis(at.toInstant().toEpochMilli() - from);
                signal.delay(delay.isNegative() && !errs(Fault.TELLS_OF_THE_PAST) ? Duration.ZERO : delay);
            }
            String[] last = new String[1];
            headers.forEach((name, value) -> last[0] = value);
            String reason = errs(Fault.READS_WHAT_IS_LAST) ? last[0] : errs(Fault.COUNTS) ? "" + reads++ : null;
            return reason == null ? signal.build() : signal.reason(reason).build();
        }

        @Override
        public int bodyBytes(int status, Headers headers) {
            return errs(Fault.READS_LESS_THAN_NOTHING) ? -1 : 0;
        }

        @Override
        public RateLimitSignal readBody(int status, Headers headers, byte[] body, long wallNowMillis) {
            RateLimitSignal signal = read(status, headers, wallNowMillis);
            boolean object = errs(Fault.BELIEVES_BODIES) && body[0] == '{';
            return object ? signal.toBuilder().reason("a body").build() : signal;
        }
    }

    static class RetryAtTest extends DialectContract {

        @Override
        protected Dialect dialect() {
            return new RetryAt();
        }

        @Override
        protected List<Headers> samples() {
            return List.of(
                    Headers.of("Retry-At", "Thu, 01 Jan 2026 00:00:07 GMT", "Date", "Thu, 01 Jan 2026 00:01:00 GMT"),
                    Headers.of("Retry-At", "Thu, 01 Jan 2026 00:00:07 GMT"));
        }
    }

    private static Map<String, String> broken(Fault how) {
        fault = how;
        return BrokenContractsTest.messages(RetryAtTest.class);
    }

    @Test
    void one_that_does_not_err_keeps_the_contract() {
        assertThat(broken(Fault.NONE)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
    void one_that_errs_is_told_what_is_wrong(Fault how) {
        assertThat(broken(how))
                .hasEntrySatisfying(how.rule, said -> assertThat(said).contains(how.says));
    }

    @Test
    void each_rule_is_broken_by_one() {
        Set<String> broken = new TreeSet<>();
        for (Fault how : Fault.values()) {
            broken.addAll(broken(how).keySet());
        }
        assertThat(broken).isEqualTo(BrokenStoresTest.rulesOf(DialectContract.class));
    }
}
