package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.LimitStore.Answer;
import io.github.reactorratelimit.LimitStore.Batch;
import io.github.reactorratelimit.LimitStore.KeyState;
import io.github.reactorratelimit.LimitStore.Reply;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A lane whose share a store says is used up, by other processes: nobody asks for it again until then. */
class RefusedShareTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final HandStore store = new HandStore();
    private final RateLimiter limiter = RateLimiter.named("lanes")
            .limit(Limit.of(100, ofSeconds(10)))
            .lane("slow", Share.of(0.5))
            .scheduler(() -> time)
            .build(store);
    private final List<Permit> permits = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    private void acquire(Demand demand) {
        limiter.acquire(demand).subscribe(permits::add, failures::add);
    }

    /** The share of the slow lane has something again in four seconds. */
    private void refuse() {
        Batch batch = store.latest();
        int share = IntStream.range(0, batch.books().size())
                .filter(i -> "slow".equals(batch.books().get(i).lane()))
                .findFirst()
                .orElseThrow();
        List<KeyState> keys = Collections.nCopies(batch.keys().size(), store.state);
        List<Answer> answers = batch.asks().stream()
                .map(ask -> new Answer(0, 0, ofSeconds(4).toNanos(), 0, share, -1, -1))
                .toList();
        store.open.remove().tryEmitValue(new Reply(HandStore.AT, keys, answers));
    }

    @Test
    void it_is_asked_for_again_when_it_was_said_to_have_something_and_others_meanwhile() {
        Demand slow = Demand.one().lane("slow");
        acquire(slow);
        refuse();
        assertThat(permits).isEmpty();
        assertThat(store.open).isEmpty();

        acquire(slow.maxWait(ofSeconds(3)));
        assertThat(store.open).as("it is known without a call").isEmpty();
        assertThat(failures)
                .singleElement()
                .isInstanceOfSatisfying(
                        RateLimitedException.class,
                        refused -> assertThat(refused.retryAfter()).isEqualTo(ofSeconds(4)));

        acquire(Demand.one());
        store.answer();
        assertThat(permits).as("the limit itself is not used up").hasSize(1);

        time.advanceTimeBy(ofSeconds(4));
        store.answer();
        assertThat(permits).hasSize(2);
    }
}
