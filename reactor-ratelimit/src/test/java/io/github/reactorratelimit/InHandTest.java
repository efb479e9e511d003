package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** How many permits are in their callers' own hands. */
class InHandTest {

    private static final long STRETCH = Ramp.LEASE_NANOS;

    private final InHand inHand = new InHand();

    @Test
    void a_permit_is_in_hand_until_it_is_given_back() {
        inHand.take(5, 1);
        inHand.take(6, 1);
        inHand.end(7, 5);
        assertThat(inHand.count(8)).isOne();
        inHand.end(9, 6);
        assertThat(inHand.count(9)).isZero();
    }

    @Test
    void one_of_the_stretch_before_still_counts_and_can_still_be_given_back() {
        inHand.take(STRETCH - 1, 1);
        inHand.take(STRETCH, 1);
        assertThat(inHand.count(STRETCH)).isEqualTo(2);
        inHand.end(STRETCH + 1, STRETCH - 1);
        assertThat(inHand.count(STRETCH + 1)).isOne();
    }

    @Test
    void one_that_is_lost_counts_for_20_seconds_at_least_and_40_at_most() {
        inHand.take(STRETCH - 1, 1);
        assertThat(inHand.count(2 * STRETCH - 1)).isOne();
        assertThat(inHand.count(2 * STRETCH)).isZero();
        inHand.take(2 * STRETCH, 1);
        assertThat(inHand.count(4 * STRETCH - 1)).isOne();
        assertThat(inHand.count(4 * STRETCH)).isZero();
    }

    @Test
    void nothing_is_left_of_long_ago_when_nobody_asked_in_between() {
        inHand.take(0, 1);
        inHand.take(STRETCH, 1);
        assertThat(inHand.count(10 * STRETCH)).isZero();
    }

    @Test
    void one_that_comes_back_after_it_was_given_up_is_not_taken_off_twice() {
        inHand.take(0, 1);
        inHand.take(2 * STRETCH, 1);
        inHand.end(2 * STRETCH, 0);
        assertThat(inHand.count(2 * STRETCH)).isOne();
    }

    @Test
    void times_before_the_limiters_first_are_stretches_like_any_other() {
        inHand.take(-1, 1);
        inHand.take(0, 1);
        inHand.end(0, -1);
        assertThat(inHand.count(0)).isOne();
    }

    @Test
    void keys_that_become_one_count_those_of_both_each_for_as_long_as_before() {
        InHand other = new InHand();
        inHand.take(STRETCH - 1, 1);
        other.take(STRETCH - 1, 1);
        other.take(STRETCH, 1);
        inHand.absorb(STRETCH, other);
        assertThat(inHand.count(STRETCH)).isEqualTo(3);
        assertThat(inHand.count(2 * STRETCH)).isOne();
    }
}
