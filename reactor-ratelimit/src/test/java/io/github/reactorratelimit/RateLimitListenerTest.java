package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.github.reactorratelimit.RateLimitListener.Subject;
import io.github.reactorratelimit.RetryScript.Response;
import io.github.reactorratelimit.signal.Headers;
import io.github.reactorratelimit.signal.Quota;
import io.github.reactorratelimit.signal.RateLimitSignal;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.test.publisher.TestPublisher;
import reactor.test.subscriber.TestSubscriber;

/** What listeners are told, and in what order. */
class RateLimitListenerTest {

    private static final Demand GET = Demand.of("method", "GET");

    private final VirtualTime time = new VirtualTime();
    private final Told told = new Told();
    private final RetryScript server = new RetryScript(time.scheduler());

    private RateLimiter limiter(Limit... limits) {
        RateLimiter limiter = spec().limit(limits).build();
        told.take();
        return limiter;
    }

    private RateLimiterSpec spec() {
        return time.spec().random(() -> 0.5).listener(told);
    }

    private TestSubscriber<Response> call(RateLimiter limiter, RetryPolicy policy) {
        TestSubscriber<Response> result = server.call()
                .transform(server.on(limiter.calls()).retry(policy).limit(GET))
                .subscribeWith(TestSubscriber.create());
        time.advance(ofMinutes(2));
        assertThat(result.isTerminated()).isTrue();
        return result;
    }

    // ------------------------------------------------------------------------------------------------ permits

    @Test
    void an_attempt_is_told_of_from_its_beginning_to_its_end() {
        Mono.delay(ofSeconds(2), time.scheduler())
                .transform(limiter(Limit.of(1, ofSeconds(10))).limit())
                .contextWrite(context -> context.put("caller", "alice"))
                .as(Flux::from)
                .subscribe();
        time.advance(ofSeconds(3));

        assertThat(told.take())
                .containsExactly(
                        "1 begins for alice",
                        "1 asked",
                        "1 granted after PT0S",
                        "1 released after PT2S DONE",
                        "1 is over by its own listener");
        assertThat(Set.copyOf(told.subjects)).as("one subject for all events").hasSize(1);
    }

    @Test
    void who_waits_is_told_its_limit_its_place_and_the_time_and_then_the_grant() {
        RateLimiter limiter = limiter(Limit.of(1, ofSeconds(10)));
        time.ask(limiter);
        time.advance(ofSeconds(4));
        told.take();
        time.ask(limiter);
        time.ask(limiter);
        time.advance(ofSeconds(30));

        assertThat(told.take())
                .containsExactly(
                        "1 asked",
                        "1 waits for 1 requests per PT10S behind 0 for PT6.01S",
                        "1 asked",
                        "1 waits for 1 requests per PT10S behind 1 for PT16.02S",
                        "1 granted after PT6.01S",
                        "1 granted after PT16.02S");
    }

    @Test
    void refusals_are_told_with_their_reason() {
        RateLimiter limiter = spec().limit(Limit.inFlight(1)).maxPending(1, 1).build();
        time.ask(limiter);
        told.take();

        time.ask(limiter, Demand.one().maxWait(Duration.ZERO));
        time.ask(limiter, Demand.one().cost(2));
        time.ask(limiter, Demand.one().maxWait(ofSeconds(3)));
        time.ask(limiter);
        time.advance(ofSeconds(5));
        limiter.dispose();
        time.ask(limiter);

        assertThat(told.take())
                .containsExactly(
                        "1 asked",
                        "1 refused after PT0S RateLimitedException",
                        "1 asked",
                        "1 refused after PT0S RateLimitedException",
                        "1 asked",
                        "1 waits for 1 requests in flight behind 0 for null",
                        "1 asked",
                        "1 refused after PT0S QueueFullException",
                        "1 refused after PT3S RateLimitedException",
                        "1 asked",
                        "1 refused after PT0S LimiterDisposedException");
    }

    @Test
    void who_leaves_the_line_is_told_to_have_left_and_nothing_else() {
        RateLimiter limiter = limiter(Limit.inFlight(1));
        Asked first = time.ask(limiter);
        Disposable second = limiter.acquire(Demand.one()).subscribe();
        Disposable third =
                Mono.never().transform(limiter.limit()).as(Flux::from).subscribe();
        told.take();
        time.advance(ofSeconds(7));
        second.dispose();
        third.dispose();
        first.permit().release();

        assertThat(told.take()).containsExactly("1 left after PT7S", "1 left after PT7S", "1 released after PT7S DONE");
    }

