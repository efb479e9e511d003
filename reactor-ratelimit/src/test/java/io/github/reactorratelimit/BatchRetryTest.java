package io.github.reactorratelimit;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.ConnectException;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;
import reactor.test.subscriber.TestSubscriber;

class BatchRetryTest extends BatchScript { // B40

    @Test
    void only_refused_parts_are_sent_again_after_the_longest_hint_and_the_order_stays() {
        then("p2", 429, "Retry-After", "5").then("p3", 429, "Retry-After", "10");
        assertThat(texts(run(gets(3)))).containsExactly("p1=200 ×1", "p2=200 ×2", "p3=200 ×2");
        assertThat(wire).containsExactly(at(ofSeconds(0), "p1", "p2", "p3"), at(ofSeconds(10), "p2", "p3"));
    }

    @Test
    void parts_that_stay_refused_are_given_up_and_the_others_are_there() {
        policy = RetryPolicy.standard().refusals(1);
        then("p2", 429, "Retry-After", "5").then("p2", 429, "Retry-After", "5");
        List<BatchOutcome<Answer>> outcomes = run(gets(3));
        assertThat(texts(outcomes)).containsExactly("p1=200 ×1", "p2=429 RetriesExhaustedException ×2", "p3=200 ×1");
        assertThat(outcomes.get(1).failure()).get().satisfies(why -> {
            RetriesExhaustedException exhausted = (RetriesExhaustedException) why;
            assertThat(exhausted.attempts()).isEqualTo(2);
            assertThat(exhausted.status()).isEqualTo(429);
            assertThat(exhausted.lastHint()).isEqualTo(ofSeconds(5));
            assertThat(exhausted.waited()).isEqualTo(ofSeconds(5));
            assertThat(exhausted.mayHaveBeenSent()).isTrue();
            assertThat(exhausted).hasMessageContaining("refused for a limit 2 times");
        });
    }

    @Test
    void a_batch_costs_as_much_as_its_parts() {
        limiter = time.limiter(Limit.of(50, ofHours(1)));
        start(Demand.one(), gets(20));
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(30);
    }

    @Test
    void costs_of_all_units_are_those_of_the_parts() {
        limiter = time.limiter(
                Limit.of(1_000, ofHours(1)), Limit.of(1_000, ofHours(1)).unit("tokens"));
        start(Demand.one().cost(2).cost("tokens", 7), gets(20));
        assertThat(limiter.snapshot().root().limits())
                .extracting(RateLimiterSnapshot.LimitState::available)
                .containsExactly(960L, 860L);
    }

    @Test
    void a_batch_waits_until_all_its_parts_have_room() {
        limiter = time.limiter(Limit.of(20, ofMinutes(1)));
        limiter.tryAcquire();
        run(gets(20));
        assertThat(wire).hasSize(1);
        assertThat(wire.get(0).at()).isBetween(ofSeconds(60), ofSeconds(61));
    }

    @Test
    void a_limit_that_is_smaller_than_the_batch_makes_several_of_it() {
        limiter = time.limiter(Limit.of(1_000, ofMinutes(1)), Limit.inFlight(5));
        assertThat(run(gets(12))).allMatch(outcome -> outcome.sends() == 1);
        assertThat(wire).extracting(each -> each.ids().size()).containsExactly(5, 5, 2);
    }

    @Test
    void a_limit_in_another_unit_makes_several_of_it_too() {
        limiter = time.spec()
                .limit(Limit.of(10, ofSeconds(1)).unit("points"))
                .costs(demand -> demand.cost("points", 3 * demand.cost(Limit.REQUESTS)))
                .build();
        assertThat(run(gets(7))).allMatch(outcome -> outcome.sends() == 1);
        assertThat(wire).extracting(each -> each.ids().size()).containsExactly(3, 3, 1);
    }

    @Test
    void a_lanes_share_makes_several_of_it_too() {
        limiter = time.spec()
                .limit(Limit.of(10, ofSeconds(1)))
                .lane("background", Share.of(0.5))
                .build();
        start(Demand.one().lane("background"), gets(10));
        time.advance(ofMinutes(1));
        assertThat(wire).extracting(each -> each.ids().size()).containsExactly(5, 5);
    }

    @Test
    void a_budget_that_is_spent_fails_what_no_longer_fits() {
        limiter = time.limiter(Limit.total(7));
        assertThat(run(gets(8)).stream().filter(outcome -> outcome.answer().isPresent()))
                .hasSize(7);
        assertThat(wire).extracting(each -> each.ids().size()).containsExactly(4, 2, 1);
    }

