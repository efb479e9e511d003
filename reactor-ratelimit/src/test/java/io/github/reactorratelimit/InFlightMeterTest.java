package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Booking.Phase;
import org.junit.jupiter.api.Test;

class InFlightMeterTest {

    @Test
    void only_a_release_makes_room() {
        Books books = new Books(Limit.inFlight(2));
        Books.Entry first = books.take(1);
        books.take(1);
        books.follow(new long[][] {{0, 1, Books.EVENT}, {86_400_000, 1, Books.EVENT}});
        first.release();
        books.follow(new long[][] {{86_400_000, 1, 0}, {86_400_000, 1, Books.EVENT}});
    }

    @Test
    void heads_and_corrections_free_nothing() {
        Books books = new Books(Limit.inFlight(1));
        Books.Entry permit = books.take(1, Phase.UNSENT).sent().head().settle(0);
        assertThat(books.fits(1)).isFalse();
        assertThat(books.meter().fullAt(books.now())).isEqualTo(Exact.NEVER);
        permit.settle(1).release();
        assertThat(books.available()).isEqualTo(1);
        assertThat(books.meter().fullAt(books.now())).isEqualTo(books.now());
    }

    @Test
    void what_is_in_flight_stays_so_when_the_limit_changes() {
        Books books = new Books(Limit.inFlight(3));
        Books.Entry first = books.take(1);
        Books.Entry second = books.take(1);
        books.change(Limit.inFlight(1));
        assertThat(books.available()).isEqualTo(-1);
        first.release();
        assertThat(books.fits(1)).isFalse();
        second.release();
        assertThat(books.fits(1)).isTrue();
    }
}