    @Test
    void a_call_that_is_cancelled_while_it_runs_stays_charged_and_one_that_is_not_sent_is_refunded() {
        RateLimiter limiter = limiter(Limit.of(5, ofSeconds(10)));
        Mono.never().transform(limiter.limit()).as(Flux::from).subscribe().dispose();
        assertThat(told.take()).contains("1 released after PT0S CANCELLED");

        limiter.calls().exchange(GET, exchange -> Mono.never()).subscribe().dispose();
        assertThat(told.take()).contains("1 released after PT0S REFUNDED").doesNotContain("1 sent");

        limiter.calls().exchange(GET, this::sentAndSilent).subscribe().dispose();
        assertThat(told.take()).contains("1 sent", "1 released after PT0S CANCELLED");
    }

    private Mono<String> sentAndSilent(Exchange exchange) {
        exchange.sent();
        return Mono.never();
    }

    @Test
    void an_adapters_call_tells_when_it_is_sent_and_the_time_from_there() {
        RateLimiter limiter = limiter(Limit.of(5, ofSeconds(10)));
        limiter.calls()
                .exchange(
                        GET,
                        exchange -> Mono.delay(ofSeconds(1), time.scheduler())
                                .doOnNext(connected -> exchange.sent())
                                .delayElement(ofSeconds(2), time.scheduler())
                                .doOnNext(answered -> exchange.head(200, Headers.of())))
                .subscribe();
        time.advance(ofSeconds(5));

        assertThat(told.take())
                .containsExactly(
                        "1 begins for nobody",
                        "1 asked",
                        "1 granted after PT0S",
                        "1 sent",
                        "1 answered 200",
                        "1 released after PT2S DONE",
                        "1 is over by its own listener");
    }

    @Test
    void what_try_acquire_answers_is_told_with_one_subject_per_permit() {
        RateLimiter limiter = limiter(Limit.of(1, ofSeconds(10)));
        limiter.tryAcquire().permit().release();
        assertThat(limiter.tryAcquire().allowed()).isFalse();
        limiter.estimate(Demand.one());

        assertThat(told.take())
                .containsExactly(
                        "1 asked",
                        "1 granted after PT0S",
                        "1 released after PT0S DONE",
                        "1 asked",
                        "1 refused after PT0S RateLimitedException");
        assertThat(new HashSet<>(told.subjects)).hasSize(2);
    }

    @Test
    void every_element_that_is_paced_has_a_permit_of_its_own() {
        RateLimiter limiter = limiter(Limit.of(2, ofSeconds(10)));
        TestPublisher<Integer> source = TestPublisher.create();
        Disposable paced =
                source.flux().transform(limiter.limitEach()).as(Flux::from).subscribe();
        source.next(1, 2, 3);
        paced.dispose();

        assertThat(told.take())
                .containsExactly(
                        "1 asked",
                        "1 granted after PT0S",
                        "1 released after PT0S DONE",
                        "1 asked",
                        "1 granted after PT0S",
                        "1 released after PT0S DONE",
                        "1 asked",
                        "1 waits for 2 requests per PT10S behind 0 for PT10.01S",
                        "1 left after PT0S");
    }

    @Test
    void a_corrected_cost_is_told_once() {
        RateLimiter limiter = limiter(Limit.of(100, ofSeconds(10)).unit("tokens"));
        Permit permit = limiter.tryAcquire(Demand.one().cost("tokens", 20)).permit();
        told.take();
        permit.settle("tokens", 35);
        permit.settle("tokens", 40);

        assertThat(told.take()).containsExactly("1 settled 20 tokens to 35");
    }

    @Test
    void limits_that_cannot_be_asked_for_are_a_refusal_and_a_missing_attribute_is_nothing() {
        RateLimiter limiter = spec().scope(Scope.by("user").limitsBy(key -> {
                    throw new IllegalStateException("no plan");
                }))
                .build();
        told.take();
        assertThatThrownBy(() -> limiter.tryAcquire(Demand.one())).isInstanceOf(IllegalArgumentException.class);
        assertThat(told.take()).isEmpty();

        time.ask(limiter, Demand.of("user", "u"));
        assertThat(told.take()).containsExactly("1 asked", "1 refused after PT0S IllegalStateException");
    }

    // ------------------------------------------------------------------------------------------------ the server

    @Test
    void a_refusal_by_the_server_is_told_with_its_cooldown_and_the_retry() {
        server.then(429, "Retry-After", "3").then(200);
        call(limiter(Limit.inFlight(9)), RetryPolicy.standard());

        assertThat(told.take())
                .containsExactly(
                        "1 begins for nobody",
                        "1 asked",
                        "1 granted after PT0S",
                        "1 answered 429",
                        "1 throttled 429 for PT3S",
                        "closed [] for PT3S, PT3S more, REFUSED",
                        "1 again as 2, THROTTLED, in PT3S",
                        "1 released after PT0S DONE",
                        "1 is over by its own listener",
                        "2 begins for nobody",
                        "2 asked",
                        "2 waits for null behind 0 for PT3S",
                        "opened []",
                        "2 granted after PT3S",
                        "2 answered 200",
                        "2 released after PT0S DONE",
                        "2 is over by its own listener");
    }

