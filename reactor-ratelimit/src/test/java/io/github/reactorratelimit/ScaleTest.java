package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * Very many who wait. 100,000 of them on 10,000 keys in the suite; a million on 100,000 with
 * {@code -Dratelimit.scale.waiters=1000000}, which takes about a minute and 1 GiB.
 */
class ScaleTest {

    private static final int WAITERS = Integer.getInteger("ratelimit.scale.waiters", 100_000);
    private static final int KEYS = WAITERS / 10;

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();

    @Test
    void those_who_wait_are_served_in_order_by_one_alarm_and_half_of_them_leaving_loses_nothing() {
        RateLimiter limiter = RateLimiter.named("scale")
                .limit(Limit.of(WAITERS, ofSeconds(1)))
                .scope(Scope.by("key").limits(Limit.of(5, ofSeconds(10))))
                .maxPending(WAITERS, WAITERS)
                .scheduler(() -> time)
                .build();
        limiter.pause(Demand.one(), ofSeconds(5));
        List<Waiting> waiting = new ArrayList<>(WAITERS);
        List<List<Integer>> served = new ArrayList<>(KEYS);
        for (int key = 0; key < KEYS; key++) {
            served.add(new ArrayList<>());
        }
        for (int i = 0; i < WAITERS; i++) {
            Waiting one = new Waiting(i, served.get(i % KEYS));
            limiter.acquire(Demand.of("key", "k" + i % KEYS)).subscribe(one);
            waiting.add(one);
        }
        RateLimiterSnapshot full = limiter.snapshot();
        assertThat(full.waiting()).isEqualTo(WAITERS);
        assertThat(full.timers())
                .as("the root's line, parked until the pause is over")
                .isEqualTo(1);

        Random random = new Random(7);
        int left = 0;
        for (Waiting one : waiting) {
            if (random.nextBoolean()) {
                one.cancel();
                left++;
            }
        }
        assertThat(limiter.snapshot().waiting()).isEqualTo(WAITERS - left);

        for (int i = 0; i < 12; i++) {
            time.advanceTimeBy(ofSeconds(5));
        }
        assertThat(served.stream().mapToInt(List::size).sum()).isEqualTo(WAITERS - left);
        assertThat(served).allSatisfy(line -> assertThat(line).isSorted());
        RateLimiterSnapshot over = limiter.snapshot();
        assertThat(over.waiting()).isZero();
        assertThat(over.timers()).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 1_000, 10_000})
    void a_grant_looks_at_as_few_lines_for_many_users_as_for_few(int users) {
        MemoryRateLimiter limiter = (MemoryRateLimiter) RateLimiter.named("onenote")
                .limit(Limit.of(240, ofMinutes(1)), Limit.of(800, ofHours(1)), Limit.inFlight(20))
                .scope(Scope.by("user")
                        .limits(Limit.of(120, ofMinutes(1)), Limit.of(400, ofHours(1)), Limit.inFlight(5)))
                .scheduler(() -> time)
                .build();
        List<Integer> served = new ArrayList<>();
        for (int user = 0; user < users; user++) {
            Mono<Permit> next = limiter.acquire(Demand.of("user", "u" + user));
            for (int i = 0; i < Math.max(1, 10_000 / users); i++) {
                next.subscribe(new Waiting(i, served));
            }
        }
        long toJoin = limiter.evaluations();
        int atOnce = served.size();
        time.advanceTimeBy(ofHours(2));

        assertThat(served).hasSizeGreaterThanOrEqualTo(1_600);
        assertThat((double) (limiter.evaluations() - toJoin) / (served.size() - atOnce))
                .as("evaluations per grant")
                .isLessThan(8);
    }

    /** Gives its permit back at once, and notes that it had it. */
    private static final class Waiting implements CoreSubscriber<Permit> {

        private final int number;
        private final List<Integer> served;
        private @Nullable Subscription subscription;

        Waiting(int number, List<Integer> served) {
            this.number = number;
            this.served = served;
        }

        void cancel() {
            if (subscription != null) {
                subscription.cancel();
            }
        }

        @Override
        public void onSubscribe(Subscription s) {
            subscription = s;
            s.request(1);
        }

        @Override
        public void onNext(Permit permit) {
            served.add(number);
            permit.release();
        }

        @Override
        public void onError(Throwable error) {
            throw new AssertionError(error);
        }

        @Override
        public void onComplete() {}
    }
}
