package io.github.reactorratelimit;

import static io.github.reactorratelimit.Books.EVENT;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Booking.Phase;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class WindowMeterTest {

    /** 10 s and a margin of 10 ms. */
    private static final Limit FIVE = Limit.of(5, ofSeconds(10));

    private static final Duration SPAN = ofMillis(10_010);

    @Test
    void all_go_at_once_and_each_comes_back_one_span_after_it_was_taken() {
        new Books(FIVE).follow(new long[][] {
            // at ms, ask, expected wait ms
            {0, 1, 0},
            {3_000, 1, 0},
            {4_000, 3, 0},
            {4_000, 1, 6_010},
            {10_009, 1, 1},
            {10_010, 1, 0},
            {10_010, 1, 3_000},
            {13_010, 2, 1_000},
            {13_010, 5, 10_010 - 3_000},
            {13_010, 1, 0},
            {14_010, 3, 0},
            {14_010, 1, 6_010},
        });
    }

    @ParameterizedTest
    @CsvSource({"1, 1000000", "100, 1000000", "1000, 1000000", "1001, 1001000", "10000, 10000000", "3600000, 3600000000"
    })
    void the_margin_is_a_thousandth_of_the_period_and_at_least_a_millisecond(long periodMillis, long marginNanos) {
        Books books = new Books(Limit.of(1, ofMillis(periodMillis)));
        books.take(1);
        assertThat(books.waitFor(1)).isEqualTo(ofMillis(periodMillis).plusNanos(marginNanos));
    }

    @Test
    void a_permit_that_is_not_sent_yet_counts_until_it_is_told() {
        Books books = new Books(Limit.of(1, ofSeconds(10)));
        Books.Entry permit = books.take(1, Phase.UNSENT);
        books.follow(new long[][] {{0, 1, EVENT}, {60_000, 1, EVENT}});
        permit.sent();
        books.follow(new long[][] {{60_000, 1, 11_010}, {60_200, 1, 10_810}});
        permit.head();
        books.follow(new long[][] {{60_200, 1, 10_010}, {70_209, 1, 1}, {70_210, 1, 0}});
    }

    @Test
    void a_permit_without_a_head_counts_from_a_transit_after_it_was_sent() {
        Books books = new Books(Limit.of(1, ofSeconds(10)));
        books.take(1, Phase.SENT);
        books.follow(
                new long[][] {{0, 1, 11_010}, {500, 1, 10_510}, {1_000, 1, 10_010}, {11_009, 1, 1}, {11_010, 1, 0}});
    }

    @Test
    void a_head_that_is_later_than_the_transit_does_not_prolong_it() {
        Books books = new Books(Limit.of(1, ofSeconds(10)));
        Books.Entry permit = books.take(1, Phase.SENT);
        books.at(1_000);
        permit.head();
        books.follow(new long[][] {{1_000, 1, 10_010}, {11_010, 1, 0}});
        books.at(30_000);
        Books.Entry late = books.take(1, Phase.SENT);
        books.at(35_000);
        late.head();
        books.follow(new long[][] {{35_000, 1, 6_010}});
    }

    @Test
    void an_attempt_that_ends_without_a_head_keeps_its_transit() {
        Books books = new Books(Limit.of(1, ofSeconds(10)));
        Books.Entry permit = books.take(1, Phase.SENT);
        books.at(300);
        permit.end();
        books.follow(new long[][] {{300, 1, 10_710}, {11_010, 1, 0}});
    }

    @Test
    void an_attempt_that_ends_unsent_counts_from_a_transit_after_its_end() {
        Books books = new Books(Limit.of(1, ofSeconds(10)));
        Books.Entry permit = books.take(1, Phase.UNSENT);
        books.at(3_000);
        permit.end();
        books.follow(new long[][] {{3_000, 1, 11_010}, {14_010, 1, 0}});
    }

    @Test
    void a_strict_permit_counts_from_its_head_however_late() {
        Books books = new Books(Limit.of(1, ofSeconds(10)).strict());
        Books.Entry permit = books.take(1, Phase.SENT);
        books.follow(new long[][] {{0, 1, EVENT}, {19_000, 1, EVENT}});
        permit.head();
        books.follow(new long[][] {{19_000, 1, 10_010}, {29_010, 1, 0}});
    }

    @Test
    void a_strict_permit_without_a_head_counts_from_a_transit_after_its_end() {
        Books books = new Books(Limit.of(1, ofSeconds(10)).strict());
        Books.Entry permit = books.take(1, Phase.UNSENT).sent();
        books.at(20_000);
        permit.end();
        books.follow(new long[][] {{20_000, 1, 11_010}, {31_010, 1, 0}});
    }

    @Test
    void a_wait_only_shrinks_while_permits_go_on() {
        Books books = new Books(Limit.of(2, ofSeconds(10)));
        Books.Entry first = books.take(1, Phase.SENT);
        books.at(100);
        Books.Entry second = books.take(1, Phase.SENT);
        assertThat(books.waitFor(1)).isEqualTo(ofMillis(10_910));
        assertThat(books.waitFor(2)).isEqualTo(ofMillis(11_010));
        books.at(200);
        second.head(); // out of order
        assertThat(books.waitFor(1)).isEqualTo(ofMillis(10_010));
        assertThat(books.waitFor(2)).isEqualTo(ofMillis(10_810));
        books.at(400);
        first.head();
        assertThat(books.waitFor(1)).isEqualTo(ofMillis(9_810));
        assertThat(books.waitFor(2)).isEqualTo(ofMillis(10_010));
    }

    // ------------------------------------------------------------------------------------------------ corrections

    private record Path(String name, boolean strict, Phase first, Consumer<Books.Entry> steps) {
        @Override
        public String toString() {
            return name + (strict ? ", strict" : "");
        }
    }

    static Stream<Path> paths() {
        return Stream.of(false, true)
                .flatMap(strict -> Stream.of(
                        new Path("unsent", strict, Phase.UNSENT, permit -> {}),
                        new Path("sent", strict, Phase.SENT, permit -> {}),
                        new Path("unsent, then sent", strict, Phase.UNSENT, Books.Entry::sent),
                        new Path("headed at once", strict, Phase.HEADED, permit -> {}),
                        new Path("unsent, then headed", strict, Phase.UNSENT, Books.Entry::head),
                        new Path("sent, then headed", strict, Phase.SENT, Books.Entry::head),
                        new Path("unsent, then ended", strict, Phase.UNSENT, Books.Entry::end),
                        new Path("sent, then ended", strict, Phase.SENT, Books.Entry::end),
                        new Path(
                                "unsent, sent, ended",
                                strict,
                                Phase.UNSENT,
                                permit -> permit.sent().end())));
    }

    private static Books books(Path path) {
        Limit limit = Limit.of(10, ofSeconds(10));
        return new Books(path.strict ? limit.strict() : limit);
    }

    /** Another permit before and after, so that a correction could hit the wrong one. */
    private static Books.Entry among(Books books, Path path) {
        books.take(1, path.first).settle(1);
        books.at(50);
        Books.Entry permit = books.take(3, path.first);
        books.at(100);
        path.steps.accept(permit);
        books.at(150);
        books.take(2, path.first);
        return permit;
    }

    @ParameterizedTest
    @MethodSource("paths")
    void a_refund_restores_what_was_taken_in_every_phase(Path path) {
        Books books = books(path);
        Books.Entry permit = among(books, path);
        assertThat(books.available()).isEqualTo(4);
        permit.refund();
        assertThat(books.available()).isEqualTo(7);
        books.at(200);
        assertThat(books.tryTake(8)).isFalse();
        assertThat(books.tryTake(7)).isTrue();
    }

    @ParameterizedTest
    @MethodSource("paths")
    void settling_corrects_up_and_down_in_every_phase(Path path) {
        Books down = books(path);
        among(down, path).settle(1);
        assertThat(down.available()).isEqualTo(6);
        Books up = books(path);
        among(up, path).settle(12);
        assertThat(up.available()).as("a debt").isEqualTo(-5);
    }

    @ParameterizedTest
    @MethodSource("paths")
    void a_use_that_was_not_estimated_is_charged_in_every_phase(Path path) {
        Books books = books(path);
        books.take(1, path.first);
        books.at(50);
        Books.Entry permit = books.take(0, path.first);
        books.at(100);
        path.steps.accept(permit);
        books.at(150);
        permit.settle(4);
        assertThat(books.available()).isEqualTo(5);
        books.take(1, path.first);
        assertThat(books.available()).isEqualTo(4);
    }

    @Test
    void overuse_beyond_all_bounds_blocks_no_longer_than_its_window_and_overflows_nothing() {
        Books books = new Books(Limit.of(10, ofSeconds(10)));
        Books.Entry first = books.take(1);
        Books.Entry second = books.at(100).take(1);
        first.settle(Long.MAX_VALUE);
        second.settle(Long.MAX_VALUE);
        assertThat(books.available()).isNegative();
        assertThat(books.tryTake(1)).isFalse();
        books.at(10_109);
        assertThat(books.tryTake(1)).isFalse();
        books.at(10_110);
        assertThat(books.available()).isEqualTo(10);
        assertThat(books.tryTake(10)).isTrue();
    }

    @ParameterizedTest
    @MethodSource("paths")
    void a_settled_permit_leaves_the_books_whole_when_its_time_is_over(Path path) {
        for (long actual : new long[] {0, 2, 3, 7}) {
            Books books = books(path);
            Books.Entry permit = books.take(3, path.first);
            books.at(100);
            path.steps.accept(permit);
            permit.settle(actual);
            if (permit.phase == Phase.UNSENT || permit.phase == Phase.SENT) {
                permit.head();
            }
            books.at(60_000);
            assertThat(books.available()).as("after settling to %s", actual).isEqualTo(10);
            assertThat(books.meter().fullAt(books.now())).isEqualTo(books.now());
        }
    }

    @ParameterizedTest
    @MethodSource("paths")
    void a_correction_never_reaches_a_later_window(Path path) { // B22
        for (long actual : new long[] {0, 9}) {
            Books books = books(path);
            books.at(59_900);
            Books.Entry permit = books.take(3, path.first);
            books.at(59_950);
            path.steps.accept(permit);
            if (permit.phase == Phase.UNSENT || permit.phase == Phase.SENT) {
                permit.head();
            }
            books.at(75_000);
            Books.Entry later = books.take(4, path.first);
            permit.settle(actual);
            assertThat(books.available()).as("after settling to %s", actual).isEqualTo(6);
            if (later.phase != Phase.HEADED) {
                later.head();
            }
            assertThat(books.available()).as("and after the later head").isEqualTo(6);
        }
    }

    @Test
    void a_debt_is_waited_off_as_the_overuse_grows_old() {
        Books books = new Books(FIVE);
        books.take(2).settle(7);
        books.follow(new long[][] {{0, 1, 10_010}, {5_000, 1, 5_010}, {10_010, 5, 0}});
    }

    @Test
    void a_whole_refund_leaves_no_trace() {
        Books books = new Books(FIVE);
        books.take(1);
        books.at(1_000);
        books.take(2).refund();
        assertThat(books.available()).isEqualTo(4);
        assertThat(books.meter().fullAt(books.now())).isEqualTo(SPAN.toNanos());
    }

    // ------------------------------------------------------------------------------------------------ size

    @Test
    void up_to_a_thousand_permits_every_one_has_its_own_time() {
        Books books = new Books(Limit.of(1_000, ofSeconds(10)));
        for (int i = 0; i < 1_000; i++) {
            books.at(i).take(1);
        }
        for (int i = 0; i < 1_000; i++) {
            books.atNanos((10_010L + i) * 1_000_000 - 1);
            assertThat(books.fits(1)).as("just before %s", i).isFalse();
            books.at(10_010 + i);
            assertThat(books.tryTake(1)).isTrue();
        }
    }

    @Test
    void above_a_thousand_permits_a_wait_is_at_most_a_thousandth_of_the_period_too_long_and_never_too_short() {
        Books books = new Books(Limit.of(2_000, ofSeconds(10)));
        Deque<Long> exact = new ArrayDeque<>();
        for (int i = 0; i < 2_000; i++) {
            books.atNanos(i * 1_700_000L).take(1);
            exact.add(books.now() + SPAN.toNanos());
        }
        for (int i = 0; i < 2_000; i++) {
            long ready = books.meter().readyAt(books.now(), 1);
            long earliest = exact.remove();
            assertThat(ready).isBetween(earliest, earliest + 10_000_000);
            books.atNanos(ready).take(1);
            exact.add(books.now() + SPAN.toNanos());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 5, 1_000, 1_001, 100_000})
    void a_window_of_any_size_is_full_again_when_its_last_permit_is_over(int permits) {
        Books books = new Books(Limit.of(permits, ofSeconds(10)));
        for (int i = 0; i < Math.min(permits, 3_000); i++) {
            books.at(i).take(1);
        }
        long last = Math.min(permits, 3_000) - 1L;
        assertThat(books.meter().fullAt(books.now())).isEqualTo((last + 10_010) * 1_000_000);
        books.at(last + 10_010);
        assertThat(books.available()).isEqualTo(permits);
    }

    // ------------------------------------------------------------------------------------------------ change

    static Stream<Arguments> changes() {
        return Stream.of(
                Arguments.of(FIVE, Limit.of(8, ofSeconds(10)), 4),
                Arguments.of(FIVE, Limit.of(2, ofSeconds(10)), -2),
                Arguments.of(FIVE, Limit.of(5, ofSeconds(20)), 1),
                Arguments.of(FIVE, FIVE.strict(), 1),
                Arguments.of(FIVE.strict(), FIVE, 1),
                Arguments.of(FIVE, FIVE.burst(2), 1));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void what_was_taken_stays_taken_when_the_limit_changes(Limit before, Limit after, long left) {
        Books books = new Books(before);
        Books.Entry unsent = books.take(1, Phase.UNSENT);
        Books.Entry sent = books.take(1, Phase.SENT);
        books.take(2);
        books.at(100).change(after);
        assertThat(books.available()).isEqualTo(left);
        unsent.head();
        sent.head();
        assertThat(books.available()).isEqualTo(left);
        books.at(60_000);
        assertThat(books.available()).isEqualTo(after.burstPermits() > 0 ? after.burstPermits() : after.permits());
    }

    @Test
    void a_permit_from_before_a_window_was_added_does_not_touch_its_books() {
        Books books = new Books(Limit.of(9, ofSeconds(1)));
        Books.Entry before = books.take(3, Phase.SENT);
        books.at(100).change(Limit.bucket(1, 1, ofSeconds(1))).change(FIVE);
        books.at(200).take(2, Phase.SENT);
        before.head();
        assertThat(books.available()).isEqualTo(3);
        assertThat(books.waitFor(5)).isEqualTo(ofMillis(11_010));
    }

    @ParameterizedTest
    @CsvSource({"0, 1, 0", "4, 1, 10010", "5, 5, 20020", "9, 1, 20020", "10, 5, 30030", "1300, 1, 2602600"})
    void the_expected_wait_behind_others_counts_whole_windows(long ahead, long cost, long waitMillis) {
        Books books = new Books(FIVE);
        books.take(1);
        long expected = books.meter().expectedAt(0, ahead, cost);
        assertThat(Duration.ofNanos(expected)).isEqualTo(ofMillis(waitMillis));
    }
}
