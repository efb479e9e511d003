package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class SpacedWindowMeterTest {

    @Test
    void smooth_permits_are_one_period_over_n_apart() {
        new Books(Limit.of(5, ofSeconds(10)).smooth()).follow(new long[][] {
            // at ms, ask, expected wait ms
            {0, 1, 0},
            {0, 1, 2_000},
            {1_999, 1, 1},
            {2_000, 1, 0},
            {4_000, 1, 0},
            {6_000, 1, 0},
            {8_000, 1, 0},
            {8_000, 1, 2_010}, // the window's margin
            {10_010, 1, 0},
            {10_010, 1, 2_000},
            {30_000, 1, 0},
            {30_000, 1, 2_000}, // nothing is saved up
        });
    }

    @Test
    void a_burst_goes_at_once_and_the_rest_at_n_minus_burst_plus_one_per_period() {
        Books books = new Books(Limit.of(5, ofSeconds(10)).burst(3));
        books.take(3);
        assertThat(books.waitFor(1)).isEqualTo(ofNanos(3_333_333_334L)); // rounded up
        books.atNanos(3_333_333_334L).take(1);
        books.atNanos(6_666_666_667L).take(1); // and no fraction is lost
        assertThat(books.waitFor(1)).isEqualTo(ofNanos(10_010_000_000L - 6_666_666_667L));
    }

    @Test
    void headroom_of_a_fifth_and_burst_one_on_five_per_ten_seconds_is_exactly_four_tenths_per_second() {
        Limit limit = Limit.of(5, ofSeconds(10)).headroom(0.2).burst(1);
        assertThat(limit.permits()).isEqualTo(4);
        assertThat(limit.pace().permits).isEqualTo(1);
        assertThat(limit.pace().nanos).isEqualTo(2_500_000_000L);
        new Books(limit).follow(new long[][] {
            {0, 1, 0}, {0, 1, 2_500}, {2_500, 1, 0}, {5_000, 1, 0}, {7_500, 1, 0}, {7_500, 1, 2_510}
        });
    }

    @Test
    void a_demand_heavier_than_the_burst_waits_until_it_is_whole_and_holds_up_those_behind() {
        Books books = new Books(Limit.of(11, ofSeconds(10)).burst(2)); // one per second
        books.take(1);
        assertThat(books.waitFor(5)).isEqualTo(ofSeconds(1));
        books.at(1_000).take(5);
        assertThat(books.available()).isEqualTo(-3);
        assertThat(books.waitFor(1)).isEqualTo(ofSeconds(4));
    }

    @Test
    void the_window_underneath_keeps_the_guarantee() {
        Books books = new Books(Limit.of(3, ofSeconds(3)).burst(3));
        books.take(3);
        assertThat(books.waitFor(1)).isEqualTo(ofMillis(3_003));
    }

    @Test
    void a_refund_restores_the_spacing_too() {
        Books books = new Books(Limit.of(5, ofSeconds(10)).smooth());
        Books.Entry permit = books.take(1);
        assertThat(books.waitFor(1)).isEqualTo(ofSeconds(2));
        permit.refund();
        assertThat(books.fits(1)).isTrue();
        assertThat(books.available()).isEqualTo(1);
    }

    @Test
    void a_correction_never_reaches_a_later_window() { // B22
        for (long actual : new long[] {0, 9, 300, Long.MAX_VALUE}) {
            for (Duration later : new Duration[] {ofMillis(10_010), Duration.ofDays(40)}) {
                Books books = new Books(Limit.of(10, ofSeconds(10)).burst(5));
                Books.Entry permit = books.take(3);
                books.atNanos(later.toNanos());
                books.take(2);
                permit.settle(actual);
                assertThat(books.available()).as("%s after %s", actual, later).isEqualTo(3);
            }
        }
    }

    @Test
    void a_correction_within_the_window_reaches_the_spacing_too() {
        Books books = new Books(Limit.of(10, ofSeconds(10)).burst(5)); // 6 per 10 s
        Books.Entry permit = books.take(4);
        permit.settle(1);
        assertThat(books.available()).isEqualTo(4);
        books.take(2).settle(6);
        assertThat(books.available()).isEqualTo(-2);
        assertThat(books.waitFor(1)).isEqualTo(ofSeconds(5));
    }

    @Test
    void overuse_beyond_all_bounds_is_spaced_as_long_as_a_hundred_times_the_limit() {
        Books books = new Books(Limit.of(5, ofSeconds(10)).smooth());
        books.take(1).settle(Long.MAX_VALUE);
        assertThat(books.waitFor(1)).isEqualTo(ofSeconds(2 * 501));
        books.at(1_002_000).take(1);
        assertThat(books.waitFor(1)).isEqualTo(ofSeconds(2));
    }

    @Test
    void nothing_is_saved_up_while_it_is_stopped() {
        Books books = new Books(Limit.of(5, ofSeconds(10)).burst(2));
        books.take(2);
        books.meter().stop(0, ofSeconds(5).toNanos());
        books.at(5_000);
        assertThat(books.available()).isZero();
        assertThat(books.waitFor(1)).isEqualTo(ofMillis(2_500));
    }

    @Test
    void the_expected_wait_is_the_longer_of_window_and_spacing() {
        Books smooth = new Books(Limit.of(5, ofSeconds(10)).smooth());
        assertThat(expected(smooth, 4)).isEqualTo(ofSeconds(8));
        assertThat(expected(smooth, 5)).isEqualTo(ofMillis(10_010));
        Books burst = new Books(Limit.of(5, ofSeconds(10)).burst(5));
        assertThat(expected(burst, 4)).isZero();
        assertThat(expected(burst, 5)).isEqualTo(ofMillis(10_010));
    }

    private static Duration expected(Books books, long ahead) {
        return Duration.ofNanos(books.meter().expectedAt(0, ahead, 1));
    }
}