    @ParameterizedTest
    @CsvSource({"3, 20, 5", "5, 3, 7", "4, 3, 8"})
    void no_part_overtakes_another_to_what_is_left_of_a_budget(int budget, int atMost, int count) {
        limiter = time.limiter(Limit.total(budget));
        most = atMost;
        assertThat(run(gets(count)).stream().map(outcome -> outcome.answer().isPresent()))
                .containsExactlyElementsOf(
                        IntStream.range(0, count).mapToObj(i -> i < budget).toList());
    }

    @Test
    void a_part_that_costs_more_than_a_limit_ever_has_fails_unsent() {
        limiter = time.limiter(Limit.of(2, ofSeconds(1)));
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(Demand.one().cost(3), gets(2));
        assertThat(texts(result.getReceivedOnNext().get(0)))
                .containsExactly("none RateLimitedException ×0", "none RateLimitedException ×0");
        assertThat(wire).isEmpty();
    }

    @Test
    void more_parts_than_a_batch_may_have_go_in_several() {
        most = 3;
        assertThat(texts(run(gets(7))))
                .containsExactly(
                        "p1=200 ×1", "p2=200 ×1", "p3=200 ×1", "p4=200 ×1", "p5=200 ×1", "p6=200 ×1", "p7=200 ×1");
        assertThat(wire).extracting(each -> each.ids().size()).containsExactly(3, 3, 1);
    }

    @Test
    void a_read_that_failed_is_sent_again_after_a_backoff_and_a_write_is_not() {
        then("r", 502).then("w", 502).then("x", 504);
        assertThat(texts(run(List.of(get("r"), post("w"), get("x"), get("ok")))))
                .containsExactly("r=200 ×2", "w=502 ×1", "x=200 ×2", "ok=200 ×1");
        assertThat(wire).containsExactly(at(ofSeconds(0), "r", "w", "x", "ok"), at(ofMillis(50), "r", "x"));
    }

    @Test
    void a_write_that_was_refused_for_a_limit_is_sent_again() {
        then("w", 429, "Retry-After", "3").then("v", 503, "Retry-After", "2");
        assertThat(texts(run(List.of(post("w"), post("v"))))).containsExactly("w=200 ×2", "v=200 ×2");
        assertThat(wire).containsExactly(at(ofSeconds(0), "w", "v"), at(ofSeconds(3), "w", "v"));
    }

    @Test
    void a_503_without_a_hint_stops_the_scope_for_one_backoff() {
        then("r", 503).then("w", 503);
        assertThat(texts(run(List.of(get("r"), post("w"))))).containsExactly("r=200 ×2", "w=503 ×1");
        assertThat(wire).containsExactly(at(ofSeconds(0), "r", "w"), at(ofMillis(250), "r"));
    }

    @Test
    void a_part_is_tried_as_often_as_the_policy_says() {
        policy = RetryPolicy.attempts(3);
        then("r", 502).then("r", 500).then("r", 504).then("r", 200);
        assertThat(texts(run(List.of(get("r"))))).containsExactly("r=504 RetriesExhaustedException ×3");
    }

    @Test
    void each_part_that_is_tried_again_costs_the_retry_budget() {
        policy = RetryPolicy.standard().budget(RetryBudget.of(10, 5, 1));
        then("p1", 502).then("p2", 502).then("p3", 502);
        assertThat(texts(run(gets(3))))
                .containsExactly("p1=200 ×2", "p2=200 ×2", "p3=502 RetriesExhaustedException ×1");
    }

    @Test
    void what_is_no_failure_of_the_server_stands() {
        then("p1", 404).then("p2", 501).then("p3", 400);
        assertThat(texts(run(gets(3)))).containsExactly("p1=404 ×1", "p2=501 ×1", "p3=400 ×1");
        assertThat(wire).hasSize(1);
    }

    @Test
    void what_was_not_served_because_of_a_part_is_sent_again_when_that_succeeded() {
        then("parent", 429, "Retry-After", "4").then("child", 424).then("grandchild", 424);
        assertThat(texts(run(
                        List.of(post("parent"), post("child", "parent"), post("grandchild", "child"), post("other")))))
                .containsExactly("parent=200 ×2", "child=200 ×2", "grandchild=200 ×2", "other=200 ×1");
        assertThat(wire)
                .containsExactly(
                        at(ofSeconds(0), "parent", "child", "grandchild", "other"),
                        at(ofSeconds(4), "parent"),
                        at(ofSeconds(4), "child", "grandchild"));
    }

