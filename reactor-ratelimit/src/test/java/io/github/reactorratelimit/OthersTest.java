package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** One line when a server counts more than we do, because somebody else uses the same quota. */
class OthersTest {

    private static final String WORDS = "somebody else uses this quota";

    private final VirtualTime time = new VirtualTime();

    @RegisterExtension
    final LogLines log = new LogLines(Level.WARN);

    private List<String> lines() {
        return log.texts().stream().filter(line -> line.contains(WORDS)).toList();
    }

    private static RateLimitSignal left(long remaining, long limit, @Nullable Duration window) {
        Quota quota = new Quota("", "requests", limit, remaining, -1, ofSeconds(30), window, null);
        return RateLimitSignal.of(200).quotas(List.of(quota)).build();
    }

    private static RateLimitSignal left(long remaining, long limit) {
        return left(remaining, limit, null);
    }

    private RateLimiter hundred() {
        return time.spec()
                .scope(Scope.by("user").limits(Limit.of(100, ofMinutes(1))))
                .build();
    }

    private static Demand user(String name) {
        return Demand.of("user", name);
    }

    @Test
    void a_count_above_ours_is_told_once_per_key() {
        RateLimiter limiter = hundred();
        limiter.tryAcquire(user("a")).permit().complete(left(90, 100));
        limiter.tryAcquire(user("a")).permit().complete(left(80, 100));
        assertThat(lines())
                .containsExactly("limiter=test key=[user=a] status=200 used=10 remaining=90 limit=100 ours=1: "
                        + WORDS
                        + ", or its calls cost more than they were asked for with");
        limiter.tryAcquire(user("b")).permit().complete(left(90, 100));
        assertThat(lines()).hasSize(2);
    }

    @Test
    void a_count_like_ours_is_not() {
        RateLimiter limiter = hundred();
        for (int i = 1; i <= 100; i++) {
            limiter.tryAcquire(user("a")).permit().complete(left(100 - i, 100));
        }
        assertThat(lines()).isEmpty();
    }

    @Test
    void neither_is_one_above_by_what_is_in_flight() {
        RateLimiter limiter = hundred();
        List<Asked> asked = IntStream.range(0, 10)
                .mapToObj(i -> time.ask(limiter, user("a")))
                .toList();
        time.advance(ofMillis(500));
        asked.get(0).permit().complete(left(80, 100)); // Ours are 10, and as many are out.
        assertThat(lines()).isEmpty();
        asked.get(1).permit().complete(left(79, 100));
        assertThat(lines()).hasSize(1);
    }

    @Test
    void neither_is_that_of_another_quota() {
        RateLimiter limiter = hundred();
        limiter.tryAcquire(user("a")).permit().complete(left(900, 1_000));
        limiter.tryAcquire(user("a")).permit().complete(left(50, 100, Duration.ofHours(1)));
        assertThat(lines()).isEmpty();
        limiter.tryAcquire(user("a")).permit().complete(left(50, 100, ofMinutes(1)));
        assertThat(lines()).hasSize(1);
    }

    @Test
    void neither_is_one_that_is_as_old_as_a_slow_answer() {
        RateLimiter limiter = hundred();
        Asked slow = time.ask(limiter, user("a"));
        time.advance(ofSeconds(70));
        slow.permit().complete(left(50, 100));
        assertThat(lines()).isEmpty();
    }

    @Test
    void what_we_leave_to_others_is_theirs() {
        RateLimiter limiter = time.limiter(Limit.of(100, ofMinutes(1)).headroom(0.2));
        limiter.tryAcquire().permit().complete(left(80, 100));
        assertThat(lines()).isEmpty();
        limiter.tryAcquire().permit().complete(left(70, 100));
        assertThat(lines()).hasSize(1);
    }

    @Test
    void a_learned_quota_that_falls_faster_than_we_use_it_is_told() {
        RateLimiter limiter = time.spec().learn().build();
        limiter.tryAcquire().permit().complete(left(40, 100));
        assertThat(lines()).as("nobody knows what was before").isEmpty();
        List<Asked> asked =
                IntStream.range(0, 5).mapToObj(i -> time.ask(limiter)).toList();
        asked.get(0).permit().complete(left(35, 100));
        asked.get(1).permit().complete(left(36, 100));
        assertThat(lines()).isEmpty();
        asked.get(2).permit().complete(left(10, 100));
        assertThat(lines()).hasSize(1);
    }

    @Test
    void a_late_answer_of_the_last_window_is_no_count_of_this_one() {
        RateLimiter limiter = time.spec().learn().build();
        limiter.tryAcquire().permit().complete(left(40, 100));
        Permit late = time.ask(limiter).permit();
        time.advance(ofSeconds(30));
        limiter.tryAcquire().permit().complete(left(99, 100));
        Quota last = new Quota("", "requests", 100, 39, -1, ofSeconds(1), null, null);
        late.complete(RateLimitSignal.of(200).quotas(List.of(last)).build());
        assertThat(lines()).isEmpty();
    }

    @Test
    void a_flood_of_keys_is_no_flood_of_lines() {
        RateLimiter limiter = hundred();
        for (int i = 0; i < 1_000; i++) {
            limiter.tryAcquire(user("u" + i)).permit().complete(left(50, 100));
        }
        assertThat(lines()).hasSize(100);
    }
}