    @Test
    void a_retry_tells_why_and_when_and_a_call_that_gives_up_tells_that() {
        server.then("refused", Failure.notSent()).then(500).then("reset", Failure.interrupted());
        call(
                limiter(),
                RetryPolicy.attempts(3)
                        .backoff(
                                Backoff.exponential(ofSeconds(4), ofSeconds(60)).jitter(0)));

        assertThat(told.take().stream().filter(line -> !line.contains("own listener") && !line.contains("begins")))
                .containsExactly(
                        "1 asked",
                        "1 granted after PT0S",
                        "1 again as 2, NOT_SENT, in PT4S",
                        "1 released after PT0S DONE",
                        "2 asked",
                        "2 waits for null behind 0 for PT4S",
                        "2 granted after PT4S",
                        "2 answered 500",
                        "2 again as 3, FAILED, in PT8S",
                        "2 released after PT0S DONE",
                        "3 asked",
                        "3 waits for null behind 0 for PT8S",
                        "3 granted after PT8S",
                        "3 exhausted by 3",
                        "3 failed RetriesExhaustedException",
                        "3 released after PT0S DONE");
    }

    @Test
    void giving_up_is_told_even_if_the_caller_gets_the_last_response() {
        server.then(500);
        TestSubscriber<Response> result =
                call(limiter(), RetryPolicy.attempts(2).returnLastResponse());

        assertThat(result.getReceivedOnNext()).extracting(Response::status).containsExactly(500);
        assertThat(told.take()).contains("2 exhausted by 2").noneMatch(line -> line.contains("failed"));
    }

    @Test
    void an_error_that_the_caller_gets_is_told() {
        server.then("no", Failure.fatal());
        call(limiter(), RetryPolicy.standard());
        assertThat(told.take()).contains("1 failed ClientError");
    }

    @Test
    void a_scope_is_told_to_close_by_an_empty_quota_by_a_503_and_by_hand_and_to_open_once() {
        RateLimiter limiter =
                spec().scope(Scope.by("api").limits(Limit.inFlight(5))).build();
        Demand whom = Demand.of("api", "L");
        told.take();
        limiter.pause(whom, ofSeconds(5));
        limiter.pause(whom, ofSeconds(3));
        time.advance(ofSeconds(1));
        limiter.pause(whom, ofSeconds(6));
        assertThat(told.take())
                .containsExactly(
                        "closed [api=L] for PT5S, PT5S more, BY_HAND", "closed [api=L] for PT6S, PT2S more, BY_HAND");
        time.advance(ofSeconds(20));
        assertThat(told.take()).containsExactly("opened [api=L]");

        limiter.pause(whom, ofSeconds(5));
        limiter.resume(whom);
        limiter.resume(whom);
        time.advance(ofSeconds(20));
        assertThat(told.take()).containsExactly("closed [api=L] for PT5S, PT5S more, BY_HAND", "opened [api=L]");

        Permit permit = limiter.tryAcquire(whom).permit();
        told.take();
        permit.complete(RateLimitSignal.of(200)
                .delay(ofMillis(1_500))
                .quotas(List.of(new Quota("", "requests", 5, 0, 5, ofMillis(1_500), null, null)))
                .build());
        assertThat(told.take())
                .containsExactly(
                        "1 answered 200",
                        "closed [api=L] for PT1.5S, PT1.5S more, EMPTIED",
                        "1 released after PT0S DONE");

        server.then(503).then(200);
        server.call()
                .transform(server.on(limiter.calls()).limit(whom.and("method", "GET")))
                .as(Flux::from)
                .subscribe();
        time.advance(ofSeconds(60));
        assertThat(told.take())
                .contains(
                        "closed [api=L] for PT0.25S, PT0.25S more, UNAVAILABLE",
                        "1 again as 2, UNAVAILABLE, in PT0.25S");
    }

    @Test
    void a_proxy_that_failed_is_told() {
        server.then("no way", Failure.notSent().atProxy("proxy.example:3128")).then(200);
        call(limiter(), RetryPolicy.standard());
        assertThat(told.take()).contains("1 proxy proxy.example:3128 no way");
    }

    // ------------------------------------------------------------------------------------------------ who it is

