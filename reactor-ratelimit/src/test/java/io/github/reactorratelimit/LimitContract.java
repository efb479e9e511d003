package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What every limit keeps, whatever its algorithm. */
abstract class LimitContract {

    private static final int ROUNDS = 300;

    /** A limit with at least 4 permits. */
    abstract Limit limit();

    private Books books() {
        return new Books(limit());
    }

    /** The most that can be taken of it at once without a debt. */
    private long most() {
        return limit().burstPermits() > 0 ? limit().burstPermits() : limit().permits();
    }

    /** Lets some time go by, or ends a call: whatever makes room. */
    private static void makeRoom(Books books, Random random, Deque<Books.Entry> open) {
        if (random.nextInt(3) == 0 && !open.isEmpty()) {
            open.remove().release();
        } else {
            books.atNanos(books.now() + random.nextInt(2_000_000_000));
        }
    }

    @Test
    void nothing_taken_is_all_available() {
        Books books = books();
        assertThat(books.available()).isEqualTo(most());
        assertThat(books.meter().fullAt(0)).isZero();
        assertThat(books.fits(1)).isTrue();
    }

    @Test
    void what_is_available_fits_and_one_more_does_not() {
        Books books = books();
        Random random = new Random(1);
        Deque<Books.Entry> open = new ArrayDeque<>();
        for (int i = 0; i < ROUNDS; i++) {
            long available = books.available();
            if (available > 0) {
                assertThat(books.fits(available)).isTrue();
                open.add(books.take(1));
            } else {
                assertThat(books.fits(1)).isFalse();
            }
            makeRoom(books, random, open);
        }
    }

    @Test
    void a_refused_attempt_changes_nothing() { // B48
        Books asked = books();
        Books left = books();
        Random random = new Random(2);
        for (int i = 0; i < ROUNDS; i++) {
            long step = random.nextInt(1_000_000_000);
            asked.atNanos(asked.now() + step);
            left.atNanos(left.now() + step);
            for (int n = 0; n < 5; n++) {
                asked.meter().readyAt(asked.now(), 1 + random.nextInt((int) limit().permits()));
                asked.meter().expectedAt(asked.now(), random.nextInt(9), 1);
                asked.meter().available(asked.now());
                asked.meter().fullAt(asked.now());
            }
            assertThat(asked.tryTake(1)).isEqualTo(left.tryTake(1));
        }
        assertSame(asked, left);
    }

    @Test
    void n_times_one_is_once_n() {
        for (long n = 2; n <= most(); n++) {
            Books ones = books();
            Books once = books();
            for (int i = 0; i < n; i++) {
                ones.take(1);
            }
            once.take(n);
            assertSame(ones, once);
        }
    }

    @Test
    void a_refund_restores() {
        for (long cost = 1; cost <= most(); cost++) {
            Books books = books();
            Books untouched = books();
            books.take(cost).refund();
            assertSame(books, untouched);
        }
    }

    @Test
    void a_refund_restores_amid_others() {
        Books books = books();
        Books without = books();
        long each = Math.max(1, most() / 3);
        books.take(each);
        without.take(each);
        if (books.fits(1)) {
            Books.Entry permit = books.take(1);
            books.atNanos(1_000);
            without.atNanos(1_000);
            permit.refund();
        }
        assertSame(books, without);
    }

    @Test
    void a_wait_is_never_zero_while_refused_and_never_over_a_nanosecond_early() {
        Books books = books();
        Random random = new Random(3);
        Deque<Books.Entry> open = new ArrayDeque<>();
        for (int i = 0; i < ROUNDS; i++) {
            long cost = 1L + random.nextInt((int) most());
            long ready = books.meter().readyAt(books.now(), cost);
            if (ready == Exact.NEVER) {
                if (open.isEmpty()) {
                    return; // A budget is spent: nothing makes room any more.
                }
                open.remove().release();
                continue;
            }
            if (ready > books.now()) {
                books.atNanos(ready - 1);
                assertThat(books.fits(cost)).as("1 ns before %s", ready).isFalse();
                books.atNanos(ready);
            }
            assertThat(books.fits(cost)).as("exactly at %s", ready).isTrue();
            open.add(books.take(cost));
        }
    }

    @Test
    void the_expected_wait_is_never_longer_than_the_wait_turns_out() {
        Random random = new Random(4);
        for (int round = 0; round < 50; round++) {
            Books books = books();
            int before = random.nextInt((int) most() + 1);
            if (before > 0) {
                books.take(before);
            }
            books.atNanos(random.nextInt(2_000_000_000));
            int ahead = random.nextInt(12);
            long expected = books.meter().expectedAt(books.now(), ahead, 1);
            for (int i = 0; i < ahead; i++) {
                long ready = books.meter().readyAt(books.now(), 1);
                if (ready == Exact.NEVER) {
                    return;
                }
                books.atNanos(ready).take(1);
            }
            assertThat(books.meter().readyAt(books.now(), 1)).isGreaterThanOrEqualTo(expected);
        }
    }

    @Test
    void what_can_never_pass_is_known_and_all_else_can() { // B19
        Books books = books();
        assertThat(books.meter().canEver(limit().permits())).isTrue();
        assertThat(books.meter().canEver(limit().permits() + 1)).isEqualTo(limit().mayBorrow());
        assertThat(books.meter().canEver(Long.MAX_VALUE)).isEqualTo(limit().mayBorrow());
    }

    @Test
    void a_cost_of_nothing_always_fits_and_changes_nothing() {
        Books books = books();
        books.take(most());
        assertThat(books.fits(0)).isTrue();
        Books same = books();
        same.take(most());
        assertSame(books, same);
    }

    @Test
    void replacing_a_limit_by_itself_changes_nothing() {
        Books books = books();
        Books same = books();
        books.take(most());
        same.take(most());
        books.atNanos(123_456_789).change(limit());
        same.atNanos(123_456_789);
        assertSame(books, same);
    }

    @Test
    void a_settled_permit_is_as_one_of_that_cost() {
        for (long actual = 0; actual <= most() + 3; actual++) {
            Books settled = books();
            Books taken = books();
            settled.take(2).settle(actual);
            if (limit().kind() == Limit.Kind.IN_FLIGHT) {
                taken.take(2);
            } else if (actual <= most() && actual > 0) {
                taken.take(actual);
            } else if (actual > 0) {
                taken.take(1).settle(actual);
            }
            assertSame(settled, taken);
        }
    }

    /** They answer alike, now and later. */
    private void assertSame(Books one, Books other) {
        for (int i = 0; i < 6; i++) {
            assertThat(one.available()).isEqualTo(other.available());
            assertThat(one.meter().fullAt(one.now())).isEqualTo(other.meter().fullAt(other.now()));
            for (long cost = 0; cost <= limit().permits(); cost++) {
                assertThat(one.waitFor(cost)).as("wait for %s", cost).isEqualTo(other.waitFor(cost));
            }
            one.atNanos(one.now() + 777_777_777);
            other.atNanos(other.now() + 777_777_777);
        }
    }
}
