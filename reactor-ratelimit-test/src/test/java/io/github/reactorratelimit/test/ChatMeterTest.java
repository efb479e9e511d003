package io.github.reactorratelimit.test;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ChatMeterTest {

    private static final long MINUTE = 60_000;

    private final ChatMeter bucket = new ChatBucket(100, 100, MINUTE);
    private final ChatMeter window = new ChatWindow(100, MINUTE);

    @Test
    void a_bucket_is_full_at_the_start_and_refills_continuously() {
        assertThat(bucket.remaining(5)).isEqualTo(100);
        bucket.take(100, 5);
        assertThat(bucket.remaining(5)).isZero();
        assertThat(bucket.remaining(5 + 599)).isZero();
        assertThat(bucket.remaining(5 + 600)).isEqualTo(1);
        assertThat(bucket.passesAt(3, 605)).isEqualTo(5 + 1_800);
        assertThat(bucket.fullAt(605)).isEqualTo(5 + MINUTE);
        assertThat(bucket.remaining(5 + 10 * MINUTE)).isEqualTo(100);
        assertThat(bucket.fullAt(5 + 10 * MINUTE)).isEqualTo(5 + 10 * MINUTE);
    }

    @Test
    void a_bucket_that_does_not_divide_the_period_loses_nothing_over_a_year() {
        ChatMeter odd = new ChatBucket(7, 7, MINUTE);
        odd.take(7, 0);
        long year = 365L * 24 * 60;
        long taken = 0;
        for (long now = 0; now <= year * MINUTE; now += 29_411) {
            long left = odd.remaining(now);
            odd.take(left, now);
            taken += left;
        }
        assertThat(taken).isBetween(year * 7 - 4, year * 7);
    }

    @Test
    void the_wait_of_a_bucket_is_rounded_up_to_the_millisecond_in_which_it_passes() {
        ChatMeter odd = new ChatBucket(7, 7, MINUTE);
        odd.take(7, 0);
        long at = odd.passesAt(1, 0);
        assertThat(odd.remaining(at - 1)).isZero();
        assertThat(odd.remaining(at)).isEqualTo(1);
    }

    @Test
    void what_comes_back_never_fills_a_bucket_above_its_size() {
        bucket.take(60, 0);
        bucket.giveBack(10, 0, 0);
        assertThat(bucket.remaining(0)).isEqualTo(50);
        bucket.giveBack(1_000, 0, 0);
        assertThat(bucket.remaining(0)).isEqualTo(100);
    }

    @Test
    void a_bucket_of_the_largest_size_idle_for_centuries_does_not_overflow() {
        ChatMeter large = new ChatBucket(1_000_000_000_000L, 1_000_000_000_000L, MINUTE);
        large.take(1_000_000_000_000L, 0);
        assertThat(large.remaining(300L * 365 * 24 * 60 * MINUTE)).isEqualTo(1_000_000_000_000L);
    }

    @Test
    void a_window_counts_what_came_in_the_minute_that_ends_now() {
        window.take(60, 0);
        window.take(40, 30_000);
        assertThat(window.remaining(MINUTE - 1)).isZero();
        assertThat(window.passesAt(60, 30_000)).isEqualTo(MINUTE);
        assertThat(window.passesAt(61, 30_000)).isEqualTo(MINUTE + 30_000);
        assertThat(window.fullAt(30_000)).isEqualTo(MINUTE + 30_000);
        assertThat(window.remaining(MINUTE)).isEqualTo(60);
        assertThat(window.passesAt(60, MINUTE)).isEqualTo(MINUTE);
    }

    @Test
    void what_comes_back_in_a_window_belongs_to_the_time_it_was_taken() {
        window.take(60, 0);
        window.take(40, 30_000);
        window.giveBack(50, 0, 31_000);
        assertThat(window.remaining(31_000)).isEqualTo(50);
        assertThat(window.remaining(MINUTE)).isEqualTo(60);
        window.giveBack(10, 0, MINUTE);
        assertThat(window.remaining(MINUTE)).isEqualTo(60);
    }

    @Test
    void the_most_of_a_span_has_the_full_start_in_it() {
        assertThat(bucket.mostIn(0)).isEqualTo(100);
        assertThat(bucket.mostIn(90_000)).isEqualTo(250);
        assertThat(window.mostIn(MINUTE - 1)).isEqualTo(100);
        assertThat(window.mostIn(MINUTE)).isEqualTo(200);
    }
}