    @Test
    void a_child_whose_parent_failed_for_good_fails_for_the_same_reason() {
        then("parent", 429, "Retry-After", "4")
                .then("parent", 404)
                .then("child", 424)
                .then("grandchild", 424);
        List<BatchOutcome<Answer>> outcomes =
                run(List.of(get("parent"), get("child", "parent"), post("grandchild", "child")));
        assertThat(texts(outcomes))
                .containsExactly(
                        "parent=404 ×2",
                        "child=424 RetriesExhaustedException ×1",
                        "grandchild=424 RetriesExhaustedException ×1");
        assertThat(wire).hasSize(2);
        assertThat(outcomes.subList(1, 3)).allSatisfy(outcome -> {
            RetriesExhaustedException why = (RetriesExhaustedException) failure(outcome);
            assertThat(why.status()).isEqualTo(404);
            assertThat(why.mayHaveBeenSent()).isTrue();
        });
        assertThat(failure(outcomes.get(1)))
                .hasMessageContaining("'parent', which it depends on, failed")
                .hasCauseInstanceOf(RefusedResponseException.class);
        assertThat(failure(outcomes.get(2))).hasCause(failure(outcomes.get(1)));
    }

    @Test
    void a_child_whose_parent_is_given_up_is_not_sent_again() {
        policy = RetryPolicy.attempts(2);
        then("parent", 502).then("parent", 504).then("child", 424);
        List<BatchOutcome<Answer>> outcomes = run(get("parent"), post("child", "parent"));
        assertThat(texts(outcomes))
                .containsExactly("parent=504 RetriesExhaustedException ×2", "child=424 RetriesExhaustedException ×1");
        assertThat(failure(outcomes.get(1))).hasCause(failure(outcomes.get(0)));
        assertThat(wire).extracting(Wire::ids).containsExactly(List.of("parent", "child"), List.of("parent"));
    }

    @Test
    void a_child_that_was_refused_alone_is_sent_again_alone() {
        then("child", 429, "Retry-After", "1");
        assertThat(texts(run(List.of(get("parent"), get("child", "parent")))))
                .containsExactly("parent=200 ×1", "child=200 ×2");
        assertThat(wire).containsExactly(at(ofSeconds(0), "parent", "child"), at(ofSeconds(1), "child"));
    }

    @Test
    void a_child_waits_for_a_parent_in_another_batch() {
        most = 2;
        assertThat(texts(run(List.of(get("a"), get("b"), get("c", "a"), get("d"), get("e", "c")))))
                .allMatch(text -> text.endsWith("=200 ×1"));
        assertThat(wire).extracting(Wire::ids).containsExactly(List.of("a", "b"), List.of("d"), List.of("c", "e"));
    }

    @Test
    void a_child_whose_parent_failed_in_an_earlier_batch_is_never_sent() {
        most = 1;
        then("parent", 404);
        List<BatchOutcome<Answer>> outcomes = run(List.of(get("parent"), get("child", "parent")));
        assertThat(texts(outcomes)).containsExactly("parent=404 ×1", "none RetriesExhaustedException ×0");
        assertThat(outcomes.get(1).failure()).get().satisfies(why -> {
            assertThat(why).hasMessageContaining("'parent', which it depends on, failed");
            assertThat(RateLimitException.mayHaveBeenSent(why)).isFalse();
        });
        assertThat(wire).hasSize(1);
    }

