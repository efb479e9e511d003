package io.github.reactorratelimit.test;

import static io.github.reactorratelimit.test.RateLimitAssertions.assertThat;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.reactorratelimit.Demand;
import io.github.reactorratelimit.Limit;
import io.github.reactorratelimit.Permit;
import io.github.reactorratelimit.RateLimiter;
import java.time.Instant;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;

class RateLimitAssertionsTest {

    private static final long START = Instant.parse("2026-01-01T00:00:00Z").toEpochMilli();

    private final RateLimitedService service = ServiceRules.create()
            .limit("/search", 5, ofSeconds(10))
            .reply("/items", Reply.ok())
            .reply("/hang", Reply.hang())
            .script("/scripted", Reply.status(420), Reply.status(529), Reply.status(509), Reply.status(503))
            .service();

    private void at(long millis, String path) {
        service.answer(SimulatedRequest.get(path), START + millis);
    }

    private void at(long millis, String path, String token) {
        service.answer(SimulatedRequest.get(path).token(token), START + millis);
    }

    private static org.assertj.core.api.AbstractThrowableAssert<?, ? extends Throwable> fails(ThrowingCallable claim) {
        return assertThatThrownBy(claim).isInstanceOf(AssertionError.class);
    }

    @Test
    void assertions_of_both_kinds_can_be_imported_together() {
        at(0, "/items");

        assertThat(service.log()).requests(1);
        assertThat(service.log().count()).isEqualTo(1);
    }

    @Test
    void a_span_with_too_many_requests_is_shown_with_all_of_them() {
        at(0, "/items");
        at(4_000, "/items");
        at(13_000, "/items");
        at(13_000, "/items", "secret");
        at(13_999, "/hang");

        assertThat(service.log()).forEndpoint("/items").neverMoreThan(3).inAny(ofSeconds(10));
        fails(() -> assertThat(service.log())
                        .forEndpoint("/items")
                        .neverMoreThan(2)
                        .inAny(ofSeconds(10)))
                .hasMessage("""
                        Expecting no more than 2 requests to /items in any PT10S, but 3 came within PT9S, \
                        from 2026-01-01T00:00:04Z on:
                          #2 2026-01-01T00:00:04Z (+0 ms) 200 GET /items
                          #3 2026-01-01T00:00:13Z (+9000 ms) 200 GET /items
                          #4 2026-01-01T00:00:13Z (+9000 ms) 200 GET /items, token ~ca0af8e0""".replace("ca0af8e0", Integer.toHexString("secret".hashCode())))
                .hasMessageNotContaining("secret");
        fails(() -> assertThat(service.log()).neverMoreThan(3).inAny(ofSeconds(10)))
                .hasMessageContaining("requests to the service in any PT10S, but 4 came within PT9.999S")
                .hasMessageContaining("no answer GET /hang");
    }

    @Test
    void two_requests_exactly_one_period_apart_do_not_share_a_span() {
        at(0, "/items");
        at(10_000, "/items");

        assertThat(service.log()).neverMoreThan(1).inAny(ofSeconds(10));
        fails(() -> assertThat(service.log()).neverMoreThan(1).inAny(ofMillis(10_001)));
        fails(() -> assertThat(service.log()).neverMoreThan(0).inAny(ofMillis(1)));
    }

    @Test
    void an_endpoint_that_was_never_called_does_not_pass_unseen() {
        at(0, "/items");

        fails(() -> assertThat(service.log())
                        .forEndpoint("/itmes")
                        .neverMoreThan(5)
                        .inAny(ofSeconds(10)))
                .hasMessage("Expecting requests to /itmes, but none came.");
        fails(() -> assertThat(service.log()).forEndpoint("/itmes").noRefusals());
        fails(() -> assertThat(service.log()).forEndpoint("/itmes").waitedAtLeast(ofSeconds(1)));
        assertThat(service.log()).forEndpoint("/itmes").requests(0).refusals(0);
    }

    @Test
    void requests_are_counted_per_endpoint_and_token() {
        at(0, "/items", "a");
        at(0, "/items", "b");
        at(0, "/search", "a");

        assertThat(service.log()).requests(3);
        assertThat(service.log())
                .forEndpoint("/items")
                .requests(2)
                .forToken("a")
                .requests(1);
        assertThat(service.log())
                .forToken("a")
                .requests(2)
                .forEndpoint("/search")
                .requests(1);
        fails(() -> assertThat(service.log())
                        .forToken("a")
                        .forEndpoint("/search")
                        .requests(2))
                .hasMessageStartingWith("Expecting 2 requests to /search with token ~61, but there were 1:"
                        + System.lineSeparator() + "  #1 2026-01-01T00:00:00Z (+0 ms) 200 GET /search, token ~61");
    }

    @Test
    void refusals_are_counted_and_shown() {
        for (int i = 0; i < 7; i++) {
            at(i, "/search");
        }
        at(9, "/items");

        assertThat(service.log()).refusals(2).forEndpoint("/search").refusals(2);
        assertThat(service.log()).forEndpoint("/items").noRefusals();
        fails(() -> assertThat(service.log()).noRefusals()).hasMessage("""
                        Expecting no refusals by the service, but 2 of 8 requests were refused:
                          #6 2026-01-01T00:00:00.005Z (+0 ms) 429 GET /search
                          #7 2026-01-01T00:00:00.006Z (+1 ms) 429 GET /search""");
        fails(() -> assertThat(service.log()).forEndpoint("/items").refusals(1))
                .hasMessage("Expecting 1 refusals by /items, but 0 of 1 requests were refused.");
    }

