package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class RetryBudgetTest { // B54

    @Test
    void it_is_full_at_first() {
        assertThat(RetryBudget.of(10, 1, 1).left()).isEqualTo(10);
        assertThat(RetryBudget.standard().left()).isEqualTo(500);
    }

    @Test
    void a_retry_costs_five_and_a_success_returns_one_by_default() {
        RetryBudget budget = RetryBudget.standard();
        assertThat(budget.takeRetry()).isTrue();
        assertThat(budget.left()).isEqualTo(495);
        budget.returnSuccess();
        assertThat(budget.left()).isEqualTo(496);
    }

    @Test
    void it_pays_no_retry_that_it_cannot_pay_whole() {
        RetryBudget budget = RetryBudget.of(7, 3, 1);
        assertThat(budget.takeRetry()).isTrue();
        assertThat(budget.takeRetry()).isTrue();
        assertThat(budget.takeRetry()).isFalse();
        assertThat(budget.left()).isEqualTo(1);
        budget.returnSuccess();
        assertThat(budget.takeRetry()).isFalse();
        budget.returnSuccess();
        assertThat(budget.takeRetry()).isTrue();
    }

    @Test
    void successes_never_fill_it_above_its_size() {
        RetryBudget budget = RetryBudget.of(10, 1, 4);
        budget.takeRetry();
        budget.returnSuccess();
        budget.returnSuccess();
        assertThat(budget.left()).isEqualTo(10);
        RetryBudget vast = RetryBudget.of(Long.MAX_VALUE, 5, Long.MAX_VALUE);
        vast.takeRetry();
        vast.returnSuccess();
        assertThat(vast.left()).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void figures_that_are_not_positive_are_refused() {
        for (long[] figures : new long[][] {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {-1, 1, 1}}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> RetryBudget.of(figures[0], figures[1], figures[2]))
                    .withMessageContaining("positive");
        }
    }

    @Test
    void threads_that_share_it_never_overdraw_it() throws InterruptedException {
        RetryBudget budget = RetryBudget.of(10_000, 3, 1);
        AtomicInteger paid = new AtomicInteger();
        CountDownLatch start = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                await(start);
                for (int n = 0; n < 2_000; n++) {
                    if (budget.takeRetry()) {
                        paid.incrementAndGet();
                    }
                }
            });
            thread.start();
            threads.add(thread);
        }
        start.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(paid).hasValue(3_333);
        assertThat(budget.left()).isEqualTo(1);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
