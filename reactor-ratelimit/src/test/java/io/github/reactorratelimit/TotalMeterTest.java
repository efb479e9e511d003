package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TotalMeterTest {

    @Test
    void a_budget_never_refills() {
        Books books = new Books(Limit.total(3));
        books.follow(new long[][] {{0, 2, 0}, {0, 2, Books.EVENT}, {0, 1, 0}, {1_000_000_000_000L, 1, Books.EVENT}});
        assertThat(books.meter().canEver(1)).isFalse();
        assertThat(books.meter().fullAt(books.now())).isEqualTo(Exact.NEVER);
    }

    @Test
    void corrections_and_refunds_reach_it_at_any_time() {
        Books books = new Books(Limit.total(10));
        Books.Entry first = books.take(5);
        Books.Entry second = books.take(5);
        books.at(1_000_000_000);
        first.settle(2);
        assertThat(books.available()).isEqualTo(3);
        second.settle(9);
        assertThat(books.available()).isEqualTo(-1);
        first.refund();
        assertThat(books.available()).isEqualTo(1);
    }

    @Test
    void what_is_spent_stays_spent_when_the_budget_changes() {
        Books books = new Books(Limit.total(10));
        books.take(8);
        assertThat(books.change(Limit.total(20)).available()).isEqualTo(12);
        assertThat(books.change(Limit.total(5)).available()).isEqualTo(-3);
    }
}