    @Test
    void a_subject_names_the_configured_endpoint_and_hides_credentials() {
        RateLimiter limiter = spec().scope(Scope.by("endpoint", "token")
                        .limit("/users/{id}", Limit.of(5, ofSeconds(1)))
                        .limit("/search", Limit.of(5, ofSeconds(1))))
                .scope(Scope.by("user"))
                .lane("background", Share.of(0.5))
                .build();
        Demand any = Demand.of("token", "secret").and("user", "bob");
        limiter.tryAcquire(any.and("endpoint", "/users/7").lane("background"));
        limiter.tryAcquire(any.and("endpoint", "/search"));
        limiter.tryAcquire(any.and("endpoint", "/elsewhere"));

        assertThat(told.subjects)
                .extracting(Subject::endpoint)
                .containsExactly("/users/{id}", "/users/{id}", "/search", "/search", null, null);
        Subject first = told.subjects.get(0);
        assertThat(first.keys()).hasSize(2).noneMatch(key -> key.contains("secret"));
        assertThat(first.lane()).isEqualTo("background");
        assertThat(first.limiter()).isEqualTo("test");
        assertThat(first.demand().attribute("user")).isEqualTo("bob");
        assertThat(told.subjects.get(1)).as("of the grant").isEqualTo(first);
        assertThat(told.subjects.get(1).keys()).isEqualTo(first.keys());
    }

    @Test
    void who_is_refused_at_once_stood_in_the_lane_it_named() {
        RateLimiter limiter = spec().limit(Limit.of(1, ofSeconds(10)))
                .lane("background", Share.of(1))
                .build();
        limiter.tryAcquire();
        told.subjects.clear();
        limiter.tryAcquire(Demand.one().lane("background"));
        assertThat(told.subjects).extracting(Subject::lane).containsOnly("background");
    }

    @Test
    void building_and_changing_a_limiter_is_told() {
        RateLimiter limiter = spec().limit(Limit.inFlight(1)).build();
        limiter.change(limiter.spec().limit(Limit.inFlight(2)));
        assertThat(told.take()).containsExactly("built test", "changed to [2 requests in flight]");
    }

    // ------------------------------------------------------------------------------------------- bad listeners

    @Test
    void a_listener_that_throws_harms_nobody_and_is_logged_once() {
        RateLimitListener broken = new RateLimitListener() {
            @Override
            public void asked(Subject who) {
                throw new IllegalStateException("asked");
            }

            @Override
            public void granted(Subject who, Duration waited) {
                throw new AssertionError("granted");
            }
        };
        Logger log = (Logger) LoggerFactory.getLogger(RateLimiter.class);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        log.addAppender(lines);
        log.setLevel(Level.WARN);
        try {
            RateLimiter limiter = time.spec().listener(broken).listener(told).build();
            Mono<String> call =
                    Mono.just("x").transform(limiter.<String>limit()).as(Mono::from);
            assertThat(call.repeat(9).collectList().block()).hasSize(10);
            assertThat(told.lines)
                    .filteredOn(line -> line.equals("1 released after PT0S DONE"))
                    .hasSize(10);
            assertThat(lines.list)
                    .singleElement()
                    .satisfies(line -> assertThat(line.getFormattedMessage())
                            .contains("limiter=test")
                            .contains("threw"));
        } finally {
            log.detachAppender(lines);
            log.setLevel(null);
        }
    }

    @Test
    void a_listener_is_told_outside_the_monitor() {
        RateLimiter[] limiter = new RateLimiter[1];
        int[] asked = new int[1];
        Told looking = new Told();
        RateLimitListener looks = new RateLimitListener() {
            private void look() {
                // Somebody else's thread would never get the monitor if this one held it.
                Thread other = new Thread(() -> limiter[0].snapshot());
                other.start();
                try {
                    other.join(30_000);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                assertThat(other.isAlive()).isFalse();
                asked[0]++;
            }

            @Override
            public void asked(Subject who) {
                look();
            }

            @Override
            public void waiting(Subject who, Queue queue) {
                look();
            }

            @Override
            public void granted(Subject who, Duration waited) {
                look();
            }

            @Override
            public void throttled(Subject who, RateLimitSignal signal, Duration closedFor) {
                look();
            }

            @Override
            public void closed(Closing closing) {
                look();
            }

            @Override
            public void opened(String name, List<String> keys) {
                look();
            }

            @Override
            public void released(Subject who, Duration held, Ending ending) {
                look();
            }
        };
        limiter[0] = time.spec()
                .limit(Limit.inFlight(1))
                .listener(looks)
                .listener(looking)
                .build();
        Asked first = time.ask(limiter[0]);
        time.ask(limiter[0]);
        first.permit()
                .complete(RateLimitSignal.of(429)
                        .throttled(true)
                        .hint(ofSeconds(1))
                        .delay(ofSeconds(1))
                        .build());
        time.advance(ofSeconds(5));
        assertThat(asked[0]).as("%s", looking.lines).isEqualTo(9);
    }
}
