package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BucketMeterTest {

    private static final long MILLI = 1_000_000;

    @Test
    void a_hundred_at_ten_per_second_grants_120_of_150() {
        Books books = new Books(Limit.bucket(100, 10, ofSeconds(1)));
        assertThat(tries(books, 51)).isEqualTo(51);
        books.at(2_000);
        assertThat(tries(books, 99)).isEqualTo(69);
    }

    private static int tries(Books books, int times) {
        int granted = 0;
        for (int i = 0; i < times; i++) {
            granted += books.tryTake(1) ? 1 : 0;
        }
        return granted;
    }

    @Test
    void permits_come_back_evenly_up_to_the_capacity() {
        new Books(Limit.bucket(3, 2, ofSeconds(1))).follow(new long[][] {
            // at ms, ask, expected wait ms
            {0, 3, 0},
            {0, 1, 500},
            {499, 1, 1},
            {500, 1, 0},
            {700, 2, 800},
            {1_500, 2, 0},
            {9_000, 3, 0},
            {9_000, 3, 1_500},
        });
    }

    @Test
    void polling_does_not_throw_fractions_away() { // B06
        Books books = new Books(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0));
        int granted = 0;
        for (int poll = 1; poll <= 100; poll++) {
            boolean taken = books.at(poll * 400L).tryTake(1);
            assertThat(taken).as("poll %s", poll).isEqualTo(poll % 3 == 0);
            granted += taken ? 1 : 0;
        }
        assertThat(granted).isEqualTo(33);
    }

    @Test
    void polling_each_microsecond_grants_once_and_not_early() { // B06
        Books books = new Books(Limit.bucket(1, 1, ofSeconds(1)).startingWith(0));
        for (int micro = 0; micro < 1_000_000; micro++) {
            books.atNanos(micro * 1_000L);
            if (books.fits(1) || books.waitFor(1).isZero()) {
                throw new AssertionError("granted at " + micro + " us");
            }
        }
        assertThat(books.at(1_000).tryTake(1)).isTrue();
    }

    @Test
    void ten_steps_of_a_tenth_are_one_permit() { // B06
        Books books = new Books(Limit.bucket(1, 10, ofSeconds(1)).startingWith(0));
        for (int poll = 1; poll < 10; poll++) {
            assertThat(books.at(poll * 10L).fits(1)).as("poll %s", poll).isFalse();
        }
        assertThat(books.at(100).tryTake(1)).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"1, 3, 1", "7, 3, 3", "3, 7, 2", "1, 1, 1", "999, 1000, 5", "1000003, 7, 9"})
    void a_wait_is_never_zero_while_refused_and_its_end_is_exact(long refill, long periodSeconds, long capacity) {
        Books books = new Books(Limit.bucket(capacity, refill, ofSeconds(periodSeconds)));
        Random random = new Random(refill);
        for (int i = 0; i < 2_000; i++) {
            long cost = 1L + random.nextInt((int) capacity);
            long wait = books.waitFor(cost).toNanos();
            assertThat(books.fits(cost)).isEqualTo(wait == 0);
            if (wait > 0) {
                books.atNanos(books.now() + wait - 1);
                assertThat(books.fits(cost)).isFalse();
                books.atNanos(books.now() + 1);
            }
            assertThat(books.tryTake(cost)).isTrue();
            books.atNanos(books.now() + (random.nextInt(3) == 0 ? random.nextInt(1_000_000_000) : 0));
        }
    }

    @Test
    void seven_per_three_seconds_are_exact_over_a_year() {
        Books books = new Books(Limit.bucket(7, 7, ofSeconds(3)));
        long year = 365L * 24 * 3600 * 1_000_000_000;
        Meter meter = books.meter();
        long now = 0;
        long taken = 0;
        for (long ready = 0; ready <= year; ready = meter.readyAt(now, 5)) {
            now = ready;
            meter.take(now, 5, Booking.Phase.HEADED);
            taken += 5;
        }
        long gained = 365L * 24 * 3600 * 7 / 3;
        assertThat(taken).isBetween(gained + 7 - 4, gained + 7);
    }

    @Test
    void a_single_permit_of_seven_per_three_seconds_comes_at_the_nearest_nanosecond_above() {
        Books books = new Books(Limit.bucket(2, 7, ofSeconds(3)).startingWith(1));
        for (long n = 0; n < 201_600; n++) { // a day
            long exact = (n * 3_000_000_000L + 6) / 7;
            long ready = books.meter().readyAt(books.now(), 1);
            if (ready != exact) {
                throw new AssertionError("permit " + n + " at " + ready + ", not " + exact);
            }
            books.atNanos(ready).take(1);
        }
    }

    @Test
    void a_refused_attempt_changes_nothing() { // B48
        Books books = new Books(Limit.bucket(10, 1, ofSeconds(1)).startingWith(5));
        for (int milli = 0; milli < 5_000; milli++) {
            assertThat(books.at(milli).tryTake(10)).as("at %s ms", milli).isFalse();
        }
        assertThat(books.at(5_000).tryTake(10)).isTrue();
    }

    @Test
    void settling_is_capped_above_and_is_a_debt_below() { // B22
        Books books = new Books(Limit.bucket(60_000, 1_000, ofSeconds(1)).unit("tokens"));
        Books.Entry cheap = books.take(1_000);
        assertThat(books.available()).isEqualTo(59_000);
        cheap.settle(200);
        assertThat(books.available()).isEqualTo(59_800);
        books.at(1_000);
        assertThat(books.available()).isEqualTo(60_000);
        Books.Entry late = books.take(1_000);
        books.at(2_000);
        late.settle(200);
        assertThat(books.available()).as("never above capacity").isEqualTo(60_000);
        Books.Entry dear = books.take(60_000);
        dear.settle(60_500);
        assertThat(books.available()).isEqualTo(-500);
        assertThat(books.waitFor(1)).isEqualTo(ofMillis(501));
    }

    @Test
    void what_was_refilled_since_does_not_come_back_twice() { // B22
        Books books = new Books(Limit.bucket(100, 1, ofSeconds(1)));
        Books.Entry early = books.take(60);
        books.at(60_000); // Full again, as long as nobody takes anything.
        Books.Entry here = books.take(100);
        early.settle(10);
        assertThat(books.available()).as("refilled already").isZero();
        here.settle(10);
        assertThat(books.available()).as("not yet").isEqualTo(90);
    }

    @Test
    void as_long_as_it_was_never_full_again_what_was_not_used_comes_back_however_late() {
        Books books = new Books(Limit.bucket(100, 1, ofSeconds(1)));
        books.take(10);
        Books.Entry late = books.take(80);
        for (int second = 1; second <= 3_600; second++) {
            books.at(1_000L * second).take(1);
        }
        assertThat(books.available()).isEqualTo(10);
        late.settle(20);
        assertThat(books.available()).isEqualTo(70);
    }

    @Test
    void an_overuse_is_a_debt_however_late_it_is_told() {
        Books books = new Books(Limit.bucket(100, 1, ofSeconds(1)));
        Books.Entry early = books.take(60);
        books.at(3_600_000);
        early.settle(210);
        assertThat(books.available()).isEqualTo(-50);
        assertThat(books.waitFor(1)).isEqualTo(ofSeconds(51));
    }

    @Test
    void overuse_beyond_all_bounds_costs_a_hundred_times_its_capacity_and_overflows_nothing() {
        for (boolean borrows : new boolean[] {false, true}) {
            Limit limit = Limit.bucket(10, 1, ofSeconds(1));
            Books books = new Books(borrows ? limit.borrowing() : limit);
            Books.Entry first = books.take(1);
            first.settle(Long.MAX_VALUE);
            assertThat(books.available()).isEqualTo(9 - 1_000);
            assertThat(books.waitFor(1)).isEqualTo(ofSeconds(992));
            first.refund();
            assertThat(books.available()).as("and comes back as it went").isEqualTo(10);
            books.take(5).settle(1_005);
            assertThat(books.available())
                    .as("which is no bound in any honest case")
                    .isEqualTo(-995);
        }
    }

    @Test
    void a_hundred_thousand_corrections_end_in_exactly_the_capacity() { // B22
        Books books = new Books(Limit.bucket(600, 7, ofMillis(3)));
        Random random = new Random(22);
        Books.Entry open = null;
        for (int i = 0; i < 100_000; i++) {
            books.atNanos(books.now() + random.nextInt(2_000_000));
            long cost = 1L + random.nextInt(50);
            switch (random.nextInt(4)) {
                case 0 -> open = books.fits(cost) ? books.take(cost) : open;
                case 1 -> {
                    if (open != null) {
                        open.settle(random.nextInt(90));
                    }
                    open = null;
                }
                case 2 -> {
                    if (open != null) {
                        open.refund();
                    }
                    open = null;
                }
                default -> books.tryTake(cost);
            }
            assertThat(books.available()).isLessThanOrEqualTo(600);
        }
        books.atNanos(books.meter().fullAt(books.now()) - 1);
        assertThat(books.available()).isLessThan(600);
        books.atNanos(books.now() + 1);
        assertThat(books.available()).isEqualTo(600);
        assertThat(books.tryTake(600)).isTrue();
        assertThat(books.fits(1)).isFalse();
    }

    @Test
    void borrowing_grants_what_is_heavier_than_the_capacity_when_it_is_full() { // B19
        Books books = new Books(Limit.bucket(10, 1, ofSeconds(1)).borrowing());
        books.take(1);
        assertThat(books.waitFor(15)).isEqualTo(ofSeconds(1));
        books.at(1_000).take(15);
        assertThat(books.available()).isEqualTo(-5);
        assertThat(books.waitFor(1)).isEqualTo(ofSeconds(6));
    }

    @Test
    void what_is_heavier_than_the_capacity_can_never_pass() { // B19
        Books books = new Books(Limit.bucket(10, 1, ofSeconds(1)));
        assertThat(books.meter().canEver(11)).isFalse();
        assertThat(books.tryTake(10)).isTrue();
    }

    @Test
    void no_credit_accrues_while_it_is_stopped() {
        Books books = new Books(Limit.bucket(10, 1, ofSeconds(1)).startingWith(4));
        books.at(500).meter().stop(500 * MILLI, 60_000 * MILLI);
        books.at(60_000);
        assertThat(books.available()).isEqualTo(4);
        assertThat(books.waitFor(5)).isEqualTo(ofMillis(500));
    }

    @Test
    void a_stop_that_ends_early_or_is_prolonged_counts_as_long_as_it_was() {
        Books books = new Books(Limit.bucket(10, 1, ofSeconds(1)).startingWith(4));
        Meter meter = books.at(1_000).meter();
        meter.stop(1_000 * MILLI, 10_000 * MILLI);
        meter.stop(10_000 * MILLI, 30_000 * MILLI);
        books.at(20_000);
        meter.stop(30_000 * MILLI, 20_000 * MILLI);
        assertThat(books.available()).isEqualTo(5);
        assertThat(books.at(21_000).available()).isEqualTo(6);
    }

    @Test
    void a_stop_for_ever_that_is_taken_back_leaves_what_there_was() {
        Books books = new Books(Limit.bucket(10, 1, ofSeconds(1)).startingWith(4));
        Meter meter = books.at(1_000).meter();
        meter.stop(1_000 * MILLI, Exact.NEVER);
        books.at(5_000);
        meter.stop(Exact.NEVER, 5_000 * MILLI);
        assertThat(books.available()).isEqualTo(5);
        assertThat(books.at(6_000).available()).isEqualTo(6);
    }

    @ParameterizedTest
    @CsvSource({
        // capacity, refill/s, taken, then left at once, wait for the next 4 in ms
        "10, 1, 8, 2, 2000",
        "10, 10, 8, 2, 200",
        "20, 1, 8, 2, 2000",
        "5, 1, 8, 2, 2000",
        "5, 1, 2, 5, 0",
        "2, 1, 0, 2, 0",
    })
    void a_changed_bucket_holds_what_the_old_one_held_as_far_as_it_can(
            long capacity, long refill, long taken, long left, long waitMillis) {
        Books books = new Books(Limit.bucket(10, 1, ofSeconds(1)));
        if (taken > 0) {
            books.take(taken);
        }
        books.change(Limit.bucket(capacity, refill, ofSeconds(1)));
        assertThat(books.available()).isEqualTo(left);
        assertThat(books.waitFor(Math.min(4, capacity))).isEqualTo(ofMillis(waitMillis));
    }

    // ------------------------------------------------------------------------------------------------ extremes

    @Test
    void one_per_ten_thousand_seconds() { // B47
        Books books = new Books(Limit.bucket(1, 1, ofSeconds(10_000)));
        books.follow(new long[][] {{0, 1, 0}, {5_000, 1, 9_995_000}, {9_999_999, 1, 1}, {10_000_000, 1, 0}});
    }

    @Test
    void one_per_300_000_years_grants_once_and_not_within_a_century() { // B47: 1e-13/s
        Books books = new Books(Limit.bucket(1, 1, ofSeconds(10_000_000_000_000L)));
        books.take(1);
        assertThat(books.fits(1)).isFalse();
        books.atNanos(Duration.ofDays(36_500).toNanos());
        assertThat(books.fits(1)).isFalse();
        assertThat(books.waitFor(1)).isGreaterThan(Duration.ofDays(36_500));
        assertThat(books.available()).isZero();
    }

    @Test
    void three_thousand_million_per_second() { // B47
        Books books = new Books(Limit.bucket(10, 3_000_000_000L, ofSeconds(1)));
        books.take(10);
        assertThat(books.waitFor(1)).isEqualTo(ofNanos(1));
        long granted = 10;
        for (int nano = 1; nano <= 10_000; nano++) {
            books.atNanos(nano);
            granted += tries(books, 10);
        }
        assertThat(granted).isEqualTo(10 + 30_000);
    }

    @ParameterizedTest
    @CsvSource({"1000000, 46800", "1000000, 9223372036", "9223372036000000, 9223372036", "90000000000000, 9000000000"})
    void a_long_idle_time_fills_it_and_no_more(long capacity, long idleSeconds) { // B24
        Books books = new Books(Limit.bucket(capacity, 1_000_000, ofSeconds(1)));
        books.take(capacity);
        books.atNanos(ofSeconds(idleSeconds).toNanos());
        assertThat(books.available()).isEqualTo(Math.min(capacity, idleSeconds * 1_000_000));
        assertThat(books.fits(capacity)).isEqualTo(capacity <= idleSeconds * 1_000_000);
    }

    @ParameterizedTest
    @CsvSource({
        "10, 1, 9223372036854775807", // 1e-13/s and less, in ns
        "100, 1, 3153600000000000000", // one per century
        "9223372036854775807, 1, 1000000000",
        "9223372036854775807, 9223372036854775807, 1",
    })
    void what_takes_longer_than_time_lasts_to_come_back_does_not_come_back_early(
            long capacity, long refill, long periodNanos) { // B47
        Books books = new Books(Limit.bucket(capacity, refill, ofNanos(periodNanos)));
        for (long left = capacity; left > 0; left -= Math.max(1, capacity / 10)) {
            long cost = Math.min(left, Math.max(1, capacity / 10));
            assertThat(books.tryTake(cost)).as("%s of the last %s", cost, left).isTrue();
        }
        assertThat(books.fits(1)).isFalse();
        assertThat(books.available()).isLessThanOrEqualTo(0);
        if (refill == 1) {
            books.atNanos(periodNanos / 2);
            assertThat(books.fits(1)).isFalse();
        }
    }

    @Test
    void what_is_beyond_the_end_of_time_can_be_given_back() {
        Books books = new Books(Limit.bucket(10, 1, ofSeconds(Long.MAX_VALUE)));
        Books.Entry permit = books.take(4);
        books.take(6);
        permit.settle(3);
        assertThat(books.available()).isEqualTo(1);
        permit.refund();
        assertThat(books.available()).isEqualTo(4);
        assertThat(books.fits(5)).isFalse();
        assertThat(books.change(Limit.bucket(20, 1, ofSeconds(Long.MAX_VALUE))).available())
                .isEqualTo(4);
    }
}
