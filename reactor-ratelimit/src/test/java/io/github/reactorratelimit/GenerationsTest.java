package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.signal.RateLimitSignal;
import java.lang.reflect.Field;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A limiter that has had two billion closings, windows and keys, which a busy one may within days. */
class GenerationsTest {

    private static final RateLimitSignal REFUSED =
            RateLimitSignal.of(429).throttled(true).delay(ofSeconds(1)).build();

    private final VirtualTime time = new VirtualTime();

    /** As it is just before the largest int. */
    private static RateLimiter old(RateLimiter limiter) {
        try {
            Field generations = Decisions.class.getDeclaredField("generations");
            generations.setAccessible(true);
            Field current = Generations.class.getDeclaredField("current");
            current.setAccessible(true);
            current.setInt(generations.get(limiter.calls().admission().decisions()), Integer.MAX_VALUE - 1);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
        return limiter;
    }

    private List<Asked> ask(RateLimiter limiter, int times) {
        return IntStream.range(0, times).mapToObj(i -> time.ask(limiter)).toList();
    }

    private static long out(List<Asked> all) {
        return all.stream().filter(Asked::isGranted).count();
    }

    /** Each is a generation of its own. */
    private void refuse(RateLimiter limiter, int times) {
        for (int i = 0; i < times; i++) {
            time.ask(limiter).permit().complete(REFUSED);
            time.advance(ofSeconds(1));
        }
    }

    @Test
    void what_ends_is_given_back_to_books_that_are_older() {
        RateLimiter limiter = old(time.limiter(Limit.inFlight(2)));
        refuse(limiter, 4);
        List<Asked> more = ask(limiter, 1);
        more.get(0).permit().release();
        assertThat(out(ask(limiter, 9))).isEqualTo(2);
    }

    @Test
    void refusals_in_a_row_are_waves_still() {
        RateLimiter limiter = old(time.limiter(Limit.inFlight(2)));
        refuse(limiter, 5);
        assertThat(limiter.snapshot().root().waves()).isEqualTo(5);
        Permit before = time.ask(limiter).permit();
        limiter.resume(Demand.one());
        before.complete(RateLimitSignal.none(200));
        ask(limiter, 2).forEach(one -> one.permit().complete(RateLimitSignal.none(200)));
        assertThat(limiter.snapshot().root().waves()).as("the ramp is over").isZero();
    }

    @Test
    void new_limits_know_who_was_before_them() {
        RateLimiter limiter = old(time.limiter(Limit.of(9, ofSeconds(1))));
        Permit before = time.ask(limiter).permit();
        for (int i = 0; i < 3; i++) {
            limiter.change(limiter.spec().limit(Limit.total(10 + i)));
            limiter.change(limiter.spec().limit(Limit.inFlight(2 + i)));
        }
        List<Asked> after = ask(limiter, 9);
        assertThat(out(after)).isEqualTo(4);
        before.release();
        assertThat(out(after)).isEqualTo(4);
    }

    @Test
    void a_breaker_is_not_told_by_those_who_went_before_it_opened() {
        RateLimiter limiter =
                old(time.spec().limit(Limit.inFlight(50)).breaker().build());
        Permit before = time.ask(limiter).permit();
        refuse(limiter, 3);
        for (int i = 0; i < 10; i++) {
            time.ask(limiter).permit().complete(RateLimitSignal.none(500));
        }
        assertThat(limiter.snapshot().root().closedFor()).isEqualTo(ofSeconds(30));
        time.advance(ofSeconds(30));
        before.complete(RateLimitSignal.none(500));
        assertThat(limiter.snapshot().root().closedFor()).isZero();
    }
}
