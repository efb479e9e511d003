package io.github.reactorratelimit;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.RetryScript.ClientError;
import io.github.reactorratelimit.signal.Dialects;
import io.github.reactorratelimit.signal.Headers;
import java.net.ConnectException;
import java.net.SocketException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

/** A batch that is refused, fails or breaks off as a whole, instead of part by part. */
class BatchWholeTest extends BatchScript {

    @Test
    void a_429_of_the_batch_is_a_refusal_of_each_part_and_all_are_sent_again() {
        thenFails(429, "Retry-After", "4");
        assertThat(texts(run(get("r"), post("w")))).containsExactly("r=200 ×2", "w=200 ×2");
        assertThat(wire).containsExactly(at(ofSeconds(0), "r", "w"), at(ofSeconds(4), "r", "w"));
    }

    @Test
    void a_batch_that_stays_refused_leaves_each_part_with_its_status_hint_and_exception() {
        policy = RetryPolicy.standard().refusals(1);
        ClientError last = new ClientError("busy", Failure.response(429, Headers.of("Retry-After", "3")));
        thenFails(429, "Retry-After", "2").thenFails(last);
        List<BatchOutcome<Answer>> outcomes = run(get("r"), post("w"));
        assertThat(texts(outcomes))
                .containsExactly("none RetriesExhaustedException ×2", "none RetriesExhaustedException ×2");
        assertThat(outcomes).allSatisfy(outcome -> {
            RetriesExhaustedException why = (RetriesExhaustedException) failure(outcome);
            assertThat(why.status()).isEqualTo(429);
            assertThat(why.lastHint()).isEqualTo(ofSeconds(3));
            assertThat(why.attempts()).isEqualTo(2);
            assertThat(why.waited()).isEqualTo(ofSeconds(2));
            assertThat(why.mayHaveBeenSent()).isTrue();
            assertThat(why.getCause()).isSameAs(last);
            assertThat(why.getSuppressed()).singleElement().isInstanceOf(ClientError.class);
        });
    }

    @Test
    void a_503_of_the_batch_is_tried_again_for_reads_and_is_its_own_exception_for_writes() {
        ClientError down = new ClientError("down", Failure.response(503, Headers.of()));
        thenFails(down);
        List<BatchOutcome<Answer>> outcomes = run(get("r"), post("w"));
        assertThat(texts(outcomes)).containsExactly("r=200 ×2", "none ClientError ×1");
        assertThat(failure(outcomes.get(1))).isSameAs(down);
        assertThat(wire).containsExactly(at(ofSeconds(0), "r", "w"), at(ofMillis(250), "r"));
    }

    @Test
    void a_503_with_a_hint_did_nothing_so_writes_are_tried_again_too() {
        thenFails(503, "Retry-After", "6");
        assertThat(texts(run(get("r"), post("w")))).containsExactly("r=200 ×2", "w=200 ×2");
        assertThat(wire.get(1).at()).isEqualTo(ofSeconds(6));
    }

    @Test
    void reads_in_a_batch_that_keeps_failing_are_tried_as_often_as_the_policy_says() {
        policy = RetryPolicy.attempts(3);
        ClientError last = new ClientError("third", Failure.response(504, Headers.of()));
        thenFails(502).thenFails(new SocketException("reset")).thenFails(last);
        List<BatchOutcome<Answer>> outcomes = run(get("r"));
        assertThat(texts(outcomes)).containsExactly("none RetriesExhaustedException ×3");
        assertThat(failure(outcomes.get(0))).hasCause(last);
        assertThat(failure(outcomes.get(0)).getSuppressed()).hasSize(2);
    }

    @Test
    void any_other_status_of_the_batch_is_its_exception_for_every_part_and_nothing_is_sent_again() {
        ClientError bad = new ClientError("bad", Failure.response(400, Headers.of()));
        thenFails(bad);
        List<BatchOutcome<Answer>> outcomes = run(get("r"), post("w"));
        assertThat(outcomes).allSatisfy(outcome -> assertThat(failure(outcome)).isSameAs(bad));
        assertThat(wire).hasSize(1);
    }

    @Test
    void a_refusal_that_no_wait_helps_with_keeps_its_exception() {
        limiter = time.spec().dialect(Dialects.openAi()).build();
        ClientError quota = new ClientError("quota", Failure.response(429, Headers.of("x-should-retry", "false")));
        thenFails(quota);
        List<BatchOutcome<Answer>> outcomes = run(get("r"), get("s"));
        assertThat(outcomes).allSatisfy(outcome -> {
            assertThat(failure(outcome))
                    .isInstanceOf(TerminalThrottleException.class)
                    .hasCause(quota);
            assertThat(RateLimitException.mayHaveBeenSent(failure(outcome))).isTrue();
        });
    }

