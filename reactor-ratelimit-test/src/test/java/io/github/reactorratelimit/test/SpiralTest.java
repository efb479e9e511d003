package io.github.reactorratelimit.test;

import static java.time.Duration.ofHours;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.test.Spiral.Result;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whether the migration of 1,300 pages ever ends, and how near it comes to the three hours that 400 an hour allow. */
class SpiralTest {

    @Test
    void a_fixed_delay_per_page_keeps_the_throttle_alive_for_ever() {
        Result result = Spiral.fixedDelay(ofHours(1));
        assertThat(result.pages()).as(result.toString()).isLessThan(Spiral.PAGES / 100);
        assertThat(result.refusedShare()).isGreaterThan(0.99);
    }

    @Test
    void exponential_backoff_with_jitter_per_page_does_so_too() {
        Result result = Spiral.exponentialBackoff(ofHours(1));
        assertThat(result.pages()).as(result.toString()).isLessThan(Spiral.PAGES / 100);
        assertThat(result.refusedShare()).isGreaterThan(0.99);
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 256, 1_300})
    void without_any_limit_the_ramp_loses_no_page_and_has_few_refused(int workers) {
        Result result = Spiral.unconfigured(workers, ofHours(24));
        assertThat(result.pages()).as(result.toString()).isEqualTo(Spiral.PAGES);
        assertThat(result.lost()).isZero();
        assertThat(result.refusedShare()).as(result.toString()).isLessThanOrEqualTo(0.15);
    }

    @Test
    void the_preset_is_never_refused_and_takes_what_the_limits_allow() {
        Result result = Spiral.preset(ofHours(4));
        assertThat(result.pages()).as(result.toString()).isEqualTo(Spiral.PAGES);
        assertThat(result.requests()).isEqualTo(Spiral.PAGES);
        assertThat(result.refused()).isZero();
        assertThat(result.ofOptimum()).as(result.toString()).isGreaterThanOrEqualTo(0.99);
    }
}
