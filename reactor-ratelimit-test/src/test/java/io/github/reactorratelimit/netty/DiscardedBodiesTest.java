package io.github.reactorratelimit.netty;

import static io.github.reactorratelimit.netty.Wire.IN_FLIGHT;
import static io.github.reactorratelimit.netty.Wire.answer;
import static io.github.reactorratelimit.netty.Wire.await;
import static io.github.reactorratelimit.netty.Wire.outcome;
import static io.github.reactorratelimit.netty.Wire.script;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.test.Reply;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.Disposable;
import reactor.core.Disposables;
import reactor.netty.http.client.HttpClient;
import reactor.test.scheduler.VirtualTimeScheduler;

/** What becomes of responses that are not handed on, with a pool of one connection. B10 */
@ExtendWith(NoLeaks.class)
class DiscardedBodiesTest {

    private static final Reply REFUSAL = Reply.status(429).header("Retry-After", "0");

    @Test
    void a_body_of_a_mebibyte_is_read_away_and_its_connection_used_again() {
        try (Wire wire = Wire.to(script(REFUSAL.bodyOfSize(1_048_576), Reply.ok()))) {
            assertThat(outcome(wire.get())).startsWith("200");
            assertThat(wire.server.connections()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @Test
    void a_larger_body_costs_its_connection_and_the_call_goes_on() {
        try (Wire wire = Wire.to(script(REFUSAL.bodyOfSize(4_000_000), Reply.ok()))) {
            assertThat(outcome(wire.get())).startsWith("200");
            assertThat(wire.server.connections()).isEqualTo(2);
            wire.assertIdle();
        }
    }

    @Test
    void a_body_without_an_end_costs_its_connection_and_the_call_goes_on() {
        try (Wire wire = Wire.to(script(REFUSAL.endless(), Reply.ok()))) {
            assertThat(outcome(wire.get())).startsWith("200");
            assertThat(wire.server.connections()).isEqualTo(2);
            await(() -> wire.server.openConnections() == 1);
            wire.assertIdle();
        }
    }

    @Test
    void a_body_that_stalls_costs_its_connection_after_a_second() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter api = RateLimiter.named("api")
                .limit(Limit.inFlight(IN_FLIGHT))
                .scheduler(() -> time)
                .build();
        Reply stalling = REFUSAL.body("0123456789").slowly(2, Duration.ofHours(1));
        try (Wire wire = Wire.to(script(stalling, Reply.ok()), api, calls -> calls)) {
            AtomicReference<String> answered = new AtomicReference<>();
            Disposable call = answer(wire.get()).subscribe(answered::set);
            // The head is heard, so the scope is closed, and the drain is the only timer left.
            await(() -> wire.wire() == 1 && !api.snapshot().root().closedFor().isZero());
            time.advanceTimeBy(Duration.ofMillis(990));
            assertThat(wire.permits()).isEqualTo(IN_FLIGHT - 1);
            await(() -> {
                time.advanceTimeBy(Duration.ofMillis(10));
                return answered.get() != null;
            });

            assertThat(answered.get()).startsWith("200");
            assertThat(wire.server.connections()).isEqualTo(2);
            wire.assertIdle();
            call.dispose();
        }
    }

    @Test
    void no_connection_and_no_permit_are_held_while_a_call_waits() {
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter api = RateLimiter.named("api")
                .limit(Limit.inFlight(IN_FLIGHT))
                .scheduler(() -> time)
                .build();
        Reply later = Reply.status(429).header("Retry-After", "2").bodyOfSize(1_048_576);
        try (Wire wire = Wire.to(script(later, Reply.ok()), api, calls -> calls)) {
            AtomicReference<String> answered = new AtomicReference<>();
            Disposable call = answer(wire.get()).subscribe(answered::set);
            await(() -> api.snapshot().waiting() == 1 && wire.acquired() == 0);

            assertThat(wire.permits()).isEqualTo(IN_FLIGHT);
            assertThat(wire.wire()).isEqualTo(1);
            time.advanceTimeBy(Duration.ofMillis(1_990));
            assertThat(api.snapshot().waiting()).isEqualTo(1);
            time.advanceTimeBy(Duration.ofSeconds(1));
            await(() -> answered.get() != null);
            assertThat(answered.get()).startsWith("200");
            wire.assertIdle();
            call.dispose();
        }
    }

    @Test
    void a_caller_who_leaves_as_the_head_comes_holds_no_connection() {
        Reply stalling = Reply.ok().body("0123456789").slowly(2, Duration.ofHours(1));
        try (Wire wire = Wire.to(script(stalling, Reply.ok()))) {
            Disposable.Swap call = Disposables.swap();
            // The client has one place where a head is dropped for a caller who has just left.
            HttpClient leaving = wire.plain.mapConnect(connecting -> connecting.filter(connection -> {
                call.dispose();
                return false;
            }));
            call.update(answer(RateLimitedHttpClient.of(leaving, wire.api).get().uri("/x"))
                    .subscribe());

            await(() -> wire.server.log().count() == 1 && wire.server.openConnections() == 0);
            wire.assertIdle();
        }
    }

    @Test
    void cancelling_during_the_drain_closes_the_connection_and_frees_the_permit() {
        Reply stalling = Reply.status(429)
                .header("Retry-After", "100")
                .body("0123456789")
                .slowly(2, Duration.ofHours(1));
        VirtualTimeScheduler time = VirtualTimeScheduler.create();
        RateLimiter api = RateLimiter.named("api")
                .limit(Limit.inFlight(IN_FLIGHT))
                .scheduler(() -> time)
                .build();
        try (Wire wire = Wire.to(script(stalling, Reply.ok()), api, calls -> calls)) {
            Disposable call = answer(wire.get()).subscribe();
            await(() -> !api.snapshot().root().closedFor().isZero());
            assertThat(wire.permits()).isEqualTo(IN_FLIGHT - 1);

            call.dispose();

            assertThat(wire.permits()).isEqualTo(IN_FLIGHT);
            await(() -> wire.server.openConnections() == 0);
            assertThat(wire.wire()).isEqualTo(1);
            wire.assertIdle();
        }
    }

    @Test
    void a_refusal_cut_off_in_its_body_is_still_a_refusal() {
        try (Wire wire = Wire.to(script(
                REFUSAL.bodyOfSize(1_000).resetAfterHead(),
                REFUSAL.bodyOfSize(1_000).closeAfterHead(),
                Reply.ok()))) {
            assertThat(outcome(wire.post())).startsWith("200");
            assertThat(wire.wire()).isEqualTo(3);
            wire.assertIdle();
        }
    }
}