    @Test
    void what_was_never_sent_is_not_counted_as_sent_and_says_so() {
        policy = RetryPolicy.attempts(2);
        thenFails(new ConnectException("refused")).thenFails(new ConnectException("refused"));
        List<BatchOutcome<Answer>> outcomes = run(post("w"));
        assertThat(texts(outcomes)).containsExactly("none RetriesExhaustedException ×0");
        RetriesExhaustedException why = (RetriesExhaustedException) failure(outcomes.get(0));
        assertThat(why.mayHaveBeenSent()).isFalse();
        assertThat(why.attempts()).isEqualTo(2);
    }

    @Test
    void a_batch_that_timed_out_is_sent_again_as_far_as_it_may_be_repeated() {
        takes = ofMinutes(1);
        policy = RetryPolicy.attempts(2).attemptTimeout(ofSeconds(5));
        List<BatchOutcome<Answer>> outcomes = run(get("r"), post("w"));
        assertThat(texts(outcomes))
                .containsExactly("none RetriesExhaustedException ×2", "none AttemptTimeoutException ×1");
        assertThat(RateLimitException.mayHaveBeenSent(failure(outcomes.get(1)))).isTrue();
    }

    @Test
    void the_limiters_own_refusal_of_a_resend_keeps_what_each_part_had_failed_with() {
        policy = RetryPolicy.standard().deadline(ofSeconds(8));
        then("p2", 429, "Retry-After", "10").then("p3", 503, "Retry-After", "9");
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(Demand.one(), gets(3));
        time.advance(ofSeconds(8));
        List<BatchOutcome<Answer>> outcomes = result.getReceivedOnNext().get(0);
        assertThat(texts(outcomes))
                .containsExactly("p1=200 ×1", "p2=429 RateLimitedException ×1", "p3=503 RateLimitedException ×1");
        assertThat(failure(outcomes.get(1)).getCause())
                .isInstanceOfSatisfying(
                        RefusedResponseException.class,
                        why -> assertThat(why.status()).isEqualTo(429));
        assertThat(failure(outcomes.get(2)).getCause())
                .isInstanceOfSatisfying(
                        RefusedResponseException.class,
                        why -> assertThat(why.status()).isEqualTo(503));
        assertThat(outcomes.subList(1, 3))
                .allSatisfy(outcome -> assertThat(RateLimitException.mayHaveBeenSent(failure(outcome)))
                        .isTrue());
    }

    @Test
    void a_disposed_limiter_leaves_each_part_its_own_reason() {
        then("p1", 429, "Retry-After", "10").then("p2", 503, "Retry-After", "9");
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(Demand.one(), gets(2));
        limiter.dispose();
        List<BatchOutcome<Answer>> outcomes = result.getReceivedOnNext().get(0);
        assertThat(outcomes)
                .allSatisfy(outcome -> assertThat(failure(outcome))
                        .isInstanceOf(LimiterDisposedException.class)
                        .satisfies(why -> assertThat(why.getSuppressed()).hasSize(1)));
    }

    @Test
    void the_policys_last_response_is_handed_on_instead_of_a_failure() {
        policy = RetryPolicy.attempts(2).refusals(1).returnLastResponse();
        then("p1", 502).then("p1", 504).then("p2", 429).then("p2", 429);
        assertThat(texts(run(gets(3)))).containsExactly("p1=504 ×2", "p2=429 ×2", "p3=200 ×1");
    }

    @Test
    void a_refusal_for_longer_than_is_obeyed_is_the_last_response_too() {
        policy = RetryPolicy.standard().returnLastResponse();
        then("p1", 429, "Retry-After", "600");
        assertThat(texts(run(gets(2)))).containsExactly("p1=429 ×1", "p2=200 ×1");
        assertThat(wire).hasSize(1);
    }

    @Test
    void a_policy_that_tries_nothing_again_lets_the_answers_stand() {
        policy = RetryPolicy.none();
        then("p1", 429).then("p2", 503);
        assertThat(texts(run(gets(2)))).containsExactly("p1=429 ×1", "p2=503 ×1");
        assertThat(wire).hasSize(1);
    }

    @Test
    void calls_that_cannot_be_subscribed_again_are_not() {
        then("p1", 429);
        TestSubscriber<List<BatchOutcome<Answer>>> result = TestSubscriber.create();
        BatchRetry.of(calls().replayable(false), new Reader())
                .send(gets(1), Demand.one(), this::answers)
                .subscribe(result);
        time.advance(ofMinutes(1));
        assertThat(texts(result.getReceivedOnNext().get(0))).containsExactly("p1=429 ×1");
    }

