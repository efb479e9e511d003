package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.await;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofNanos;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.RateLimiterSnapshot.ScopeState;
import io.github.reactorratelimit.Scope;
import io.github.reactorratelimit.Share;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.test.Reply;
import io.github.reactorratelimit.test.RequestLog;
import io.github.reactorratelimit.test.ServiceRules;
import io.github.reactorratelimit.test.VirtualTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Buckets that several routes share, global refusals, and a body with the exact time. The wire is real, the time virtual. */
@ExtendWith(NoLeaks.class)
class DiscordOverTheWireTest { // B44

    private static final Reply DONE = Reply.ok().body("done");

    private final VirtualTime time = VirtualTime.startingAt(Instant.parse("2026-03-04T12:00:00Z"));
    private final List<String> answered = new CopyOnWriteArrayList<>();

    private Wire wire(ServiceRules rules) {
        RateLimiter api = time.limiter(RateLimiter.named("discord")
                .limit(Limit.inFlight(Wire.IN_FLIGHT))
                .lane("background", Share.of(0.5))
                .scope(Scope.by("endpoint", "token"))
                .jitter(0)
                .dialect(Dialects.discord()));
        return Wire.to(rules, api, calls -> calls);
    }

    private static Reply bucket(Reply reply, String name, int left, String resetAfter) {
        return reply.header("X-RateLimit-Limit", "5")
                .header("X-RateLimit-Remaining", "" + left)
                .header("X-RateLimit-Reset", "1470173023.123") // long past: only a skewed clock would take it
                .header("X-RateLimit-Reset-After", resetAfter)
                .header("X-RateLimit-Bucket", name);
    }

    private static Reply refused(String seconds, boolean global) {
        return Reply.status(429)
                .header("Retry-After", "" + (int) Math.ceil(Double.parseDouble(seconds)))
                .header(global ? "X-RateLimit-Global" : "X-RateLimit-Scope", global ? "true" : "user")
                .body("{\"message\":\"You are being rate limited.\",\"retry_after\":" + seconds + ",\"global\":"
                        + global + "}");
    }

    private void ask(Wire wire, String uri) {
        answer(wire.client.get().uri(uri)).subscribe(text -> answered.add(uri + " " + text));
    }

    /** So many wait, until exactly then. */
    private void assertWait(Wire wire, int waiting, Duration wait) {
        await(() -> wire.api.snapshot().waiting() == waiting && wire.acquired() == 0);
        int sent = wire.wire();
        time.advance(wait.minusNanos(1));
        assertThat(wire.api.snapshot().waiting()).isEqualTo(waiting);
        assertThat(wire.wire()).isEqualTo(sent);
        time.advance(ofNanos(1));
    }

    @Test
    void two_routes_that_turn_out_to_share_a_bucket_share_its_end_and_the_query_does_not_matter() {
        ServiceRules rules = ServiceRules.create()
                .script("/a", bucket(DONE, "h1", 2, "30.5"), bucket(DONE, "h1", 4, "60"))
                .script("/b", bucket(DONE, "h1", 0, "30.25"))
                .script("/c", bucket(DONE, "h2", 3, "60"));
        try (Wire wire = wire(rules)) {
            assertThat(outcome(wire.client.get().uri("/a?page=1"))).isEqualTo("200 done");
            assertThat(outcome(wire.client.get().uri("/b"))).isEqualTo("200 done");
            ask(wire, "/a?page=2");
            assertThat(wire.api.snapshot().waiting()).isEqualTo(1);
            assertThat(outcome(wire.client.get().uri("/c"))).isEqualTo("200 done");

            assertWait(wire, 1, ofMillis(30_250));
            await(() -> answered.size() == 1);
            assertThat(wire.api.snapshot().scopes())
                    .extracting(ScopeState::keys)
                    .filteredOn(keys -> !keys.isEmpty())
                    .hasSize(2);
            wire.assertIdle();
        }
    }

