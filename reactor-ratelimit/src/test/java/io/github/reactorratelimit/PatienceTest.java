package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import reactor.test.scheduler.VirtualTimeScheduler;

/** How long a call still waits for anybody. */
class PatienceTest {

    private final Patience patience = new Patience(100, () -> 7, VirtualTimeScheduler::create);

    @Test
    void what_is_waited_at_one_source_is_not_left_for_the_next() {
        patience.turnTo(true, false);
        patience.spend(30);
        patience.turnTo(true, false);
        patience.spend(50);
        assertThat(patience.leftNanos()).isEqualTo(20);
    }

    @Test
    void who_waits_longer_than_is_left_leaves_nothing_and_no_debt() {
        patience.spend(70);
        patience.spend(Long.MAX_VALUE);
        assertThat(patience.leftNanos()).isZero();
    }

    @Test
    void a_clock_that_steps_back_gives_no_patience_back() {
        patience.spend(60);
        patience.spend(-1_000);
        assertThat(patience.leftNanos()).isEqualTo(40);
    }

    @Test
    void a_source_that_is_not_left_for_a_wait_is_waited_for_without_an_end_and_free_of_charge() {
        patience.turnTo(false, false);
        assertThat(patience.leftNanos()).isEqualTo(Exact.NEVER);
        patience.spend(1_000);
        patience.turnTo(true, false);
        assertThat(patience.leftNanos()).isEqualTo(100);
    }

    @Test
    void whether_breakers_are_left_is_the_business_of_each_source() {
        patience.turnTo(true, true);
        assertThat(patience.leavesBreakers()).isTrue();
        patience.turnTo(true, false);
        assertThat(patience.leavesBreakers()).isFalse();
    }

    @Test
    void it_goes_by_the_clock_that_it_was_given() {
        assertThat(patience.nowNanos()).isEqualTo(7);
    }
}
