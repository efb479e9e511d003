package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.IN_FLIGHT;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.await;
import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.test.Fault;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What several clients of one limiter know of each other, and what a call is charged. */
@ExtendWith(NoLeaks.class)
class SharedGateTest {

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final List<String> answered = new CopyOnWriteArrayList<>();

    private RateLimiter limiter(Limit... limits) {
        return RateLimiter.named("shared")
                .limit(limits)
                .scope(Scope.by("host", "token"))
                .jitter(0)
                .scheduler(() -> time)
                .build();
    }

    @Test // B11, B64
    void a_refusal_heard_by_one_client_holds_every_client_with_that_key_and_no_other_key() {
        Reply refused = Reply.status(429).header("Retry-After", "10");
        ServiceRules rules = ServiceRules.create().script("/x", refused, Reply.ok(), Reply.ok(), Reply.ok());
        try (Wire wire = Wire.to(rules, limiter(Limit.inFlight(IN_FLIGHT)), calls -> calls)) {
            RateLimitedHttpClient one = wire.client;
            RateLimitedHttpClient other = RateLimitedHttpClient.of(wire.plain, wire.api);
            answer(one.get().uri("/x").header("Authorization", "Bearer ann"))
                    .map(text -> "one " + text.substring(0, 3))
                    .subscribe(answered::add);
            await(() -> wire.wire() == 1 && wire.api.snapshot().waiting() == 1 && wire.acquired() == 0);

            answer(other.get().uri("/x").header("Authorization", "Bearer ann"))
                    .map(text -> "other " + text.substring(0, 3))
                    .subscribe(answered::add);
            assertThat(wire.api.snapshot().waiting()).isEqualTo(2);
            answer(other.get().uri("/x").header("Authorization", "Bearer bob"))
                    .map(text -> "bob " + text.substring(0, 3))
                    .subscribe(answered::add);
            await(() -> answered.size() == 1);
            assertThat(answered).containsExactly("bob 200");

            time.advanceTimeBy(ofSeconds(10).minusNanos(1));
            assertThat(wire.wire()).isEqualTo(2);
            assertThat(wire.api.snapshot().waiting()).isEqualTo(2);
            time.advanceTimeBy(ofSeconds(1));
            await(() -> answered.size() == 3);
            assertThat(answered).containsExactlyInAnyOrder("bob 200", "one 200", "other 200");
            assertThat(wire.wire()).isEqualTo(4);
            wire.assertIdle();
        }
    }

    @Test // B22
    void a_call_cancelled_before_it_is_written_is_refunded_and_one_cancelled_after_is_charged() {
        RateLimiter api = limiter(Limit.inFlight(IN_FLIGHT), Limit.bucket(10, 1, ofDays(1)));
        try (Wire wire = Wire.to(ServiceRules.create().fault("/x", Fault.always(Reply.hang())), api, calls -> calls)) {
            Disposable written = answer(wire.get()).subscribe();
            await(() -> wire.wire() == 1);
            Disposable unwritten = answer(wire.get()).subscribe();
            // It has its permit, and waits for the only connection.
            assertThat(left(api)).isEqualTo(8);

            unwritten.dispose();
            assertThat(left(api)).isEqualTo(9);
            written.dispose();
            assertThat(left(api)).isEqualTo(9);
            wire.assertIdle();
            assertThat(wire.wire()).isEqualTo(1);
        }
    }

    private static long left(RateLimiter api) {
        return api.snapshot().root().limits().get(1).available();
    }
}