    @Test
    void a_refusal_holds_its_bucket_as_long_as_the_body_says_and_no_other() {
        ServiceRules rules = ServiceRules.create()
                .script("/a", bucket(DONE, "h1", 2, "60"), DONE)
                .script("/b", bucket(DONE, "h1", 1, "60"), bucket(refused("64.57", false), "h1", 0, "64.57"), DONE)
                .script("/c", DONE);
        try (Wire wire = wire(rules)) {
            assertThat(outcome(wire.client.get().uri("/a"))).isEqualTo("200 done");
            assertThat(outcome(wire.client.get().uri("/b"))).isEqualTo("200 done");
            ask(wire, "/b");
            await(() -> wire.api.snapshot().waiting() == 1 && wire.acquired() == 0);
            ask(wire, "/a");
            assertThat(outcome(wire.client.get().uri("/c"))).isEqualTo("200 done");

            assertWait(wire, 2, ofMillis(64_570));
            await(() -> answered.size() == 2);
            assertThat(answered).containsExactlyInAnyOrder("/a 200 done", "/b 200 done");
            wire.assertIdle();
        }
    }

    @Test
    void those_who_wait_for_a_route_are_moved_when_it_turns_out_to_share_a_bucket_that_is_used_up() {
        ServiceRules rules = ServiceRules.create()
                .script("/a", bucket(DONE, "h1", 0, "20"), DONE)
                .script("/b", bucket(refused("3.5", false), "h1", 0, "3.5"), DONE);
        try (Wire wire = wire(rules)) {
            assertThat(outcome(wire.client.get().uri("/a"))).isEqualTo("200 done");
            ask(wire, "/b"); // refused for 3.5 s, but the bucket has 20 s to go
            await(() -> wire.api.snapshot().waiting() == 1 && wire.acquired() == 0);
            ask(wire, "/b");
            ask(wire, "/a");

            assertWait(wire, 3, ofSeconds(20));
            await(() -> answered.size() == 3);
            assertThat(wire.log().entries())
                    .extracting(RequestLog.Entry::status)
                    .containsExactly(200, 429, 200, 200, 200);
            wire.assertIdle();
        }
    }

    @Test
    void a_global_refusal_holds_every_route_and_lane_and_its_body_alone_is_enough() {
        Reply bodyOnly = Reply.status(429).body("{\"retry_after\":737.317e-1,\"global\":true}");
        ServiceRules rules = ServiceRules.create()
                .script("/a", refused("12.5", true), bodyOnly, DONE)
                .script("/b", DONE)
                .script("/c", DONE);
        try (Wire wire = wire(rules)) {
            ask(wire, "/a");
            await(() -> wire.api.snapshot().root().closedFor().equals(ofMillis(12_500)));
            assertWait(wire, 1, ofMillis(12_500));
            await(() -> wire.api.snapshot().root().closedFor().equals(ofNanos(73_731_700_000L)));
            ask(wire, "/b");
            answer(wire.client.get().uri("/c").demand(demand -> demand.lane("background")))
                    .subscribe(text -> answered.add("/c " + text));

            assertWait(wire, 3, ofNanos(73_731_700_000L));
            await(() -> answered.size() == 3);
            wire.assertIdle();
        }
    }

    @Test
    void a_page_of_html_instead_of_a_refusal_waits_as_its_header_says_or_else_doubling() {
        Reply banned = Reply.status(429).header("Content-Type", "text/html").body("<html>error code: 1015</html>");
        try (Wire wire = wire(ServiceRules.create().script("/a", banned, banned.header("Retry-After", "40"), DONE))) {
            ask(wire, "/a");
            assertWait(wire, 1, ofSeconds(1));
            await(() -> wire.wire() == 2);
            assertWait(wire, 1, ofSeconds(40));
            await(() -> answered.size() == 1);
            wire.assertIdle();
        }
    }
}
