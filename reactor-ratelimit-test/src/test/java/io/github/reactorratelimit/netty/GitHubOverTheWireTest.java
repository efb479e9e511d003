package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.IN_FLIGHT;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.await;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.ServiceRules;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.test.scheduler.VirtualTimeScheduler;

/** A 403 of GitHub that is a limit, and one that is not. The clocks of client and server are virtual, the wire is real. */
@ExtendWith(NoLeaks.class)
class GitHubOverTheWireTest {

    private static final Reply FORBIDDEN = Reply.status(403)
            .header("X-RateLimit-Limit", "5000")
            .header("X-RateLimit-Remaining", "4999")
            .header("X-RateLimit-Reset", "1767229200");

    private final VirtualTimeScheduler time = VirtualTimeScheduler.create();
    private final AtomicReference<String> answered = new AtomicReference<>();

    private Wire wire(Reply... replies) {
        time.advanceTimeTo(Instant.parse("2026-01-01T00:00:00Z"));
        RateLimiter api = RateLimiter.named("github")
                .limit(Limit.inFlight(IN_FLIGHT))
                .dialect(Dialects.gitHub())
                .jitter(0)
                .scheduler(() -> time)
                .build();
        ServiceRules rules = ServiceRules.create().script("/x", replies);
        return Wire.to(rules.start(() -> Instant.ofEpochMilli(time.now(TimeUnit.MILLISECONDS))), api, calls -> calls);
    }

    private static Reply saying(String message) {
        return FORBIDDEN.body("{\"message\":\"" + message + "\",\"documentation_url\":\"https://docs.github.com\"}");
    }

    /** The call was refused for the n-th time, holds no connection and waits exactly so long. */
    private void assertWaits(Wire wire, int requests, long seconds) {
        await(() -> wire.wire() == requests && wire.api.snapshot().waiting() == 1 && wire.acquired() == 0);
        assertThat(wire.permits()).isEqualTo(IN_FLIGHT);
        assertThat(wire.api.snapshot().root().closedFor()).isEqualTo(ofSeconds(seconds));
        time.advanceTimeBy(ofSeconds(seconds).minusNanos(1));
        assertThat(wire.api.snapshot().waiting()).isEqualTo(1);
        assertThat(wire.wire()).isEqualTo(requests);
        time.advanceTimeBy(ofNanos(1));
    }

    private void assertServed(Wire wire, String answer, int requests) {
        await(() -> answered.get() != null);
        assertThat(answered.get()).isEqualTo(answer);
        assertThat(wire.wire()).isEqualTo(requests);
        wire.assertIdle();
    }

    @Test // B39
    void a_403_that_says_when_is_waited_for_so_long_and_for_any_method() {
        Reply refused = saying("You have exceeded a secondary rate limit.").header("Retry-After", "60");
        try (Wire wire = wire(refused, Reply.ok().body("there"))) {
            answer(wire.post()).subscribe(answered::set);
            assertWaits(wire, 1, 60);
            assertServed(wire, "200 there", 2);
        }
    }

    @Test // B39
    void a_403_with_nothing_left_waits_for_the_reset_and_the_margin_of_its_whole_seconds() {
        Reply refused = Reply.status(403)
                .header("X-RateLimit-Limit", "5000")
                .header("X-RateLimit-Remaining", "0")
                .header("X-RateLimit-Reset", "1767225630")
                .body("{\"message\":\"API rate limit exceeded\"}");
        try (Wire wire = wire(refused, Reply.ok().body("there"))) {
            answer(wire.get()).subscribe(answered::set);
            assertWaits(wire, 1, 31);
            assertServed(wire, "200 there", 2);
        }
    }

    @ParameterizedTest // B39
    @ValueSource(
            strings = {
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
                "You have triggered an abuse detection mechanism. Please wait a few minutes."
            })
    void a_403_that_only_its_body_explains_waits_a_minute_and_doubles(String message) {
        Reply refused = saying(message);
        try (Wire wire = wire(refused, refused, refused, refused, Reply.ok().body("there"))) {
            answer(wire.get()).subscribe(answered::set);
            assertWaits(wire, 1, 60);
            assertWaits(wire, 2, 120);
            assertWaits(wire, 3, 240);
            assertWaits(wire, 4, 300);
            assertServed(wire, "200 there", 5);
        }
    }

    @Test // B39
    void a_403_that_is_about_rights_is_an_answer_and_its_body_is_whole() {
        try (Wire wire = wire(saying("Resource not accessible by integration"), Reply.ok())) {
            answer(wire.get()).subscribe(answered::set);
            await(() -> answered.get() != null);
            assertThat(answered.get())
                    .startsWith("403 {")
                    .contains("not accessible")
                    .endsWith("}");
            assertThat(wire.wire()).isEqualTo(1);
            assertThat(wire.api.snapshot().root().closedFor()).isZero();
            wire.assertIdle();
        }
    }
}
