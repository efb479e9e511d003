package io.github.reactorratelimit;

import static java.time.Duration.ofNanos;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Booking.Phase;
import io.github.reactorratelimit.signal.Quota;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A lane's half of a learned quota of ten, by itself. */
class LearnedShareTest {

    private static final long RESET = 10_000_000_001L;

    private final Generations generations = new Generations();
    private final LearnedMeter quota =
            new LearnedMeter(told(10), RESET, generations, false, Lanes.ONE.with("background", Share.of(0.5)));
    private final LearnedShare share = requireNonNull(quota.share(1));

    private static Quota told(long remaining) {
        return new Quota("", "requests", 10, remaining, -1, ofNanos(RESET), null, null);
    }

    private final class Entry extends Booking {

        Entry(Phase phase) {
            this.phase = phase;
            generation = generations.current();
        }
    }

    @BeforeEach
    void an_answer_of_the_other_lane_tells_of_the_quota() {
        quota.learn(0, new Entry(Phase.SENT), 0, 1, told(9));
    }

    @Test
    void it_is_full_when_the_lane_has_all_of_its_share_out() {
        assertThat(share.available(0)).isEqualTo(5);
        share.take(0, 5, Phase.UNSENT);
        assertThat(share.readyAt(0, 1)).isEqualTo(RESET);
        assertThat(share.readyAt(0, 0)).isZero();
        assertThat(share.fullAt(0)).isEqualTo(RESET);
    }

    @Test
    void what_is_heavier_than_the_share_goes_when_all_of_it_is_there_and_only_then() {
        assertThat(share.canEver(8)).isTrue();
        assertThat(share.readyAt(0, 8)).isZero();
        share.take(0, 1, Phase.UNSENT);
        assertThat(share.readyAt(0, 8)).isEqualTo(RESET);
        assertThat(share.readyAt(0, 4)).isZero();
    }

    @Test
    void those_who_stand_before_one_have_their_part_of_it_first() {
        assertThat(share.expectedAt(0, 4, 1)).isZero();
        assertThat(share.expectedAt(0, 5, 1)).isEqualTo(RESET);
    }

    @Test
    void an_answer_frees_nothing_of_the_share_and_what_was_never_sent_does() {
        share.take(0, 2, Phase.UNSENT);
        share.moved(1, 2, Phase.UNSENT, 0, 0, Phase.SENT);
        share.moved(2, 2, Phase.SENT, 1, 1, Phase.HEADED);
        assertThat(share.available(2)).isEqualTo(3);
        share.refund(3, 2, new Entry(Phase.HEADED));
        assertThat(share.available(3)).isEqualTo(3);
        share.take(4, 3, Phase.UNSENT);
        share.refund(5, 3, new Entry(Phase.UNSENT));
        assertThat(share.available(5)).isEqualTo(3);
    }

    @Test
    void a_corrected_cost_counts_until_the_servers_own_figure_is_here() {
        share.take(0, 1, Phase.UNSENT);
        share.settle(1, 3, new Entry(Phase.SENT));
        assertThat(share.available(1)).isOne();
        share.settle(2, -2, new Entry(Phase.SENT));
        assertThat(share.available(2)).isEqualTo(3);
        share.settle(3, 3, new Entry(Phase.HEADED));
        assertThat(share.available(3)).isEqualTo(3);
    }

    @Test
    void a_permit_that_was_not_used_comes_back_in_its_own_window_only() {
        Entry before = new Entry(Phase.HEADED);
        share.take(0, 2, Phase.HEADED);
        share.unused(2, before);
        assertThat(share.available(0)).isEqualTo(5);
        share.take(0, 2, Phase.HEADED);
        quota.learn(RESET, new Entry(Phase.SENT), 1, 1, told(9));
        share.unused(2, before);
        assertThat(share.available(RESET)).isEqualTo(4);
    }

    @Test
    void after_the_reset_anybody_may_ask_and_the_share_is_whole_again() {
        share.take(0, 5, Phase.HEADED);
        assertThat(share.readyAt(RESET - 1, 1)).isEqualTo(RESET);
        assertThat(share.readyAt(RESET, 1)).isEqualTo(RESET);
        assertThat(share.available(RESET)).isEqualTo(5);
        assertThat(share.fullAt(RESET)).isEqualTo(RESET);
    }

    @Test
    void books_that_begin_anew_within_a_window_keep_what_is_out_as_used() {
        share.take(0, 3, Phase.UNSENT);
        share.begin();
        assertThat(share.available(1)).isEqualTo(2);
    }
}
