package io.github.reactorratelimit;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Booking.Phase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** Random programs against one meter, judged by what the server at the other end could have seen. */
class MeterPropertyTest {

    private static final long TRANSIT = WindowMeter.TRANSIT_NANOS;

    private record Seen(long at, long cost) {}

    /** One call on its way, whose request reaches the server at a moment of the server's choice. */
    private static final class Call {
        private final Books.Entry permit;
        private final long cost;
        private long sentAt = -1;
        private boolean over;

        private Call(Books.Entry permit, long cost) {
            this.permit = permit;
            this.cost = cost;
        }
    }

    /** Plays a random program and returns what the server saw, at the worst times that were possible. */
    private static List<Seen> play(Limit limit, Random random, int steps, boolean slow) {
        Books books = new Books(limit);
        long period = limit.period().toNanos();
        List<Call> calls = new ArrayList<>();
        List<Seen> seen = new ArrayList<>();
        for (int i = 0; i < steps; i++) {
            long cost = 1L + random.nextInt((int) Math.min(4, limit.permits()));
            long ready = books.meter().readyAt(books.now(), cost);
            if (random.nextInt(3) > 0 && ready != Exact.NEVER) {
                books.atNanos(ready);
                calls.add(new Call(books.take(cost, Phase.UNSENT), cost));
            } else {
                books.atNanos(books.now() + (long) (random.nextDouble() * period / (1 + random.nextInt(9))));
            }
            for (Call call : calls) {
                advance(call, books.now(), random, slow, seen);
            }
            calls.removeIf(call -> call.over);
        }
        seen.sort(Comparator.comparingLong(Seen::at));
        return seen;
    }

    private static void advance(Call call, long now, Random random, boolean slow, List<Seen> seen) {
        if (call.sentAt < 0) {
            if (random.nextInt(2) == 0) {
                call.permit.sent();
                call.sentAt = now;
            }
        } else if (now > call.sentAt && random.nextInt(2) == 0) {
            // The server saw it between its sending and its head; without strict() at most one transit after it was
            // sent.
            long latest = slow ? now : Math.min(now, call.sentAt + TRANSIT);
            seen.add(new Seen(call.sentAt + (long) (random.nextDouble() * (latest - call.sentAt + 1)), call.cost));
            if (random.nextInt(4) == 0) {
                call.permit.end();
            } else {
                call.permit.head();
            }
            call.over = true;
        }
    }

    private static void assertNeverMoreThan(long most, long periodNanos, List<Seen> seen) {
        int from = 0;
        long sum = 0;
        for (Seen last : seen) {
            sum += last.cost;
            while (seen.get(from).at < last.at - periodNanos) {
                sum -= seen.get(from++).cost;
            }
            assertThat(sum).as("seen in the period up to %s", last.at).isLessThanOrEqualTo(most);
        }
    }

    @Property(tries = 200)
    void no_server_sees_more_than_n_in_any_period( // B45
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 40) int permits,
            @ForAll @LongRange(min = 1, max = 20_000) long periodMillis,
            @ForAll @IntRange(min = 0, max = 4) int burst) {
        Limit window = Limit.of(permits, Duration.ofMillis(periodMillis));
        Limit limit = burst == 0 ? window : window.burst(Math.min(burst, permits));
        List<Seen> seen = play(limit, new Random(seed), 300, false);
        assertNeverMoreThan(permits, limit.period().toNanos(), seen);
    }

    @Property(tries = 200)
    void no_latency_makes_a_server_see_more_than_n_of_a_strict_window(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 40) int permits,
            @ForAll @LongRange(min = 1, max = 2_000) long periodMillis) {
        Limit limit = Limit.of(permits, Duration.ofMillis(periodMillis)).strict();
        List<Seen> seen = play(limit, new Random(seed), 300, true);
        assertNeverMoreThan(permits, limit.period().toNanos(), seen);
    }

    @Property(tries = 20)
    void large_windows_keep_n_too(@ForAll long seed, @ForAll @IntRange(min = 1_001, max = 3_000) int permits) {
        Limit limit = Limit.of(permits, Duration.ofSeconds(10));
        assertNeverMoreThan(permits, limit.period().toNanos(), play(limit, new Random(seed), 8_000, false));
    }

    @Property(tries = 200)
    void a_bucket_never_grants_more_than_its_capacity_and_what_it_gained_in_any_span(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 30) int capacity,
            @ForAll @LongRange(min = 1, max = 1_000_000) long refill,
            @ForAll @LongRange(min = 1, max = 100_000_000_000L) long periodNanos) {
        Books books = new Books(Limit.bucket(capacity, refill, Duration.ofNanos(periodNanos)));
        Random random = new Random(seed);
        List<Seen> taken = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            long cost = 1L + random.nextInt(capacity);
            long ready = books.meter().readyAt(books.now(), cost);
            books.atNanos(random.nextInt(4) > 0 ? ready : books.now() + (long) (random.nextDouble() * periodNanos));
            if (books.tryTake(cost)) {
                taken.add(new Seen(books.now(), cost));
            }
        }
        for (int from = 0; from < taken.size(); from += 7) {
            long sum = 0;
            for (Seen to : taken.subList(from, taken.size())) {
                sum += to.cost;
                long gained = Exact.floorDiv(to.at - taken.get(from).at, refill, 0, periodNanos);
                assertThat(sum).isLessThanOrEqualTo(capacity + gained);
            }
        }
    }

    @Property(tries = 200)
    void a_bucket_that_is_always_asked_grants_all_it_gained(
            @ForAll @IntRange(min = 2, max = 30) int capacity,
            @ForAll @LongRange(min = 1, max = 1_000) long refill,
            @ForAll @LongRange(min = 1_000_000, max = 100_000_000_000L) long periodNanos) {
        Books books = new Books(Limit.bucket(capacity, refill, Duration.ofNanos(periodNanos)));
        for (int taken = 0; taken < 2_000; taken++) {
            books.atNanos(books.meter().readyAt(books.now(), 1)).take(1);
            long gained = Exact.floorDiv(books.now(), refill, 0, periodNanos);
            assertThat(taken + 1L).isBetween(capacity + gained - capacity, capacity + gained);
        }
        long gained = Exact.floorDiv(books.now(), refill, 0, periodNanos);
        assertThat(gained).isEqualTo(2_000 - capacity);
    }
}
