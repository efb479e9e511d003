package io.github.reactorratelimit;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import reactor.core.publisher.Mono;
import reactor.test.scheduler.VirtualTimeScheduler;
import reactor.test.subscriber.TestSubscriber;

/** A preferred source and a cheaper one, what is asked of them in virtual time, and who served it. */
abstract class TwoModels {

    final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    final RateLimiter gpt = limiter("gpt", Limit.of(2, ofSeconds(60)).strict(), Limit.inFlight(5));
    final RateLimiter cheap = limiter("cheap", Limit.of(3, ofSeconds(30)).strict(), Limit.inFlight(5));
    final List<String> served = new ArrayList<>();
    final Fallback llm = PermitSource.firstWithin(ofSeconds(2), gpt, cheap);

    RateLimiter limiter(String name, Limit... limits) {
        return RateLimiter.named(name)
                .limit(limits)
                .scheduler(() -> time)
                .jitter(0)
                .random(() -> 0.5)
                .build();
    }

    @AfterEach
    void nobody_is_left_and_nothing_is_held() {
        for (RateLimiter limiter : List.of(gpt, cheap)) {
            assertThat(limiter.snapshot().waiting())
                    .as("waiting at %s", limiter)
                    .isZero();
            assertThat(limiter.snapshot().timers()).as("timers of %s", limiter).isZero();
            assertThat(limiter.snapshot().root().limits().get(1).available())
                    .as("in flight at %s", limiter)
                    .isEqualTo(5);
        }
    }

    String name(PermitSource source) {
        return source == gpt ? "gpt" : source == cheap ? "cheap" : "another";
    }

    /** A call that takes a second. */
    TestSubscriber<String> ask(PermitSource source) {
        return ask(source, Demand.one());
    }

    TestSubscriber<String> ask(PermitSource source, Demand demand) {
        return source.use(
                        asked -> demand,
                        permit -> Mono.delay(ofSeconds(1), time)
                                .map(tick -> name(permit.source()))
                                .doOnNext(served::add))
                .subscribeWith(TestSubscriber.create());
    }

    void pass(Duration duration) {
        time.advanceTimeBy(duration);
    }
}