    @Test
    void every_status_that_tells_of_a_limit_is_a_refusal_and_an_outage_is_none() {
        for (int i = 0; i < 4; i++) {
            at(i, "/scripted");
        }

        assertThat(service.log()).requests(4).refusals(3);
    }

    @Test
    void requests_that_came_too_close_are_shown() {
        at(0, "/items");
        at(1_000, "/items");
        at(1_999, "/items");
        at(3_000, "/items");
        at(3_500, "/items");

        assertThat(service.log()).waitedAtLeast(ofMillis(500));
        fails(() -> assertThat(service.log()).waitedAtLeast(ofSeconds(1))).hasMessage("""
                        Expecting at least PT1S between requests to the service, but these came closer:
                          #2 2026-01-01T00:00:01Z (+0 ms) 200 GET /items
                          #3 2026-01-01T00:00:01.999Z (+999 ms) 200 GET /items
                          #4 2026-01-01T00:00:03Z (+2000 ms) 200 GET /items
                          #5 2026-01-01T00:00:03.500Z (+2500 ms) 200 GET /items""");
    }

    @Test
    void where_there_was_only_one_nobody_waited() {
        at(0, "/items");

        fails(() -> assertThat(service.log()).waitedAtLeast(ofSeconds(1))).hasMessage("""
                        Expecting at least PT1S between requests to the service, but there was only one:
                          #1 2026-01-01T00:00:00Z (+0 ms) 200 GET /items""");
    }

    @Test
    void one_request_that_waited_can_be_asked_for() {
        at(0, "/items");
        at(10, "/items");
        at(10_010, "/items");

        assertThat(service.log()).waitedAtLeast(ofSeconds(10), 3);
        fails(() -> assertThat(service.log()).waitedAtLeast(ofSeconds(10), 2)).hasMessage("""
                        Expecting request #2 to the service at least PT10S after the one before it, but it came after \
                        PT0.01S:
                          #1 2026-01-01T00:00:00Z (+0 ms) 200 GET /items
                          #2 2026-01-01T00:00:00.010Z (+10 ms) 200 GET /items""");
        fails(() -> assertThat(service.log()).waitedAtLeast(ofSeconds(10), 4))
                .hasMessageContaining("Expecting request #4")
                .hasMessageContaining("but there were only 3:");
    }

    @Test
    void a_claim_that_makes_no_sense_is_refused_as_such() {
        at(0, "/items");

        assertThatThrownBy(() -> assertThat(service.log()).neverMoreThan(-1).inAny(ofSeconds(1)))
                .hasMessage("the most requests must not be negative, was -1");
        assertThatThrownBy(() -> assertThat(service.log()).neverMoreThan(1).inAny(ofSeconds(0)))
                .hasMessage("a span must be positive, was PT0S");
        assertThatThrownBy(() -> assertThat(service.log()).waitedAtLeast(ofSeconds(1), 1))
                .hasMessageContaining("was number 1");
        assertThatThrownBy(() -> assertThat(service.log()).waitedAtLeast(ofSeconds(0)))
                .hasMessage("the shortest distance must be positive, was PT0S");
        assertThatThrownBy(() -> assertThat(service.log()).waitedAtLeast(ofSeconds(-1), 2))
                .hasMessage("the shortest distance must be positive, was PT-1S");
    }

    @Test
    void a_span_may_be_as_long_as_durations_are() {
        at(0, "/items");
        at(5, "/items");

        assertThat(service.log()).neverMoreThan(2).inAny(ofSeconds(Long.MAX_VALUE));
        fails(() -> assertThat(service.log()).neverMoreThan(1).inAny(ofSeconds(Long.MAX_VALUE)))
                .hasMessageStartingWith("Expecting no more than 1 requests");
    }

    @Test
    void a_description_goes_on_with_a_narrowed_claim() {
        at(0, "/items");

        fails(() -> assertThat(service.log())
                        .as("after the retry")
                        .forEndpoint("/items")
                        .requests(2))
                .hasMessageStartingWith("[after the retry] Expecting 2 requests to /items");
    }

    @Test
    void everything_else_is_asserted_on_the_list() {
        at(0, "/items");
        at(5, "/search");

        assertThat(service.log())
                .forEndpoint("/items")
                .entries()
                .extracting(RequestLog.Entry::status)
                .containsExactly(200);
    }

    @Test
    @InVirtualTime
    void a_limiter_holds_nothing_when_every_permit_is_back_and_nobody_waits(VirtualTime time) {
        RateLimiter limiter = time.limiter(RateLimiter.named("partner").limit(Limit.inFlight(1)));
        assertThat(limiter).holdsNothing();

        Permit permit = limiter.tryAcquire().permit();
        Disposable waiter = limiter.acquire(Demand.one()).subscribe();
        fails(() -> assertThat(limiter).as("100%% over").holdsNothing()).hasMessage("""
                        [100%% over] Expecting RateLimiter 'partner' to hold nothing, but:
                          limiter 'partner', root, limit 1 requests in flight: 1 still held by permits that were not \
                        released
                          limiter 'partner', root, lane interactive: 1 still waiting for 1 requests in flight""");

        waiter.dispose();
        fails(() -> assertThat(limiter).holdsNothing()).hasMessageNotContaining("waiting");
        permit.release();
        assertThat(limiter).holdsNothing();
    }
}