    // ------------------------------------------------------------------------------------- a layer inside, or outside

    private List<BatchOutcome<Answer>> nested(RateLimitOperator inner) {
        TestSubscriber<List<BatchOutcome<Answer>>> result = TestSubscriber.create();
        batches()
                .send(
                        List.of(get("r"), post("w")),
                        Demand.one(),
                        parts -> answers(parts)
                                .transform(inner.limit(Demand.of("method", "GET")))
                                .as(Mono::from))
                .subscribe(result);
        time.advance(ofMinutes(30));
        return result.getReceivedOnNext().get(0);
    }

    @Test
    void an_inner_layer_that_tries_again_is_the_only_one_that_does() {
        for (int i = 0; i < 40; i++) {
            thenFails(502);
        }
        RateLimiter inner = time.spec().random(() -> 0.5).build();
        List<BatchOutcome<Answer>> outcomes = nested(inner.calls().failures(FAILURES));
        assertThat(wire).hasSize(4);
        assertThat(outcomes)
                .allSatisfy(outcome -> assertThat(failure(outcome)).isInstanceOf(RetriesExhaustedException.class));
        assertThat(texts(outcomes))
                .containsExactly("none RetriesExhaustedException ×1", "none RetriesExhaustedException ×1");
    }

    @Test
    void parts_are_heard_and_sent_again_though_an_inner_layer_heard_the_batch() {
        then("w", 429, "Retry-After", "5");
        RateLimiter inner = time.spec().random(() -> 0.5).build();
        assertThat(texts(nested(inner.calls().failures(FAILURES)))).containsExactly("r=200 ×1", "w=200 ×2");
        assertThat(wire).containsExactly(at(ofSeconds(0), "r", "w"), at(ofSeconds(5), "w"));
    }

    @Test
    void a_batch_that_an_inner_layer_only_limits_is_tried_again_here_and_heard_there() {
        thenFails(429, "Retry-After", "5");
        RateLimiter inner = time.spec().random(() -> 0.5).build();
        RateLimitOperator limits = inner.calls().retry(RetryPolicy.none()).failures(FAILURES);
        assertThat(texts(nested(limits))).containsExactly("r=200 ×2", "w=200 ×2");
        assertThat(wire).hasSize(2);
        assertThat(wire.get(1).at()).isEqualTo(ofSeconds(5));
    }

    @Test
    void a_refusal_of_an_inner_limiter_is_no_reason_to_cut_the_batch() {
        RateLimiter inner = time.limiter(Limit.of(10, Duration.ofHours(1)));
        TestSubscriber<List<BatchOutcome<Answer>>> result = TestSubscriber.create();
        batches()
                .send(
                        gets(4),
                        Demand.one(),
                        parts -> answers(parts)
                                .transform(inner.calls().limit(Demand.one().cost(20)))
                                .as(Mono::from))
                .subscribe(result);
        time.advance(ofMinutes(1));
        assertThat(texts(result.getReceivedOnNext().get(0))).allMatch(text -> text.contains("RateLimitedException"));
        assertThat(wire).isEmpty();
    }

    @Test
    void a_layer_around_the_batches_only_limits_them() {
        thenFails(429, "Retry-After", "5");
        RateLimiter outer = time.limiter(Limit.of(1, ofMinutes(1)));
        TestSubscriber<List<BatchOutcome<Answer>>> result = TestSubscriber.create();
        batches()
                .send(gets(1), Demand.one(), this::answers)
                .transform(outer.limit())
                .as(Mono::from)
                .subscribe(result);
        time.advance(ofSeconds(5));
        assertThat(texts(result.getReceivedOnNext().get(0))).containsExactly("p1=200 ×2");
    }

    @Test
    void a_batch_that_reached_nobody_is_as_many_requests_as_it_has_parts_and_used_nothing_else() { // B63
        limiter = time.spec()
                .limit(Limit.total(10), Limit.total(1_000).unit("money"))
                .build();
        policy = RetryPolicy.none();
        thenFails(new ConnectException("refused")).thenFails(new SocketException("reset"));
        run(Demand.one().cost("money", 100), List.of(get("a"), get("b")));
        assertThat(left()).containsExactly(8L, 1_000L);
        run(Demand.one().cost("money", 100), List.of(get("c"), get("d")));
        assertThat(left()).as("broken off after it was sent").containsExactly(6L, 800L);
    }

    private List<Long> left() {
        return limiter.snapshot().root().limits().stream()
                .map(limit -> limit.available())
                .toList();
    }
}
