package io.github.reactorratelimit;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BackoffTest {

    private static final Backoff HALF_TO_THIRTY = Backoff.exponential(ofMillis(500), ofSeconds(30));

    @Test
    void its_upper_bounds_double_up_to_the_cap() {
        assertThat(IntStream.range(0, 8).mapToObj(HALF_TO_THIRTY::bound))
                .containsExactly(
                        ofMillis(500),
                        ofSeconds(1),
                        ofSeconds(2),
                        ofSeconds(4),
                        ofSeconds(8),
                        ofSeconds(16),
                        ofSeconds(30),
                        ofSeconds(30));
    }

    @Test
    void its_upper_bound_stays_at_the_cap_however_often_it_failed() {
        for (int n : new int[] {10, 61, 62, 63, 64, 65, 1000, Integer.MAX_VALUE}) {
            assertThat(HALF_TO_THIRTY.bound(n)).isEqualTo(ofSeconds(30));
        }
        Backoff endless = Backoff.exponential(ofNanos(1), Duration.ofSeconds(Long.MAX_VALUE));
        assertThat(endless.bound(Integer.MAX_VALUE)).isEqualTo(ofNanos(Long.MAX_VALUE));
        assertThat(endless.bound(62)).isPositive();
    }

    @Test
    void a_wait_is_uniform_between_zero_and_the_upper_bound() { // B12
        Random random = new Random(7);
        int[] tenths = new int[10];
        for (int i = 0; i < 100_000; i++) {
            Duration wait = HALF_TO_THIRTY.delay(3, random.nextDouble());
            assertThat(wait).isBetween(ZERO, ofSeconds(4));
            tenths[(int) Math.min(9, wait.toMillis() / 400)]++;
        }
        for (int tenth : tenths) {
            assertThat(tenth).isBetween(9_500, 10_500);
        }
    }

    @Test
    void a_hundred_callers_do_not_come_back_together() { // B12
        Random random = new Random(42);
        int[] slots = new int[40];
        for (int i = 0; i < 100; i++) {
            slots[(int) (HALF_TO_THIRTY.delay(3, random.nextDouble()).toMillis() / 100)]++;
        }
        assertThat(IntStream.of(slots).max().orElseThrow()).isLessThanOrEqualTo(20);
    }

    @Test
    void a_wait_with_jitter_never_passes_the_cap() { // B12
        for (int n = 0; n < 100; n++) {
            assertThat(HALF_TO_THIRTY.delay(n, Math.nextDown(1.0))).isLessThanOrEqualTo(ofSeconds(30));
            assertThat(HALF_TO_THIRTY.jitter(0.5).delay(n, Math.nextDown(1.0))).isLessThanOrEqualTo(ofSeconds(30));
        }
    }

    @Test
    void without_jitter_every_wait_is_its_upper_bound() {
        Backoff fixed = HALF_TO_THIRTY.jitter(0);
        for (double random : new double[] {0, 0.3, 0.999}) {
            assertThat(fixed.delay(0, random)).isEqualTo(ofMillis(500));
            assertThat(fixed.delay(4, random)).isEqualTo(ofSeconds(8));
        }
    }

    @Test
    void jitter_takes_its_share_off_the_upper_bound() {
        Backoff fifth = HALF_TO_THIRTY.jitter(0.2);
        assertThat(fifth.delay(1, 0.0)).isEqualTo(ofMillis(800));
        assertThat(fifth.delay(1, 0.5)).isEqualTo(ofMillis(900));
    }

    @Test
    void a_floor_is_the_least_a_wait_can_be() {
        Backoff floored = HALF_TO_THIRTY.floor(ofSeconds(1));
        assertThat(floored.delay(0, 0.0)).isEqualTo(ofSeconds(1));
        assertThat(floored.delay(0, 0.9)).isEqualTo(ofSeconds(1));
        assertThat(floored.delay(1, 0.0)).isEqualTo(ofSeconds(1));
        assertThat(floored.delay(2, 0.0)).isEqualTo(ofSeconds(1));
        assertThat(floored.delay(2, 0.5)).isEqualTo(ofMillis(1500));
    }

    @Test
    void bounds_out_of_range_are_refused_with_the_rule_and_the_value() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Backoff.exponential(ZERO, ofSeconds(1)))
                .withMessageContaining("positive")
                .withMessageContaining("PT0S");
        assertThatIllegalArgumentException().isThrownBy(() -> Backoff.exponential(ofSeconds(-1), ofSeconds(1)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Backoff.exponential(ofSeconds(2), ofSeconds(1)))
                .withMessageContaining("PT2S")
                .withMessageContaining("PT1S");
        assertThatIllegalArgumentException().isThrownBy(() -> HALF_TO_THIRTY.floor(ofSeconds(-1)));
        assertThatIllegalArgumentException().isThrownBy(() -> HALF_TO_THIRTY.floor(ofSeconds(31)));
        for (double share : new double[] {-0.1, 1.1, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThatIllegalArgumentException().isThrownBy(() -> HALF_TO_THIRTY.jitter(share));
        }
        assertThatIllegalArgumentException().isThrownBy(() -> HALF_TO_THIRTY.bound(-1));
    }

    @Test
    void a_backoff_is_a_template_that_does_not_change() {
        HALF_TO_THIRTY.jitter(0).floor(ofSeconds(1));
        assertThat(HALF_TO_THIRTY.delay(0, 0.0)).isEqualTo(ZERO);
    }
}
