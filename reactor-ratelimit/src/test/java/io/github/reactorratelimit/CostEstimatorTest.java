package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Random;
import org.junit.jupiter.api.Test;

class CostEstimatorTest {

    private final CostEstimator estimator = CostEstimator.learning();

    private void learn(String key, int calls, long bound, long actual) {
        for (int i = 0; i < calls; i++) {
            estimator.learn(key, bound, actual);
        }
    }

    @Test
    void the_bound_holds_until_a_few_calls_are_known() {
        learn("gpt", 4, 1_000, 100);
        assertThat(estimator.estimate("gpt", 1_000)).isEqualTo(1_000);
        learn("gpt", 1, 1_000, 100);
        assertThat(estimator.estimate("gpt", 1_000)).isEqualTo(100);
        assertThat(estimator.estimate("other", 1_000)).isEqualTo(1_000);
    }

    @Test
    void it_follows_calls_that_come_to_cost_more_or_less() {
        learn("gpt", 100, 1_000, 100);
        learn("gpt", 100, 1_000, 800);
        assertThat(estimator.estimate("gpt", 1_000)).isBetween(790L, 850L);
        learn("gpt", 100, 1_000, 100);
        assertThat(estimator.estimate("gpt", 1_000)).isBetween(100L, 140L);
    }

    @Test
    void it_never_asks_for_more_than_the_bound_or_for_nothing() {
        for (int i = 0; i < 10; i++) {
            learn("mixed", 1, 10, i % 2 == 0 ? 10 : 5); // A mean of 7.5 and a deviation of 2.5, and something.
        }
        assertThat(estimator.estimate("mixed", 10)).isEqualTo(10);
        learn("nothing", 10, 1_000, 0);
        assertThat(estimator.estimate("nothing", 1_000)).isEqualTo(1);
        assertThat(estimator.estimate("nothing", 0)).isZero();
    }

    @Test
    void what_turns_out_to_be_a_guess_is_corrected_upwards() {
        learn("guess", 10, 10, 100);
        assertThat(estimator.estimate("guess", 10)).isBetween(100L, 120L);
        learn("guess", 90, 10, 100);
        assertThat(estimator.estimate("guess", 10)).isBetween(100L, 101L);
        assertThat(estimator.estimate("guess", Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void most_calls_stay_below_their_estimate() {
        Random random = new Random(1);
        int above = 0;
        long asked = 0;
        for (int i = 0; i < 10_000; i++) {
            long actual = (long) (4_000 * Math.min(1, Math.exp(random.nextGaussian()) / 8));
            long estimate = estimator.estimate("gpt", 4_000);
            asked += estimate;
            above += actual > estimate ? 1 : 0;
            estimator.learn("gpt", 4_000, actual);
        }
        assertThat(above).isLessThan(2_500);
        assertThat(asked).isLessThan(10_000L * 2_000);
    }

    @Test
    void keys_that_were_not_used_for_long_are_forgotten() {
        learn("first", 10, 1_000, 100);
        for (int i = 0; i < 1_000; i++) {
            estimator.learn("key " + i, 1, 1);
        }
        assertThat(estimator.estimate("first", 1_000)).isEqualTo(1_000);
    }

    @Test
    void negative_figures_are_told_at_once() {
        assertThatThrownBy(() -> estimator.estimate("a", -1))
                .hasMessageContaining("upper bound must not be negative, was -1");
        assertThatThrownBy(() -> estimator.learn("a", 1, -2))
                .hasMessageContaining("actual cost must not be negative, was -2");
    }

    @Test
    void one_figure_that_is_garbage_does_no_harm_and_is_forgotten_like_any_other() {
        CostEstimator estimator = CostEstimator.learning();
        for (int i = 0; i < 20; i++) {
            estimator.learn("model", 1_000, 100);
        }
        estimator.learn("model", 1, Long.MAX_VALUE);
        assertThat(estimator.estimate("model", 1_000)).isBetween(100L, 300L);
        for (int i = 0; i < 150; i++) {
            estimator.learn("model", 1_000, 100);
        }
        assertThat(estimator.estimate("model", 1_000)).isBetween(100L, 200L);
    }

    @Test
    void a_wrong_figure_among_the_first_leaves_room_for_calls_that_correct_it() {
        for (int wrong = 0; wrong < 6; wrong++) {
            String key = "wrong as number " + wrong;
            learn(key, wrong, 8_000, 800);
            learn(key, 1, 8_000, 2_000_000);
            learn(key, 5, 8_000, 800);
            assertThat(estimator.estimate(key, 8_000)).as(key).isLessThan(3 * 8_000L);
        }
    }

    @Test
    void a_wrong_figure_never_leads_to_an_estimate_that_is_far_above_the_bound() {
        for (int wrong = 0; wrong < 40; wrong++) {
            String key = "wrong " + wrong;
            learn(key, wrong, 8_000, 6_000);
            learn(key, 1, 8_000, 2_000_000);
            for (int i = 0; i < 6; i++) {
                assertThat(estimator.estimate(key, 8_000)).as(key).isLessThanOrEqualTo(8_500);
                learn(key, 1, 8_000, 6_000);
            }
        }
    }

    @Test
    void what_really_costs_a_hundred_times_its_bound_is_known_after_some_calls() {
        learn("huge", 40, 10, 1_000);
        assertThat(estimator.estimate("huge", 10)).isGreaterThanOrEqualTo(900);
    }
}