    @Test
    void parts_that_depend_on_each_other_or_on_nobody_are_no_batch() {
        limiter = time.limiter(Limit.of(5, ofHours(1)));
        most = 1;
        assertThat(error(get("ok"), get("x", "c"), get("a", "b"), get("b", "c"), get("c", "a")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith("in a circle: 'c' depends on 'a' depends on 'b' depends on 'c'");
        assertThat(error(get("a"), get("b", "b"))).hasMessageContaining("must not depend on itself, 'b' does");
        assertThat(error(get("a", "z"))).hasMessageContaining("'a' depends on 'z'");
        assertThat(error(get("a"), get("a"))).hasMessageContaining("'a' came twice");
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(5);
        assertThat(wire).isEmpty();
    }

    @Test
    void a_part_without_an_answer_may_have_been_served() {
        then("r", 0).then("w", 0);
        List<BatchOutcome<Answer>> outcomes = run(List.of(get("r"), post("w")));
        assertThat(texts(outcomes)).containsExactly("r=200 ×2", "none IllegalStateException ×1");
        assertThat(outcomes.get(1).failure())
                .get()
                .extracting(Throwable::getMessage)
                .isEqualTo("the batch was answered without part 'w'");
    }

    @Test
    void a_batch_that_was_not_sent_is_tried_again_whole() {
        thenFails(new ConnectException("refused"));
        assertThat(texts(run(List.of(get("r"), post("w"))))).containsExactly("r=200 ×1", "w=200 ×1");
        assertThat(wire).containsExactly(at(ofSeconds(0), "r", "w"), at(ofMillis(50), "r", "w"));
    }

    @Test
    void a_batch_that_broke_off_is_tried_again_as_far_as_it_may_be_repeated() {
        thenFails(new SocketException("reset"));
        assertThat(texts(run(List.of(get("r"), post("w"))))).containsExactly("r=200 ×2", "none SocketException ×1");
        assertThat(wire).containsExactly(at(ofSeconds(0), "r", "w"), at(ofMillis(50), "r"));
    }

    @Test
    void a_batch_that_fails_for_an_unknown_reason_fails_its_parts_with_it() {
        most = 2;
        thenFails(new IllegalArgumentException("no JSON"));
        assertThat(texts(run(gets(4))))
                .containsExactly(
                        "none IllegalArgumentException ×1",
                        "none IllegalArgumentException ×1",
                        "p3=200 ×1",
                        "p4=200 ×1");
    }

    @Test
    void a_hint_that_is_longer_than_is_obeyed_ends_the_refused_parts_with_the_time_left() {
        then("p2", 429, "Retry-After", "600");
        List<BatchOutcome<Answer>> outcomes = run(gets(2));
        assertThat(texts(outcomes)).containsExactly("p1=200 ×1", "p2=429 RateLimitedException ×1");
        assertThat(outcomes.get(1).failure())
                .get()
                .satisfies(why ->
                        assertThat(((RateLimitedException) why).retryAfter()).isEqualTo(ofMinutes(10)));
    }

    @Test
    void a_wait_that_would_pass_the_deadline_ends_the_refused_parts() {
        policy = RetryPolicy.standard().deadline(ofSeconds(8));
        then("p2", 429, "Retry-After", "10");
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(Demand.one(), gets(2));
        time.advance(ofSeconds(8));
        assertThat(texts(result.getReceivedOnNext().get(0)))
                .containsExactly("p1=200 ×1", "p2=429 RateLimitedException ×1");
    }

    @Test
    void what_a_part_was_refused_for_closes_the_scope_for_everybody() {
        then("p1", 429, "Retry-After", "7");
        start(Demand.one(), gets(1));
        Asked other = time.ask(limiter);
        time.advance(ofSeconds(20));
        assertThat(other.at()).isEqualTo(ofSeconds(7));
    }

    @Test
    void a_batch_that_is_sent_again_goes_before_those_who_wait() {
        limiter = time.limiter(Limit.bucket(2, 1, ofSeconds(1)));
        then("p1", 429, "Retry-After", "2");
        start(Demand.one(), gets(2));
        Asked other = time.ask(limiter, Demand.one().cost(2));
        time.advance(ofSeconds(20));
        assertThat(wire).hasSize(2);
        assertThat(other.at()).isGreaterThan(wire.get(1).at());
    }

    @Test
    void a_cancel_leaves_nothing_behind() {
        limiter = time.limiter(Limit.inFlight(5), Limit.of(5, ofMinutes(1)));
        TestSubscriber<List<BatchOutcome<Answer>>> result = start(Demand.one(), gets(12));
        assertThat(wire).hasSize(1);
        result.cancel();
        time.advance(ofMinutes(5));
        assertThat(wire).hasSize(1);
        assertThat(limiter.snapshot().waiting()).isZero();
        assertThat(limiter.snapshot().root().limits().get(0).available()).isEqualTo(5);
    }

    @Test
    void nothing_is_sent_before_it_is_subscribed_and_each_subscription_sends_anew() {
        Mono<List<BatchOutcome<Answer>>> mono =
                BatchRetry.of(limiter.calls(), new Reader()).send(gets(2), Demand.one(), this::answers);
        assertThat(wire).isEmpty();
        mono.subscribe();
        mono.subscribe();
        assertThat(wire).hasSize(2);
    }

    @Test
    void no_parts_are_no_request() {
        assertThat(run(List.of())).isEmpty();
        assertThat(wire).isEmpty();
    }

    @Test
    void a_strategy_of_the_callers_swallows_nothing() {
        thenFails(new SocketException("reset"));
        then("p2", 429, "Retry-After", "1");
        List<@Nullable Object> swallowed = new ArrayList<>();
        TestSubscriber<List<BatchOutcome<Answer>>> result = TestSubscriber.create();
        RateLimitOperator calls =
                limiter.calls().failures(error -> error instanceof SocketException ? Failure.interrupted() : null);
        BatchRetry.of(calls, new Reader())
                .send(gets(2), Demand.one(), this::answers)
                .onErrorContinue((error, element) -> swallowed.add(element))
                .subscribe(result);
        time.advance(ofMinutes(1));
        assertThat(texts(result.getReceivedOnNext().get(0))).containsExactly("p1=200 ×2", "p2=200 ×3");
        assertThat(swallowed).isEmpty();
    }
}
